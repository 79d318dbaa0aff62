// The parts of rewrite(): each reads the tokens and notes its changes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/emulator/frontend/declarations.h"
#include "kernels/emulator/frontend/rewrite.h"
#include "kernels/emulator/frontend/tokens.h"

namespace heddle::emulator::frontend {

/// Changes of a text, which are noted in any order and made at once by apply(). Each token is removed or replaced at most once.
class Changes {
  public:
    explicit Changes(const Tokens& tokens) : tokens_(tokens), changed_(tokens.size()) {}

    void before(std::uint32_t token, std::string text) {
        edits_.push_back({tokens_[token].at, 0, Order::before, std::move(text)});
    }
    void after(std::uint32_t token, std::string text) {
        edits_.push_back({tokens_[token].at + tokens_[token].length, 0, Order::after, std::move(text)});
    }
    void replace(std::uint32_t token, std::string text);
    /// All of the text from the range's first token to its last, which has the same line breaks.
    void replace(Range range, std::string text);
    /// The line breaks and # lines between removed tokens stay.
    void remove(std::uint32_t token) { replace(token, ""); }
    void remove(Range range);
    bool changed(std::uint32_t token) const { return token < changed_.size() && changed_[token]; }
    std::string apply();

  private:
    // At one place of the text: what follows the token before it, then what precedes the next token, then that token.
    enum class Order : std::uint8_t { after, before, replaced };
    struct Edit {
        std::uint32_t at, removed;
        Order order;
        std::string text;
    };
    const Tokens& tokens_;
    std::vector<Edit> edits_;
    std::vector<bool> changed_;
};

/// A variable of shared memory that stands outside of functions: what a function that uses it begins with.
struct SharedOutside {
    std::string name, declaration;
    std::uint32_t declared = 0;  // the name's token
};

/// One translation unit while it is rewritten.
struct TranslationUnit {
    explicit TranslationUnit(const Tokens& tokens, const RewriteOptions& options)
        : tokens(tokens), changes(tokens), options(options) {}

    const Tokens& tokens;
    Changes changes;
    const RewriteOptions& options;
    int names = 0;
    std::vector<SharedOutside> shared_outside;

    /// A name that the source does not contain: heddle_shared_1.
    std::string new_name(std::string_view what) { return "heddle_" + std::string(what) + "_" + std::to_string(++names); }
    [[noreturn]] void fail(std::uint32_t token, const std::string& message) const;
};

/// Turns the body of a kernel into a closure that is launched. Declarations are left alone. `scope`
/// is where the kernel is declared: "ns::".
void rewrite_kernel(TranslationUnit& unit, const Function& kernel, const std::string& scope);
/// The description of a kernel that rewrite() returns.
Kernel describe_kernel(const Tokens& tokens, const Declarations& declarations, const Function& kernel);
/// `token` is the first < of <<<.
void rewrite_launch(TranslationUnit& unit, std::uint32_t token);
/// `token` is a __shared__ in a function.
void rewrite_shared(TranslationUnit& unit, std::uint32_t token);
/// Shared memory that is declared outside of functions.
void rewrite_shared_outside(TranslationUnit& unit, const Variables& variables);
/// Declares in the body at `brace` what it uses of the shared memory that is declared outside.
void declare_shared_outside(TranslationUnit& unit, std::uint32_t parameters, std::uint32_t brace);
/// T, Ts...: the parameters of a template as arguments; those without a name get one.
std::string template_arguments(TranslationUnit& unit, Range range);
/// Static variables in the body of a kernel or a __device__ function, which belong to the GPU.
void rewrite_static_locals(TranslationUnit& unit, std::uint32_t brace);
/// __device__, __constant__ and __managed__ variables.
void rewrite_variables(TranslationUnit& unit, const Variables& variables);
/// Marks the functions that run on the host alone, so that the compiler does not watch their accesses.
void leave_host_code_unwatched(TranslationUnit& unit, const Declarations& declarations);

inline constexpr const char* kCuda = "::heddle::emulator::cuda::";

}  // namespace heddle::emulator::frontend
