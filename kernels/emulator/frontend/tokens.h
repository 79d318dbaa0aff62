// The tokens of a preprocessed C++ text. Comments, white space and # lines are not among them, so that neighbours in the
// program are neighbours in the list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::emulator::frontend {

enum class Kind : std::uint8_t { word, number, literal, sign };

/// The words that the rewriter acts on. `other` are names and the remaining keywords.
enum class Word : std::uint8_t {
    other,
    // CUDA's
    global,
    device,
    host,
    shared,
    constant,
    managed,
    launch_bounds,
    cluster_dims,
    force_inline,
    no_inline,
    grid_constant,
    // C++'s
    alignas_,
    asm_,
    attribute,
    class_,  // class, struct, union
    constexpr_,
    cv,         // const, volatile, __restrict__: may follow a * and never names anything
    decltype_,  // decltype, noexcept, explicit, typeof: a (...) after them is no list of parameters
    enum_,
    extern_,
    friend_,
    function_name,  // __func__, __FUNCTION__
    inline_,
    namespace_,
    operator_,
    requires_,
    static_,
    statement,  // return, else and others that may stand before an expression or a statement
    template_,
    type,      // int, float, ...
    typedef_,  // typedef, using
    typename_,
};

inline constexpr std::uint32_t kNone = 0xffffffff;

struct Token {
    Kind kind = Kind::sign;
    Word word = Word::other;
    std::uint32_t at = 0, length = 0;  // in the text
    std::uint32_t pair = kNone;        // the other bracket of (), [] or {}
    std::uint32_t file = 0, line = 0;  // in the source, as the # lines say
};

/// A preprocessed text and its tokens. Signs are single characters, but :: -> ... and the operators that contain = & | + or -:
/// < and > stay single, because only the grammar tells a shift from two closed lists of arguments.
class Tokens {
  public:
    explicit Tokens(std::string_view text);

    std::uint32_t size() const { return static_cast<std::uint32_t>(tokens_.size()); }
    /// Token i; beyond the end an empty sign, so that looking ahead and back needs no test.
    const Token& operator[](std::uint32_t i) const { return i < tokens_.size() ? tokens_[i] : end_; }
    std::string_view text() const { return text_; }
    std::string_view text(std::uint32_t i) const { return text_.substr((*this)[i].at, (*this)[i].length); }
    bool is(std::uint32_t i, char sign) const {
        const Token& token = (*this)[i];
        return token.kind == Kind::sign && token.length == 1 && text_[token.at] == sign;
    }
    bool is(std::uint32_t i, std::string_view sign) const { return (*this)[i].kind == Kind::sign && text(i) == sign; }
    bool is(std::uint32_t i, Word word) const { return (*this)[i].word == word; }
    bool is_word(std::uint32_t i) const { return (*this)[i].kind == Kind::word; }
    /// No white space stands between token i and the next one.
    bool touches_next(std::uint32_t i) const { return (*this)[i].at + (*this)[i].length == (*this)[i + 1].at; }
    const std::string& file(std::uint32_t i) const { return files_[(*this)[i].file]; }
    /// The lines #pragma unroll and others that only nvcc knows, as pieces of the text.
    struct Piece {
        std::uint32_t at, length;
    };
    const std::vector<Piece>& foreign_pragmas() const { return foreign_pragmas_; }

  private:
    void read();
    std::size_t read_directive(std::size_t at);
    std::size_t read_literal(std::size_t quote);
    std::size_t read_raw_string(std::size_t quote);
    void add(Kind kind, std::size_t at, std::size_t end);
    void pair_brackets();

    std::string_view text_;
    std::vector<Token> tokens_;
    std::vector<std::string> files_ = {"(preprocessed text)"};
    std::vector<Piece> foreign_pragmas_;
    std::uint32_t file_ = 0, line_ = 1;
    Token end_;
};

}  // namespace heddle::emulator::frontend
