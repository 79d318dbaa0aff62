// k<T><<<grid, block, shared, stream>>>(args) becomes (configure(grid, block, shared, stream), k<T>(args)): the comma operator
// configures before the call, and the call is as written, so the compiler does deduction, overloads and default arguments.
#include "kernels/emulator/frontend/rewriter.h"

namespace heddle::emulator::frontend {
namespace {

// The first token of what is called before <<<: a name with its scopes and template arguments, a member, a call's result, an
// element, an expression in parentheses; kNone if nothing is.
std::uint32_t start_of_callee(const Tokens& tokens, std::uint32_t launch) {
    std::uint32_t i = launch;  // the operand starts before token i
    while (i > 0) {
        const std::uint32_t last = i - 1;
        if (tokens.is(last, ')') || tokens.is(last, ']')) {
            i = tokens[last].pair;
            if (i == kNone) return kNone;
            const bool primary = tokens.is(last, ')') && !(tokens.is_word(i - 1) && !tokens.is(i - 1, Word::statement)) &&
                                 !tokens.is(i - 1, '>') && !tokens.is(i - 1, ')') && !tokens.is(i - 1, ']');
            if (primary) return i;
            const std::uint32_t other = tokens.is(i - 1, ')') ? tokens[i - 1].pair : kNone;
            if (other != kNone && tokens.is(other - 1, Word::statement)) return i;  // if (c) (*f)<<<...
            continue;
        }
        if (tokens.is(last, '>')) {
            i = opening_angle(tokens, last);
            if (i == kNone || i == 0 || !tokens.is_word(i - 1)) return kNone;
            continue;
        }
        if (!tokens.is_word(last) || tokens.is(last, Word::statement)) return kNone;
        i = last;
        if (tokens.is(i - 1, Word::template_)) --i;  // object.template k<3>
        if (tokens.is(i - 1, "::")) {
            const bool of_scope = tokens.is(i - 2, '>') || (tokens.is_word(i - 2) && !tokens.is(i - 2, Word::statement));
            if (!of_scope) return i - 1;
            --i;
        } else if (tokens.is(i - 1, '.') || tokens.is(i - 1, "->")) {
            --i;
        } else {
            return i;
        }
    }
    return kNone;
}

bool closes_launch(const Tokens& tokens, std::uint32_t i) {
    return tokens.is(i, '>') && tokens.is(i + 1, '>') && tokens.is(i + 2, '>');
}

// The first > of the >>> that closes the configuration; kNone if it is missing. A >>> in a list of template arguments closes
// that one. Should none be left, because a < there meant "less than", it is the first >>> before a bracket.
std::uint32_t end_of_configuration(const Tokens& tokens, std::uint32_t begin) {
    std::uint32_t fallback = kNone, depth = 0;
    for (std::uint32_t i = begin; i < tokens.size(); ++i) {
        if (tokens.is(i, '(') || tokens.is(i, '[') || tokens.is(i, '{')) {
            i = tokens[i].pair;
            if (i == kNone) break;
        } else if (tokens.is(i, ';') || tokens.is(i, ')') || tokens.is(i, ']') || tokens.is(i, '}')) {
            break;
        } else if (may_open_angle(tokens, i) && !tokens.is(i + 1, '<')) {
            ++depth;
        } else if (tokens.is(i, '>')) {
            if (closes_launch(tokens, i) && tokens.is(i + 3, '(')) {
                if (depth == 0) return i;
                if (fallback == kNone) fallback = i;
            }
            if (depth > 0) --depth;
        }
    }
    return fallback;
}

}  // namespace

void rewrite_launch(TranslationUnit& unit, std::uint32_t token) {
    const Tokens& tokens = unit.tokens;
    const std::uint32_t callee = start_of_callee(tokens, token);
    if (callee == kNone) unit.fail(token, "a launch needs a kernel's name, or an expression in parentheses, before <<<");
    const std::uint32_t end = end_of_configuration(tokens, token + 3);
    if (end == kNone) unit.fail(token, "this <<< has no >>> with arguments in parentheses after it");
    const std::uint32_t arguments = end + 3;
    if (tokens[arguments].pair == kNone) unit.fail(token, "the arguments of this launch have no closing parenthesis");
    // The configuration moves forward as one line, so that later lines keep their numbers.
    unit.changes.before(callee, "(" + std::string(kCuda) + "configure(" + one_line(tokens, {token + 3, end}) + "), ");
    unit.changes.remove({token, arguments});
    unit.changes.after(tokens[arguments].pair, ")");
}

}  // namespace heddle::emulator::frontend
