// The few pieces of C++'s grammar that the rewriter must recognise: lists of template arguments, lists with commas, names of
// what is declared. Without knowing which names are types this is guessing; each function says by what.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/emulator/frontend/tokens.h"

namespace heddle::emulator::frontend {

/// Tokens [begin, end).
struct Range {
    std::uint32_t begin = 0, end = 0;
    bool empty() const { return begin >= end; }
};

/// The > that closes the < at `open`; kNone if no list of arguments begins there. A < after a name opens a list in a list, unless
/// that does not work out: then one with spaces on both sides is "less than".
std::uint32_t closing_angle(const Tokens& tokens, std::uint32_t open);
/// The < that is closed by the > at `close`; kNone if there is none.
std::uint32_t opening_angle(const Tokens& tokens, std::uint32_t close);
/// Whether the token is a < that may open arguments: it follows a name or `template`, and no `operator`.
bool may_open_angle(const Tokens& tokens, std::uint32_t i);

/// The parts between the commas of [begin, end), which lie in no bracket.
std::vector<Range> split_at_commas(const Tokens& tokens, Range range);

/// The tokens' text on one line; without the words of CUDA that only qualify a declaration.
std::string one_line(const Tokens& tokens, Range range);

/// A name that a declaration introduces, as in `S<T>::v[3] = {...}`: the whole name, and its last word.
struct Declarator {
    Range qualified;
    std::uint32_t name = kNone;
};
/// The declarators of a declaration of variables, [begin, end) without its semicolon.
std::vector<Declarator> declarators(const Tokens& tokens, Range range);

/// A parameter of a function: its text without a default, and its name's token, kNone if it has none.
struct Parameter {
    Range declared;
    std::uint32_t name = kNone;
    bool pack = false;
};
std::vector<Parameter> parameters(const Tokens& tokens, Range range);

/// A parameter of a template as in `template <class T, int N = 3, class... Ts>`.
struct TemplateParameter {
    std::uint32_t name = kNone;  // none: `end_of_declaration` is where one can be inserted
    std::uint32_t end_of_declaration = kNone;
    bool pack = false;
};
std::vector<TemplateParameter> template_parameters(const Tokens& tokens, Range range);

}  // namespace heddle::emulator::frontend
