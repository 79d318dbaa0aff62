#include "kernels/emulator/frontend/tokens.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>

namespace heddle::emulator::frontend {
namespace {

// How lines of #pragma begin that only nvcc understands; other compilers warn about them.
constexpr std::array<std::string_view, 5> kForeignPragmas = {"unroll", "nounroll", "nv_", "diag_", "hd_warning_disable"};

const std::unordered_map<std::string_view, Word>& words() {
    static const std::unordered_map<std::string_view, Word> table = {
        {"__global__", Word::global},
        {"__device__", Word::device},
        {"__host__", Word::host},
        {"__shared__", Word::shared},
        {"__constant__", Word::constant},
        {"__managed__", Word::managed},
        {"__launch_bounds__", Word::launch_bounds},
        {"__cluster_dims__", Word::cluster_dims},
        {"__maxnreg__", Word::cluster_dims},
        {"__block_size__", Word::cluster_dims},
        {"__forceinline__", Word::force_inline},
        {"__noinline__", Word::no_inline},
        {"__grid_constant__", Word::grid_constant},
        {"alignas", Word::alignas_},
        {"asm", Word::asm_},
        {"__asm__", Word::asm_},
        {"__asm", Word::asm_},
        {"__attribute__", Word::attribute},
        {"__attribute", Word::attribute},
        {"__declspec", Word::attribute},
        {"class", Word::class_},
        {"struct", Word::class_},
        {"union", Word::class_},
        {"constexpr", Word::constexpr_},
        {"consteval", Word::constexpr_},
        {"const", Word::cv},
        {"volatile", Word::cv},
        {"__restrict__", Word::cv},
        {"__restrict", Word::cv},
        {"decltype", Word::decltype_},
        {"noexcept", Word::decltype_},
        {"explicit", Word::decltype_},
        {"typeof", Word::decltype_},
        {"__typeof__", Word::decltype_},
        {"throw", Word::decltype_},
        {"enum", Word::enum_},
        {"extern", Word::extern_},
        {"friend", Word::friend_},
        {"__func__", Word::function_name},
        {"__FUNCTION__", Word::function_name},
        {"inline", Word::inline_},
        {"__inline__", Word::inline_},
        {"__inline", Word::inline_},
        {"namespace", Word::namespace_},
        {"operator", Word::operator_},
        {"requires", Word::requires_},
        {"static", Word::static_},
        {"return", Word::statement},
        {"else", Word::statement},
        {"do", Word::statement},
        {"if", Word::statement},
        {"while", Word::statement},
        {"for", Word::statement},
        {"switch", Word::statement},
        {"case", Word::statement},
        {"co_return", Word::statement},
        {"template", Word::template_},
        {"auto", Word::type},
        {"void", Word::type},
        {"bool", Word::type},
        {"char", Word::type},
        {"short", Word::type},
        {"int", Word::type},
        {"long", Word::type},
        {"float", Word::type},
        {"double", Word::type},
        {"signed", Word::type},
        {"unsigned", Word::type},
        {"typedef", Word::typedef_},
        {"using", Word::typedef_},
        {"typename", Word::typename_},
    };
    return table;
}

bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || (c & 0x80) != 0; }
bool in_word(char c) { return starts_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// The length of the sign at the start of `text`.
std::size_t length_of_sign(std::string_view text) {
    for (const std::string_view sign : {"->*", "...", "<=>"})
        if (text.starts_with(sign)) return 3;
    if (text.size() < 2) return 1;
    const char a = text[0], b = text[1];
    if (b == '=') return std::string_view("=!<>+-*/%&|^").find(a) != std::string_view::npos ? 2 : 1;
    if (a == b) return std::string_view(":&|+-").find(a) != std::string_view::npos ? 2 : 1;
    return a == '-' && b == '>' ? 2 : 1;
}

}  // namespace

Tokens::Tokens(std::string_view text) : text_(text) {
    tokens_.reserve(text.size() / 4);
    read();
    end_.at = static_cast<std::uint32_t>(text.size());
    pair_brackets();
}

void Tokens::add(Kind kind, std::size_t at, std::size_t end) {
    Token token;
    token.kind = kind;
    token.at = static_cast<std::uint32_t>(at);
    token.length = static_cast<std::uint32_t>(end - at);
    token.file = file_;
    token.line = line_;
    if (kind == Kind::word)
        if (const auto found = words().find(text_.substr(at, end - at)); found != words().end()) token.word = found->second;
    tokens_.push_back(token);
}

void Tokens::read() {
    bool line_start = true;
    const std::size_t size = text_.size();
    for (std::size_t at = 0; at < size;) {
        const char c = text_[at];
        if (c == '\n') {
            ++line_, ++at;
            line_start = true;
            continue;
        }
        if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || c == '\\' || c == '\0') {
            ++at;
            continue;
        }
        if (c == '#' && line_start) {
            at = read_directive(at);
            continue;
        }
        line_start = false;
        if (c == '/' && text_.substr(at).starts_with("//")) {
            at = std::min(text_.find('\n', at), size);
        } else if (c == '/' && text_.substr(at).starts_with("/*")) {
            const std::size_t end = text_.find("*/", at + 2);
            const std::size_t next = end == std::string_view::npos ? size : end + 2;
            line_ += static_cast<std::uint32_t>(std::count(text_.begin() + at, text_.begin() + next, '\n'));
            at = next;
        } else if (starts_word(c)) {
            std::size_t end = at + 1;
            while (end < size && in_word(text_[end])) ++end;
            const std::string_view word = text_.substr(at, end - at);
            const bool raw = end < size && text_[end] == '"' && word.back() == 'R' && word.size() <= 3 &&
                             (word == "R" || word == "u8R" || word == "uR" || word == "UR" || word == "LR");
            if (raw) {
                at = read_raw_string(end);
            } else {
                add(Kind::word, at, end);
                at = end;
            }
        } else if (is_digit(c) || (c == '.' && at + 1 < size && is_digit(text_[at + 1]))) {
            std::size_t end = at + 1;
            for (; end < size; ++end) {
                const char d = text_[end], before = text_[end - 1];
                const bool exponent = before == 'e' || before == 'E' || before == 'p' || before == 'P';
                if (in_word(d) || d == '.' || ((d == '+' || d == '-') && exponent)) continue;
                if (d == '\'' && end + 1 < size && in_word(text_[end + 1])) continue;
                break;
            }
            add(Kind::number, at, end);
            at = end;
        } else if (c == '"' || c == '\'') {
            at = read_literal(at);
        } else {
            const std::size_t length = length_of_sign(text_.substr(at, 3));
            add(Kind::sign, at, at + length);
            at += length;
        }
    }
}

