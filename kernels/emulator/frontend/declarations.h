// Finds what a translation unit declares: its kernels, the variables of the GPU, the bodies of its functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/emulator/frontend/syntax.h"

namespace heddle::emulator::frontend {

/// Where a declaration stands.
struct Scope {
    bool in_class = false;
    bool in_template = false;  // in a template's class
    bool internal = false;     // in an anonymous namespace
    bool global = true;        // in no namespace and no class
    std::uint32_t depth = 0;
    std::uint32_t name = 0;  // its number in Declarations::scopes
};

/// The head of a kernel: `template <class T> __global__ void __launch_bounds__(256) k<int>(T* x)`.
struct Function {
    Scope scope;
    Range head;                           // with everything before the body, or before the semicolon
    std::vector<Range> templates;         // between < and > of each `template`
    std::uint32_t name = kNone;           // its last word
    std::uint32_t qualifiers = 0;         // lists of template arguments before the name, as in S<T>::k
    Range arguments;                      // of an explicit specialisation: between < and > after the name
    std::uint32_t parameters = kNone;     // the ( that opens them
    std::uint32_t body = kNone;           // its {; kNone for a declaration
    std::uint32_t launch_bounds = kNone;  // the word
    std::uint32_t cluster_dims = kNone;
    bool kernel = false;  // __global__
    bool device = false;  // __device__
    bool is_friend = false;
};

/// A declaration of variables of the GPU, which stands outside of functions: [begin, end) without its semicolon.
struct Variables {
    Scope scope;
    Range range;
    bool is_template = false;
    Range parameters;  // of the template: between < and >
    bool is_static = false, is_inline = false, is_extern = false, is_constexpr = false;
    Word space = Word::other;  // device, constant, managed or shared
};

/// The body of a function that is no kernel.
struct Body {
    std::uint32_t parameters = kNone, brace = kNone;
    bool device = false;
    std::uint32_t begin = kNone;  // the first token behind its lists of template parameters and extern "C"
    std::uint32_t name = kNone;   // its last word; kNone for an operator
    bool is_constexpr = false;
};

struct Declarations {
    std::vector<Function> kernels;  // with and without a body
    std::vector<Body> bodies;
    std::vector<std::uint32_t> device_names;  // the last words of functions that are declared __device__ without a body
    std::vector<Variables> variables;
    std::vector<std::string> scopes = {""};  // names like "ns::S::"
    bool has_main = false;
};

Declarations find_declarations(const Tokens& tokens);

}  // namespace heddle::emulator::frontend
