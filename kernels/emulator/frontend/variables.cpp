// Variables of the GPU outside of functions stay what they are, and a registrar makes them known as the GPU's memory:
//
//     __constant__ float c[3];
//     float c[3]; static Symbol heddle_symbol_1(c, sizeof(c), "c", Symbol::constant);
#include "kernels/emulator/frontend/rewriter.h"

namespace heddle::emulator::frontend {

void rewrite_variables(TranslationUnit& unit, const Variables& variables) {
    const Tokens& tokens = unit.tokens;
    // Only a definition has a size; constexpr ones are values. What a template makes is registered when it is copied to or from.
    if (variables.is_extern || variables.is_constexpr || variables.is_template) return;
    if (variables.scope.in_class && !(variables.is_static && variables.is_inline)) return;
    const char* const space = variables.space == Word::constant  ? "constant"
                              : variables.space == Word::managed ? "managed"
                                                                 : "device";
    std::string symbols;
    for (const Declarator& declarator : declarators(tokens, variables.range)) {
        const std::string name = one_line(tokens, declarator.qualified);
        symbols += std::string(variables.scope.in_class ? " static inline " : " static ") + kCuda + "Symbol " +
                   unit.new_name("symbol") + "{" + name + ", sizeof(" + name + "), \"" + name + "\", " + kCuda +
                   "Symbol::" + space + "};";
    }
    unit.changes.after(variables.range.end, symbols);
    bool is_const = false;
    for (std::uint32_t i = variables.range.begin; i < variables.range.end && !tokens.is(i, '='); ++i)
        is_const = is_const || tokens.text(i) == "const";
    if (unit.options.several_units && !variables.is_static && !variables.scope.internal && !variables.scope.in_class && !is_const)
        unit.changes.before(variables.range.begin, "__attribute__((weak)) ");
}

}  // namespace heddle::emulator::frontend
