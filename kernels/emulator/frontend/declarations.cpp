#include "kernels/emulator/frontend/declarations.h"

#include <algorithm>

namespace heddle::emulator::frontend {
namespace {

constexpr std::uint32_t kDeepest = 200;  // scopes in each other; what lies deeper is not C++ that a person wrote

// Walks over the declarations of namespaces and classes, one after the other; bodies of functions are skipped.
class Walk {
  public:
    explicit Walk(const Tokens& tokens) : tokens_(tokens) {}

    void scope(Range range, const Scope& scope) {
        for (std::uint32_t i = range.begin; i < range.end;) i = std::max(declaration(i, range.end, scope), i + 1);
    }

    Declarations take() { return std::move(found_); }

  private:
    // A declaration as far as it was read when its `{`, `=` or `;` is reached.
    struct Head {
        Function function;
        Variables variables;
        bool is_namespace = false, is_class = false, is_enum = false, is_typedef = false, assigned = false;
        int comparisons = 0;            // < that opened nothing; behind many of them no list of arguments is looked for
        bool declares_pointer = false;  // float (*f)(int)
        bool initialises_members = false;
        std::uint32_t class_name = kNone;
    };

    std::uint32_t declaration(std::uint32_t begin, std::uint32_t end, const Scope& scope) {
        Head head;
        head.function.scope = head.variables.scope = scope;
        std::uint32_t i = begin;
        for (; i < end; ++i) {
            if (tokens_.is(i, ';')) break;
            if (tokens_.is(i, '{')) {
                const std::uint32_t close = tokens_[i].pair;
                if (close == kNone || close >= end) return end;
                if (head.assigned || head.is_enum || is_requirement(i)) {
                    i = close;
                } else if (head.is_namespace || is_linkage(begin, i)) {
                    inner_namespace(head, begin, i, scope);
                    return close + 1;
                } else if (head.function.parameters != kNone) {
                    if (head.initialises_members && is_member_initialiser(i)) {
                        i = close;
                        continue;
                    }
                    head.function.body = i;
                    finish_function(head, {begin, i});
                    return close + 1;
                } else if (head.is_class) {
                    inner_class(head, i, scope);
                    i = close;
                } else {
                    i = close;  // T v{1};
                }
                continue;
            }
            if (tokens_.is(i, ':') && i == begin + 1 && scope.in_class) return i + 1;  // public:
            i = head_token(head, i, end);
        }
        finish_declaration(head, {begin, std::min(i, end)});
        return i + 1;
    }

    // Reads one token of a head, or a group of them; returns the last one read.
    std::uint32_t head_token(Head& head, std::uint32_t i, std::uint32_t end) {
        const std::uint32_t pair = tokens_[i].pair;
        switch (tokens_[i].word) {
            case Word::global: head.function.kernel = true; return i;
            case Word::device:
                head.function.device = true;
                if (head.variables.space == Word::other) head.variables.space = Word::device;
                return i;
            case Word::constant:
            case Word::managed:
            case Word::shared: head.variables.space = tokens_[i].word; return i;
            case Word::launch_bounds: head.function.launch_bounds = i; return past_parentheses(i);
            case Word::cluster_dims:
                if (tokens_.text(i) == "__cluster_dims__") head.function.cluster_dims = i;
                return past_parentheses(i);
            case Word::attribute:
            case Word::alignas_:
            case Word::asm_:
            case Word::decltype_: return past_parentheses(i);
            case Word::class_:
                if (!head.assigned && !head.is_class) {
                    head.is_class = true;
                    head.class_name = i + 1;
                    while (tokens_.is(head.class_name, Word::attribute) || tokens_.is(head.class_name, Word::alignas_))
                        head.class_name = past_parentheses(head.class_name) + 1;
                }
                return i;
            case Word::enum_: head.is_enum = true; return i;
            case Word::namespace_: head.is_namespace = true; return i;
            case Word::typedef_: head.is_typedef = true; return i;
            case Word::friend_: head.function.is_friend = true; return i;
            case Word::static_: head.variables.is_static = true; return i;
            case Word::inline_: head.variables.is_inline = true; return i;
            case Word::extern_: head.variables.is_extern = true; return i;
            case Word::constexpr_: head.variables.is_constexpr = true; return i;
            case Word::requires_: return head.function.parameters == kNone ? past_constraint(i, end) : i;
            case Word::operator_: return operator_name(i);
            case Word::template_:
                if (tokens_.is(i + 1, '<') && head.comparisons < 16) {
                    const std::uint32_t close = closing_angle(tokens_, i + 1);
                    if (close >= end) {
                        ++head.comparisons;
                        return i;
                    }
                    head.function.templates.push_back({i + 2, close});
                    return close;
                }
                return i;
            default: break;
        }
        if (tokens_.is(i, '=')) {
            head.assigned = true;
        } else if (tokens_.is(i, ':') && head.function.parameters != kNone) {
            head.initialises_members = true;
        } else if (tokens_.is(i, '<') && may_open_angle(tokens_, i) && head.comparisons < 16) {
            const std::uint32_t close = closing_angle(tokens_, i);
            if (close < end) return close;
            ++head.comparisons;
        } else if (tokens_.is(i, '[')) {
            return pair < end ? pair : i;
        } else if (tokens_.is(i, '(') && pair < end) {
            if (tokens_.is(i + 1, '*') || tokens_.is(i + 1, '&')) head.declares_pointer = true;
            if (opens_parameters(head, i)) head.function.parameters = i;
            return pair;
        }
        return i;
    }

