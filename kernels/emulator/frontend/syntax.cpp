#include "kernels/emulator/frontend/syntax.h"

namespace heddle::emulator::frontend {
namespace {

constexpr std::uint32_t kFarthest = 2048;  // tokens; longer lists of template arguments nobody writes

bool opens_bracket(const Tokens& tokens, std::uint32_t i) { return tokens.is(i, '(') || tokens.is(i, '[') || tokens.is(i, '{'); }
bool closes_bracket(const Tokens& tokens, std::uint32_t i) { return tokens.is(i, ')') || tokens.is(i, ']') || tokens.is(i, '}'); }
bool spaced(const Tokens& tokens, std::uint32_t i) { return i > 0 && !tokens.touches_next(i - 1) && !tokens.touches_next(i); }

std::uint32_t closing_angle(const Tokens& tokens, std::uint32_t open, bool spaced_ones_compare) {
    std::uint32_t depth = 1;
    const std::uint32_t farthest = std::min(tokens.size(), open + kFarthest);
    for (std::uint32_t i = open + 1; i < farthest; ++i) {
        if (opens_bracket(tokens, i)) {
            i = tokens[i].pair;
            if (i == kNone) return kNone;
        } else if (closes_bracket(tokens, i) || tokens.is(i, ';')) {
            return kNone;
        } else if (tokens.is(i, '<')) {
            if (may_open_angle(tokens, i) && !tokens.is(i + 1, '<') && !(spaced_ones_compare && spaced(tokens, i))) ++depth;
        } else if (tokens.is(i, '>') && --depth == 0) {
            return i;
        }
    }
    return kNone;
}

// Whether a word can name a variable or parameter.
bool names_something(const Tokens& tokens, std::uint32_t i) {
    return tokens.is_word(i) && tokens.is(i, Word::other) && tokens.text(i) != "final" && tokens.text(i) != "thread_local" &&
           tokens.text(i) != "mutable" && tokens.text(i) != "register";
}

// Past a list of template arguments or a bracket that starts at i; else i.
std::uint32_t past_group(const Tokens& tokens, std::uint32_t i) {
    std::uint32_t close = kNone;
    if (opens_bracket(tokens, i)) close = tokens[i].pair;
    if (may_open_angle(tokens, i)) close = closing_angle(tokens, i);
    return close == kNone ? i : close;
}

// Whether `name`, the last word of a parameter that begins at `begin`, is its type and not its name.
bool is_the_type(const Tokens& tokens, std::uint32_t begin, std::uint32_t name) {
    if (tokens.is(name - 1, "::")) return true;
    bool alone = true;
    for (std::uint32_t i = begin; i < name; ++i)
        if (!tokens.is(i, Word::cv) && !tokens.is(i, Word::grid_constant) && !tokens.is(i, Word::class_) &&
            !tokens.is(i, Word::enum_) && !tokens.is(i, Word::typename_))
            alone = false;
    return alone;
}

}  // namespace

bool may_open_angle(const Tokens& tokens, std::uint32_t i) {
    if (!tokens.is(i, '<') || i == 0) return false;
    const Token& before = tokens[i - 1];
    return before.kind == Kind::word && before.word != Word::operator_ && before.word != Word::statement;
}

std::uint32_t closing_angle(const Tokens& tokens, std::uint32_t open) {
    const std::uint32_t close = closing_angle(tokens, open, false);
    return close != kNone ? close : closing_angle(tokens, open, true);
}

std::uint32_t opening_angle(const Tokens& tokens, std::uint32_t close) {
    std::uint32_t depth = 1;
    for (std::uint32_t i = close; i-- > 0 && close - i < kFarthest;) {
        if (closes_bracket(tokens, i)) {
            i = tokens[i].pair;
            if (i == kNone) return kNone;
        } else if (opens_bracket(tokens, i) || tokens.is(i, ';')) {
            return kNone;
        } else if (tokens.is(i, '>')) {
            ++depth;
        } else if (tokens.is(i, '<')) {
            if (i > 0 && tokens.is(i - 1, '<')) {  // a shift
                --i;
            } else if (--depth == 0) {
                return i;
            }
        }
    }
    return kNone;
}

std::vector<Range> split_at_commas(const Tokens& tokens, Range range) {
    std::vector<Range> parts;
    if (range.empty()) return parts;
    std::uint32_t begin = range.begin;
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
        if (tokens.is(i, ',')) {
            parts.push_back({begin, i});
            begin = i + 1;
        } else if (const std::uint32_t close = past_group(tokens, i); close < range.end) {
            i = close;
        }
    }
    parts.push_back({begin, range.end});
    return parts;
}

std::string one_line(const Tokens& tokens, Range range) {
    std::string line;
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
        const Word word = tokens[i].word;
        if (word == Word::device || word == Word::host || word == Word::grid_constant) continue;
        line += tokens.text(i);
        if (!tokens.touches_next(i) && i + 1 < range.end) line += ' ';
    }
    return line;
}

