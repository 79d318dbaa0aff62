// Variables of the GPU stay what they are, and a registrar makes them known as the GPU's memory:
//
//     __constant__ float c[3];
//     float c[3]; static Symbol heddle_symbol_1{c, sizeof(c), "c", Symbol::constant};
//
// A static member may be private, but not for an explicit instantiation. What a template makes is registered by its initialiser,
// because nothing that stands beside it is made with it:
//
//     __device__ int S::v = 3;                      int S::v = 3; template <auto*> struct R {...}; template struct R<&S::v>;
//     template <class T> __device__ T v = 3;        template <class T> T v = (Symbol{v<T>, ...}, 3);
//     static int v;  // in device code              static int v; struct N {...}; static_cast<void>(&StaticLocal<&v, N>::symbol);
#include "kernels/emulator/frontend/rewriter.h"

namespace heddle::emulator::frontend {
namespace {

// {v, sizeof(v), "v", Symbol::device}
std::string symbol(const std::string& variable, const std::string& name, Word space) {
    const char* const kind = space == Word::constant ? "constant" : space == Word::managed ? "managed" : "device";
    return "{" + variable + ", sizeof(" + variable + "), \"" + name + "\", " + kCuda + "Symbol::" + kind + "}";
}

std::uint32_t find(const Tokens& tokens, Range range, char sign) {
    for (std::uint32_t i = range.begin; i < range.end; ++i)
        if (tokens.is(i, sign)) return i;
    return kNone;
}

bool is_const(const Tokens& tokens, Range range) {
    for (std::uint32_t i = range.begin; i < range.end && !tokens.is(i, '='); ++i)
        if (tokens.text(i) == "const" || tokens.is(i, Word::constexpr_)) return true;
    return false;
}

// Arrays and lists in braces cannot be initialised so: they stay unregistered, and an access is reported as one to the host's
// memory.
void register_in_initialiser(TranslationUnit& unit, const Variables& variables) {
    const Tokens& tokens = unit.tokens;
    const std::vector<Declarator> names = declarators(tokens, variables.range);
    if (names.size() != 1 || variables.scope.in_class) return;
    std::string name = one_line(tokens, names[0].qualified);
    if (names[0].qualified.end - names[0].qualified.begin == 1)
        name += "<" + template_arguments(unit, variables.parameters) + ">";
    const Range rest = {names[0].name + 1, variables.range.end};
    const std::string made = std::string(kCuda) + "Symbol" + symbol(name, one_line(tokens, names[0].qualified), variables.space);
    if (find(tokens, rest, '{') != kNone || find(tokens, rest, '[') != kNone) return;
    if (const std::uint32_t equal = find(tokens, rest, '='); equal != kNone) {
        unit.changes.after(equal, " (static_cast<void>(" + made + "), ");
        unit.changes.before(variables.range.end, ")");
    } else if (rest.empty()) {
        unit.changes.before(variables.range.end, " = (static_cast<void>(" + made + "), decltype(" + name + "){})");
    }
}

}  // namespace

void rewrite_variables(TranslationUnit& unit, const Variables& variables) {
    const Tokens& tokens = unit.tokens;
    if (variables.is_extern || variables.is_constexpr) return;  // without a size here; values
    if (variables.is_template) return register_in_initialiser(unit, variables);
    if (variables.scope.in_class && !(variables.is_static && variables.is_inline)) return;
    std::string registrars;
    for (const Declarator& declarator : declarators(tokens, variables.range)) {
        const std::string name = one_line(tokens, declarator.qualified), registrar = unit.new_name("symbol");
        if (declarator.qualified.end - declarator.qualified.begin == 1) {
            registrars += std::string(variables.scope.in_class ? " static inline " : " static ") + kCuda + "Symbol " + registrar +
                          symbol(name, name, variables.space) + ";";
        } else {
            registrars += " template <auto* V> struct " + registrar + " { static inline " + kCuda + "Symbol made" +
                          symbol("*V", name, variables.space) + "; }; template struct " + registrar + "<&" + name + ">;";
        }
    }
    unit.changes.after(variables.range.end, registrars);
    if (unit.options.several_units && !variables.is_static && !variables.scope.internal && !variables.scope.in_class &&
        !is_const(tokens, variables.range))
        unit.changes.before(variables.range.begin, "__attribute__((weak)) ");
}

void rewrite_static_locals(TranslationUnit& unit, std::uint32_t brace) {
    const Tokens& tokens = unit.tokens;
    for (std::uint32_t i = brace; i < tokens[brace].pair && i < tokens.size(); ++i) {
        if (!tokens.is(i, Word::static_)) continue;
        Range range = {i, i};
        bool other = tokens.is(i - 1, Word::shared);  // shared memory, or a function of a local class
        for (; range.end < tokens[brace].pair && !tokens.is(range.end, ';') && !tokens.is(range.end, '}'); ++range.end) {
            other = other || tokens.is(range.end, Word::shared) || (tokens.is(range.end, '{') && tokens.is(range.end - 1, ')'));
            const bool group = tokens.is(range.end, '(') || tokens.is(range.end, '[') || tokens.is(range.end, '{');
            if (group && tokens[range.end].pair != kNone) range.end = tokens[range.end].pair;
        }
        if (other || is_const(tokens, range) || !tokens.is(range.end, ';')) continue;
        std::string registrars;
        for (const Declarator& declarator : declarators(tokens, range)) {
            const std::string name = one_line(tokens, declarator.qualified);
            const std::string tag = unit.new_name("name");
            registrars += " struct " + tag + " { static constexpr const char* text() { return \"" + name +
                          "\"; } }; static_cast<void>(&" + kCuda + "StaticLocal<&" + name + ", " + tag + ">::symbol);";
        }
        unit.changes.after(range.end, registrars);
        i = range.end;
    }
}

}  // namespace heddle::emulator::frontend
