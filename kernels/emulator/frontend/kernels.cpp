// A kernel's body becomes a closure that each thread copies and calls:
//
//     template <class T> __global__ void __launch_bounds__(256) k(T* x, int n) { ... }
//     template <class T> void k(T* x, int n) { return launch("k", registered<static_cast<void (*)(T* x, int n)>(&k<T>), (256)>,
//     [=]() mutable { ... }); }
//
// So a kernel stays a function like any other: the compiler finds overloads, deduces arguments and makes instances. Kernel
// knows it by its address, for cudaLaunchKernel.
#include "kernels/emulator/frontend/rewriter.h"

namespace heddle::emulator::frontend {

std::string template_arguments(TranslationUnit& unit, Range range) {
    std::string arguments;
    for (const TemplateParameter& parameter : template_parameters(unit.tokens, range)) {
        std::string name;
        if (parameter.name != kNone) {
            name = unit.tokens.text(parameter.name);
        } else {
            name = unit.new_name("parameter");
            unit.changes.before(parameter.end_of_declaration, " " + name + " ");
        }
        arguments += (arguments.empty() ? "" : ", ") + name + (parameter.pack ? "..." : "");
    }
    return arguments;
}

namespace {

// The numbers of __launch_bounds__(256, 2) and __cluster_dims__(4, 1, 1), as arguments of Kernel<>.
std::string numbers(const Tokens& tokens, const Function& kernel) {
    std::vector<std::string> values;
    const auto add = [&](std::uint32_t word, std::size_t first, std::size_t most) {
        if (word == kNone || !tokens.is(word + 1, '(') || tokens[word + 1].pair == kNone) return;
        values.resize(first, "0");
        for (const Range& part : split_at_commas(tokens, {word + 2, tokens[word + 1].pair}))
            if (values.size() < first + most) values.push_back("(" + one_line(tokens, part) + ")");
    };
    add(kernel.launch_bounds, 0, 2);
    add(kernel.cluster_dims, 2, 3);
    std::string list;
    for (const std::string& value : values) list += ", " + value;
    return list;
}

// `scope` is that of the kernel: "ns::".
std::string registration(TranslationUnit& unit, const Function& kernel, const std::string& scope) {
    const Tokens& tokens = unit.tokens;
    const Range list = {kernel.parameters + 1, tokens[kernel.parameters].pair};
    for (std::uint32_t i = list.begin; i < list.end; ++i)
        if (tokens.text(i) == "auto") return "nullptr";
    if (kernel.is_friend) return "nullptr";
    std::string type = "void (*)(";
    const std::string name(tokens.text(kernel.name));
    std::string address = "&" + name;
    for (const Parameter& parameter : parameters(tokens, list)) {
        type += (type.back() == '(' ? "" : ", ") + one_line(tokens, parameter.declared);
        if (parameter.name != kNone && tokens.text(parameter.name) == name) {  // it hides the kernel
            if (kernel.scope.in_class) return "nullptr";
            address = "&::" + scope + name;
        }
    }
    if (!kernel.arguments.empty()) {
        address += "<" + one_line(tokens, kernel.arguments) + ">";
    } else if (kernel.templates.size() > kernel.qualifiers && !kernel.templates.back().empty()) {
        address += "<" + template_arguments(unit, kernel.templates.back()) + ">";
    }
    return std::string(kCuda) + "Kernel<static_cast<" + type + ")>(" + address + ")" + numbers(tokens, kernel) +
           ">::registration()";
}

}  // namespace

void rewrite_kernel(TranslationUnit& unit, const Function& kernel, const std::string& scope) {
    const Tokens& tokens = unit.tokens;
    if (kernel.name == kNone || tokens[kernel.body].pair == kNone)
        unit.fail(kernel.body, "cannot read the declaration of this kernel");
    const std::string name = "\"" + std::string(tokens.text(kernel.name)) + "\"";
    const std::uint32_t end = tokens[kernel.body].pair;
    unit.changes.after(kernel.body, " return " + std::string(kCuda) + "launch(" + name + ", " +
                                        registration(unit, kernel, scope) + ", [=]() mutable {");
    unit.changes.before(end, "}); ");
    for (std::uint32_t i = kernel.body; i < end; ++i)
        if (tokens.is(i, Word::function_name)) unit.changes.replace(i, name);
}

Kernel describe_kernel(const Tokens& tokens, const Declarations& declarations, const Function& kernel) {
    Kernel result;
    result.name = declarations.scopes[kernel.scope.name];
    std::uint32_t first = kernel.name;
    while (first >= 2 && tokens.is(first - 1, "::") && tokens.is_word(first - 2)) first -= 2;
    result.name += one_line(tokens, {first, kernel.name + 1});
    if (!kernel.arguments.empty()) result.name += "<" + one_line(tokens, kernel.arguments) + ">";
    result.file = tokens.file(kernel.name);
    result.line = static_cast<int>(tokens[kernel.name].line);
    result.is_template = kernel.scope.in_template || (!kernel.templates.empty() && kernel.arguments.empty());
    for (const Parameter& parameter : parameters(tokens, {kernel.parameters + 1, tokens[kernel.parameters].pair})) {
        KernelParameter described;
        for (std::uint32_t i = parameter.declared.begin; i < parameter.declared.end; ++i) {
            if (i == parameter.name || tokens.is(i, Word::grid_constant)) continue;
            if (tokens.is(i, Word::cv) && tokens.text(i).starts_with("__restrict")) continue;
            const bool tight = described.type.empty() || tokens.is(i, '*') || tokens.is(i, '&') || tokens.is(i, "::") ||
                               tokens.is(i - 1, "::") ||
                               !(tokens.is_word(i) && (tokens.is_word(i - 1) || tokens.is(i - 1, '*') || tokens.is(i - 1, '>')));
            described.type += (tight ? "" : " ") + std::string(tokens.text(i));
        }
        if (parameter.name != kNone) described.name = tokens.text(parameter.name);
        result.parameters.push_back(std::move(described));
    }
    return result;
}

}  // namespace heddle::emulator::frontend