std::vector<Declarator> declarators(const Tokens& tokens, Range range) {
    std::vector<Declarator> found;
    for (const Range& part : split_at_commas(tokens, range)) {
        Declarator declarator;
        std::uint32_t end = part.end;
        for (std::uint32_t i = part.begin; i < end; ++i) {
            if (tokens.is(i, Word::attribute) || tokens.is(i, Word::alignas_) || tokens.is(i, Word::decltype_) ||
                tokens.is(i, Word::launch_bounds)) {
                i = tokens.is(i + 1, '(') && tokens[i + 1].pair != kNone ? tokens[i + 1].pair : i;
            } else if (may_open_angle(tokens, i) && closing_angle(tokens, i) < end) {
                i = closing_angle(tokens, i);
            } else if (tokens.is(i, '[') && tokens.is(i + 1, '[') && tokens[i].pair != kNone) {  // an attribute
                i = tokens[i].pair;
            } else if (tokens.is(i, '(') && declarator.name == kNone) {
                continue;  // the declarator is in there: float (*v)[3]
            } else if (tokens.is(i, '(') && (tokens.is(i + 1, '*') || tokens.is(i + 1, '&'))) {
                declarator.name = kNone;  // float (*v)(int): the word before was the type
            } else if (tokens.is(i, '{') && tokens[i].pair != kNone && declarator.name != kNone &&
                       tokens.is(i - 1, ')') == false && tokens.is_word(i - 1) && !tokens.is(tokens[i].pair + 1, ';') &&
                       !tokens.is(tokens[i].pair + 1, ',') && !tokens.is(tokens[i].pair + 1, '=')) {
                i = tokens[i].pair;  // the body of a class: its variables follow
            } else if (tokens.is(i, '{') && declarator.name == kNone && tokens[i].pair != kNone) {
                i = tokens[i].pair;  // of a class without a name
            } else if (tokens.is(i, '=') || tokens.is(i, '[') || tokens.is(i, '{') || tokens.is(i, '(') || tokens.is(i, ')') ||
                       tokens.is(i, ':')) {
                break;
            } else if (names_something(tokens, i)) {
                declarator.name = i;
            }
        }
        if (declarator.name == kNone) continue;
        declarator.qualified = {declarator.name, declarator.name + 1};
        std::uint32_t& begin = declarator.qualified.begin;
        while (begin > part.begin && tokens.is(begin - 1, "::")) {
            std::uint32_t before = begin - 2;
            if (tokens.is(before, '>') && opening_angle(tokens, before) != kNone) before = opening_angle(tokens, before) - 1;
            if (!tokens.is_word(before)) break;
            begin = before;
        }
        found.push_back(declarator);
    }
    return found;
}

std::vector<Parameter> parameters(const Tokens& tokens, Range range) {
    std::vector<Parameter> found;
    for (const Range& part : split_at_commas(tokens, range)) {
        Parameter parameter{part, kNone, false};
        for (std::uint32_t i = part.begin; i < part.end; ++i) {
            if (tokens.is(i, '=')) {
                parameter.declared.end = i;
                break;
            }
            if (may_open_angle(tokens, i) && closing_angle(tokens, i) < part.end) {
                i = closing_angle(tokens, i);
                parameter.name = kNone;
            } else if (tokens.is(i, '(') && tokens[i].pair != kNone && !tokens.is(i + 1, '*') && !tokens.is(i + 1, '&')) {
                i = tokens[i].pair;
            } else if (tokens.is(i, '[') && tokens[i].pair != kNone) {
                i = tokens[i].pair;
            } else if (tokens.is(i, "...")) {
                parameter.pack = true;
                parameter.name = kNone;
            } else if (names_something(tokens, i)) {
                parameter.name = is_the_type(tokens, part.begin, i) ? kNone : i;
            }
        }
        if (parameter.declared.end == part.begin + 1 && tokens.text(part.begin) == "void") continue;
        if (!part.empty()) found.push_back(parameter);
    }
    return found;
}

std::vector<TemplateParameter> template_parameters(const Tokens& tokens, Range range) {
    std::vector<TemplateParameter> found;
    for (const Range& part : split_at_commas(tokens, range)) {
        if (part.empty()) continue;
        TemplateParameter parameter;
        parameter.end_of_declaration = part.end;
        std::uint32_t begin = part.begin;
        if (tokens.is(begin, Word::template_) && may_open_angle(tokens, begin + 1)) {  // template <class> class C
            const std::uint32_t close = closing_angle(tokens, begin + 1);
            if (close < part.end) begin = close + 1;
        }
        for (std::uint32_t i = begin; i < part.end; ++i) {
            if (tokens.is(i, '=')) {
                parameter.end_of_declaration = i;
                break;
            }
            if (tokens.is(i, "...")) {
                parameter.pack = true;
                parameter.name = kNone;
            } else if (const std::uint32_t close = past_group(tokens, i); close != i && close < part.end) {
                i = close;
                parameter.name = kNone;
            } else if (names_something(tokens, i)) {
                // After `class` or `typename` the first word is the name; in `typename S::type` it is not.
                const bool after_key = i == begin + 1 && (tokens.is(begin, Word::class_) || tokens.is(begin, Word::typename_));
                const bool is_name = after_key ? !tokens.is(i + 1, "::") : !is_the_type(tokens, begin, i);
                parameter.name = is_name ? i : kNone;
            } else if (tokens.is(i, Word::type)) {
                parameter.name = kNone;
            }
        }
        found.push_back(parameter);
    }
    return found;
}

}  // namespace heddle::emulator::frontend