// # 12 "file" 1 3, #line 12 "file" and #pragma.
std::size_t Tokens::read_directive(std::size_t at) {
    const std::size_t end = std::min(text_.find('\n', at), text_.size());
    std::string_view rest = text_.substr(at + 1, end - at - 1);
    const auto skip_spaces = [&rest] { rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size())); };
    skip_spaces();
    if (rest.starts_with("pragma")) {
        rest.remove_prefix(6);
        skip_spaces();
        for (const std::string_view start : kForeignPragmas)
            if (rest.starts_with(start)) {
                foreign_pragmas_.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end - at)});
                break;
            }
        return end;
    }
    if (rest.starts_with("line")) rest.remove_prefix(4);
    skip_spaces();
    std::uint32_t line = 0;
    bool numbered = false;
    for (; !rest.empty() && is_digit(rest[0]); rest.remove_prefix(1), numbered = true)
        line = line * 10 + static_cast<std::uint32_t>(rest[0] - '0');
    if (!numbered) return end;
    line_ = line - 1;  // the line break after the directive counts
    skip_spaces();
    if (rest.starts_with('"') && rest.size() > 1) {
        const std::string name(rest.substr(1, rest.find('"', 1) - 1));
        const auto found = std::find(files_.rbegin(), files_.rend(), name);
        file_ = static_cast<std::uint32_t>(found == files_.rend() ? files_.size() : files_.rend() - found - 1);
        if (found == files_.rend()) files_.push_back(name);
    }
    return end;
}

// A literal ends at its quote, or, if that is missing, with its line.
std::size_t Tokens::read_literal(std::size_t quote) {
    std::size_t end = quote + 1;
    while (end < text_.size() && text_[end] != text_[quote] && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
    end = std::min(end, text_.size());
    if (end < text_.size() && text_[end] != '\n') ++end;
    add(Kind::literal, quote, end);
    return end;
}

std::size_t Tokens::read_raw_string(std::size_t quote) {
    std::size_t start = quote;
    while (start > 0 && in_word(text_[start - 1])) --start;
    const std::size_t open = text_.find('(', quote);
    std::size_t end = text_.size();
    if (open != std::string_view::npos && open - quote <= 17) {
        const std::string closing = ")" + std::string(text_.substr(quote + 1, open - quote - 1)) + "\"";
        if (const std::size_t found = text_.find(closing, open); found != std::string_view::npos) end = found + closing.size();
    } else {
        return read_literal(quote);
    }
    add(Kind::literal, start, end);
    line_ += static_cast<std::uint32_t>(std::count(text_.begin() + start, text_.begin() + end, '\n'));
    return end;
}

// In a text that is no C++ a bracket may lack its partner: then it keeps none.
void Tokens::pair_brackets() {
    constexpr std::string_view opening = "([{", closing = ")]}";
    std::vector<std::uint32_t> open;
    std::array<std::uint32_t, 3> count = {};
    const auto kind = [this](std::uint32_t i, std::string_view signs) { return signs.find(text_[tokens_[i].at]); };
    for (std::uint32_t i = 0; i < tokens_.size(); ++i) {
        if (tokens_[i].kind != Kind::sign || tokens_[i].length != 1) continue;
        if (const std::size_t k = kind(i, opening); k != std::string_view::npos) {
            open.push_back(i);
            ++count[k];
        } else if (const std::size_t c = kind(i, closing); c != std::string_view::npos && count[c] > 0) {
            while (kind(open.back(), opening) != c) {
                --count[kind(open.back(), opening)];
                open.pop_back();
            }
            --count[c];
            tokens_[i].pair = open.back();
            tokens_[open.back()].pair = i;
            open.pop_back();
        }
    }
}

}  // namespace heddle::emulator::frontend