    std::uint32_t past_parentheses(std::uint32_t word) const {
        return tokens_.is(word + 1, '(') && tokens_[word + 1].pair != kNone ? tokens_[word + 1].pair : word;
    }

    // operator(), operator<, operator new[], ...; conversions end before their parameters, too.
    std::uint32_t operator_name(std::uint32_t i) const {
        if (tokens_.is(i + 1, '(') && tokens_.is(i + 2, ')')) return i + 2;
        while (!tokens_.is(i + 1, '(') && !tokens_.is(i + 1, ';') && !tokens_.is(i + 1, '{') && !tokens_.is(i + 1, '}') &&
               i + 1 < tokens_.size())
            ++i;
        return i;
    }

    // The end of `requires C<T> && (N > 3)`, which stands before what it constrains.
    std::uint32_t past_constraint(std::uint32_t i, std::uint32_t end) const {
        while (i < end) {
            ++i;
            if (tokens_.is(i, Word::requires_)) {  // requires (T x) {...}
                i = past_parentheses(i);
                if (tokens_.is(i + 1, '{') && tokens_[i + 1].pair != kNone) i = tokens_[i + 1].pair;
            } else if (tokens_.is(i, '(') && tokens_[i].pair != kNone) {
                i = tokens_[i].pair;
            } else {
                while (tokens_.is(i, "::") || (tokens_.is_word(i) && tokens_.is(i + 1, "::"))) ++i;
                if (may_open_angle(tokens_, i + 1) && closing_angle(tokens_, i + 1) != kNone) i = closing_angle(tokens_, i + 1);
                while (tokens_.is(i + 1, "::")) i += 2;
            }
            if (!tokens_.is(i + 1, "&&") && !tokens_.is(i + 1, "||")) return std::min(i, end - 1);
            ++i;
        }
        return end - 1;
    }

    // f(int x) opens parameters; float (*f)(int), requires (N > 3) and static_assert(...) do not.
    bool opens_parameters(const Head& head, std::uint32_t i) const {
        if (head.function.parameters != kNone || head.assigned || head.is_typedef) return false;
        if (head.declares_pointer) return false;
        const Token& before = tokens_[i - 1];
        if (before.kind == Kind::word)
            return before.word == Word::other || before.word == Word::type || before.word == Word::operator_;
        return i > 0 && before.kind == Kind::sign;  // k<int>(...), operator()(...), ~S(...)
    }

    // `requires (T x) {...}` and `requires {...}` are expressions; `requires (N > 3) {` is a clause before a body.
    bool is_requirement(std::uint32_t brace) const {
        std::uint32_t before = brace - 1;
        if (tokens_.is(before, ')') && tokens_[before].pair != kNone) before = tokens_[before].pair - 1;
        if (!tokens_.is(before, Word::requires_)) return false;
        if (before == brace - 1) return true;
        const std::uint32_t first = before - 1;
        return tokens_.is(first, Word::requires_) || tokens_.is(first, '=') || tokens_.is(first, "&&") ||
               tokens_.is(first, "||") || tokens_.is(first, '(') || tokens_.is(first, '!');
    }

    bool is_linkage(std::uint32_t begin, std::uint32_t brace) const {
        return tokens_.is(begin, Word::extern_) && brace == begin + 2 && tokens_[begin + 1].kind == Kind::literal;
    }

    // S() : x{1}, y{2} {}: a brace before a comma or before another brace is no body.
    bool is_member_initialiser(std::uint32_t brace) const {
        const std::uint32_t after = tokens_[brace].pair + 1;
        return tokens_.is_word(brace - 1) || tokens_.is(brace - 1, '>')
                   ? tokens_.is(after, ',') || tokens_.is(after, '{') || tokens_.is(after, "...")
                   : false;
    }

    void inner_namespace(const Head& head, std::uint32_t begin, std::uint32_t brace, const Scope& outer) {
        Scope inner = outer;
        if (++inner.depth > kDeepest) return;
        if (head.is_namespace) {
            inner.global = false;
            std::string name;
            for (std::uint32_t i = begin; i < brace; ++i)
                if (tokens_.is_word(i) && tokens_.is(i, Word::other) &&
                    (tokens_.is(i - 1, Word::namespace_) || tokens_.is(i - 1, "::")))
                    name += std::string(tokens_.text(i)) + "::";
            if (name.empty()) inner.internal = true;
            inner.name = add_scope(outer, name);
        }
        scope({brace + 1, tokens_[brace].pair}, inner);
    }

    std::uint32_t add_scope(const Scope& outer, const std::string& name) {
        found_.scopes.push_back(found_.scopes[outer.name] + name);
        return static_cast<std::uint32_t>(found_.scopes.size() - 1);
    }

    void inner_class(const Head& head, std::uint32_t brace, const Scope& outer) {
        Scope inner = outer;
        if (++inner.depth > kDeepest) return;
        inner.in_class = true;
        inner.global = false;
        inner.in_template = outer.in_template || !head.function.templates.empty();
        inner.name = add_scope(outer, tokens_.is_word(head.class_name) ? std::string(tokens_.text(head.class_name)) + "::" : "");
        scope({brace + 1, tokens_[brace].pair}, inner);
    }

    void finish_function(Head& head, Range range) {
        Function& function = head.function;
        function.head = range;
        name_function(function);
        if (function.body != kNone && function.scope.global && function.name != kNone && tokens_.text(function.name) == "main")
            found_.has_main = true;
        if (function.kernel)
            found_.kernels.push_back(std::move(function));
        else
            found_.bodies.push_back({function.parameters, function.body, function.device, specifiers(function),
                                     is_operator(function) ? kNone : function.name, head.variables.is_constexpr});
    }

    std::uint32_t specifiers(const Function& function) const {
        std::uint32_t begin = function.head.begin;
        if (!function.templates.empty()) begin = std::max(begin, function.templates.back().end + 1);
        if (tokens_.is(begin, Word::extern_) && tokens_[begin + 1].kind == Kind::literal) begin += 2;
        while (tokens_.text(begin) == "__extension__") ++begin;
        return tokens_.is(begin, Word::requires_) || begin >= function.parameters ? kNone : begin;
    }

    bool is_operator(const Function& function) const {
        for (std::uint32_t i = function.head.begin; i < function.parameters; ++i)
            if (tokens_.is(i, Word::operator_)) return true;
        return false;
    }

    // The name ends before the parameters: ns::S<T>::k or, in a specialisation, k<int>.
    void name_function(Function& function) const {
        std::uint32_t last = function.parameters - 1;
        if (tokens_.is(last, ']') && tokens_[last].pair != kNone) last = tokens_[last].pair - 1;  // k [[gnu::cold]] (
        if (tokens_.is(last, '>')) {
            const std::uint32_t open = opening_angle(tokens_, last);
            if (open == kNone || open == 0) return;
            function.arguments = {open + 1, last};
            last = open - 1;
        }
        if (!tokens_.is_word(last)) return;
        function.name = last;
        while (last >= 2 && tokens_.is(last - 1, "::")) {
            last -= 2;
            if (!tokens_.is(last, '>')) continue;
            ++function.qualifiers;
            const std::uint32_t open = opening_angle(tokens_, last);
            if (open == kNone || open == 0) return;
            last = open - 1;
        }
    }

    void finish_declaration(Head& head, Range range) {
        if (head.is_typedef || range.empty()) return;
        if (head.function.kernel && head.function.parameters != kNone) return finish_function(head, range);
        if (head.function.device && head.function.parameters != kNone) {
            head.function.head = range;
            name_function(head.function);
            if (head.function.name != kNone && !is_operator(head.function)) found_.device_names.push_back(head.function.name);
            return;
        }
        Variables& variables = head.variables;
        if (variables.space == Word::other || head.function.parameters != kNone) return;
        if (head.is_class && tokens_.is(range.end - 1, '}')) return;
        variables.range = range;
        if (!head.function.templates.empty()) variables.parameters = head.function.templates.back();
        variables.is_template = !head.function.templates.empty() || variables.scope.in_template;
        if (variables.is_extern && head.assigned) variables.is_extern = false;
        found_.variables.push_back(variables);
    }

    const Tokens& tokens_;
    Declarations found_;
};

}  // namespace

Declarations find_declarations(const Tokens& tokens) {
    Walk walk(tokens);
    walk.scope({0, tokens.size()}, {});
    return walk.take();
}

}  // namespace heddle::emulator::frontend
