#include "kernels/emulator/frontend/build.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>

namespace heddle::emulator::frontend {
namespace {

// A type that an argument can have, and its name in C++.
struct ElementType {
    const char* name;
    const char* type;
};
constexpr ElementType kElementTypes[] = {{"f16", "__half"},
                                         {"bf16", "__nv_bfloat16"},
                                         {"f32", "float"},
                                         {"f64", "double"},
                                         {"i8", "signed char"},
                                         {"i16", "short"},
                                         {"i32", "int"},
                                         {"i64", "long long"},
                                         {"char", "char"},
                                         {"u8", "unsigned char"},
                                         {"u16", "unsigned short"},
                                         {"u32", "unsigned int"},
                                         {"u64", "unsigned long long"}};

std::string names_of_types() {
    std::string text;
    for (const ElementType& each : kElementTypes) text += std::string(text.empty() ? "" : ", ") + each.name;
    return text;
}

std::string trimmed(std::string text) {
    while (!text.empty() && text.back() == ' ') text.pop_back();
    text.erase(0, text.find_first_not_of(' '));
    return text;
}

bool is_digits(const std::string& text) {
    return !text.empty() && text.size() < 19 &&
           std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// A word that can stand in C++ as the value of a scalar or a structure: numbers, names, signs and braces.
bool is_value(const std::string& text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || std::string("_+-.,{}:<> ").find(static_cast<char>(c)) != std::string::npos;
    });
}

// "2x3x4" as the arguments of dim3.
std::string dimensions(const char* option, const std::string& text) {
    std::string result;
    std::size_t begin = 0;
    for (int i = 0; i < 3 && begin <= text.size(); ++i) {
        const std::size_t end = std::min(text.find('x', begin), text.size());
        const std::string part = text.substr(begin, end - begin);
        if (!is_digits(part) || part.find_first_not_of('0') == std::string::npos) break;
        result += (result.empty() ? "" : ", ") + part + "u";
        begin = end + 1;
    }
    if (begin != text.size() + 1) throw Refused(std::string("--") + option + " is '" + text + "', wanted extents as 2 or 2x3x4");
    return "dim3(" + result + ")";
}

struct Argument {
    std::string name, value;
    const ElementType* element = nullptr;  // of an array
    std::string count = {}, fill = "random";
};

// "40x50" is 2000 elements; 0 is no extent.
std::string product_of(const std::string& extents) {
    std::uint64_t product = 1;
    for (std::size_t begin = 0; begin <= extents.size();) {
        const std::size_t end = std::min(extents.find('x', begin), extents.size());
        const std::string extent = extents.substr(begin, end - begin);
        if (!is_digits(extent) || __builtin_mul_overflow(product, std::stoull(extent), &product)) return "";
        begin = end + 1;
    }
    return std::to_string(product);
}

// Whether the text is a finite number, as C++ reads it.
bool is_number(const std::string& text) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    return !text.empty() && *end == '\0' && std::isfinite(number);
}

// The low and the high end of "0..9"; two empty texts if it is none.
std::pair<std::string, std::string> range_of(const std::string& fill) {
    const std::size_t dots = fill.find("..");
    if (dots == std::string::npos) return {};
    const std::string low = fill.substr(0, dots), high = fill.substr(dots + 2);
    if (!is_number(low) || !is_number(high)) return {};
    return {low, high};
}

Argument read_argument(const std::string& text) {
    const std::size_t equal = text.find('=');
    const std::string wrong =
        "--arg is '" + text +
        "', wanted NAME=NUMBER or NAME=TYPE[COUNT], with :random, :LOW..HIGH, :zeros, :iota, :none or a number behind it; "
        "COUNT may be 40x50";
    if (equal == std::string::npos || equal == 0) throw Refused(wrong);
    Argument argument{trimmed(text.substr(0, equal)), trimmed(text.substr(equal + 1))};
    const std::size_t open = argument.value.find('['), close = argument.value.find(']');
    if (open == std::string::npos) {
        if (!is_value(argument.value)) throw Refused(wrong);
        return argument;
    }
    const std::string type = argument.value.substr(0, open);
    for (const ElementType& each : kElementTypes)
        if (type == each.name) argument.element = &each;
    if (argument.element == nullptr)
        throw Refused("--arg " + argument.name + " has elements of '" + type + "', wanted one of " + names_of_types());
    if (close != std::string::npos) argument.count = product_of(argument.value.substr(open + 1, close - open - 1));
    if (argument.count.empty()) throw Refused(wrong);
    if (close + 1 < argument.value.size()) {
        argument.fill = argument.value.substr(close + 2);
        const bool is_word =
            argument.fill == "random" || argument.fill == "zeros" || argument.fill == "iota" || argument.fill == "none";
        if (argument.value[close + 1] != ':' || !(is_word || is_number(argument.fill) || !range_of(argument.fill).first.empty()))
            throw Refused(wrong);
    }
    return argument;
}

bool is_pointer(const std::string& type) {
    const std::string text = trimmed(type);
    return text.find('*') != std::string::npos || text.find('[') != std::string::npos;
}

// A file's name as a shell takes it.
std::string shell_word(const std::string& name) {
    const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || std::string("_+-./,:@%").find(static_cast<char>(c)) != std::string::npos;
    });
    if (plain) return name;
    std::string word = "'";
    for (const char c : name) word += c == '\'' ? "'\\''" : std::string(1, c);
    return word + "'";
}

// A command line with a value for each parameter, to begin with.
std::string ready_command(const Kernel& kernel, const Settings& settings) {
    std::string text = settings.name;
    for (const std::string& source : settings.sources) text += " " + shell_word(source);
    text += " --kernel " + (kernel.is_template ? "'" + kernel.name + "<float>'" : kernel.name) + " --grid 2 --block 64";
    for (const KernelParameter& parameter : kernel.parameters) {
        std::string type = "f32";
        for (const ElementType& each : kElementTypes)
            if (parameter.type.find(each.type) != std::string::npos) type = each.name;
        text += " --arg " + parameter.name + "=" + (is_pointer(parameter.type) ? type + "[1024]" : "1024");
    }
    return text;
}

std::string kernel_list(const std::vector<SourceUnit>& units, const Settings& settings) {
    std::string text;
    for (const SourceUnit& unit : units)
        for (const Kernel& kernel : unit.rewritten.kernels) {
            std::string parameters;
            for (const KernelParameter& parameter : kernel.parameters)
                parameters += (parameters.empty() ? "" : ", ") + parameter.type + " " + parameter.name;
            text += "\n  " + unit.source + ":" + std::to_string(kernel.line) + ": " + kernel.name + "(" + parameters + ")\n    " +
                    ready_command(kernel, settings);
        }
    return text;
}

// The start of the harness. Random values lie in [-1, 1); those of integers in 0 to 15, so that an index made of them stays
// small.
const char* const kHarnessStart =
    "\n# 1 \"the harness of heddle check\"\n"
    "namespace heddle_check_harness {\n"
    "inline unsigned long long state = 0x9e3779b97f4a7c15ull;\n"
    "inline unsigned long long next() {\n"
    "    state ^= state << 13, state ^= state >> 7, state ^= state << 17;\n"
    "    return state;\n"
    "}\n"
    "template <class T> T* array(const char* name, unsigned long long count, const char* fill, double low, double high) {\n"
    "    T* device = nullptr;\n"
    "    if (cudaMalloc((void**)&device, count * sizeof(T), {name, 0}) != cudaSuccess) return nullptr;\n"
    "    if (fill[0] == 'n' || count == 0) return device;\n"
    "    T* host = new T[count];\n"
    "    for (unsigned long long i = 0; i < count; ++i) {\n"
    "        const double unit = (double)(next() >> 11) / 9007199254740992.0;\n"
    "        const double number = fill[0] == 'i' ? (double)i\n"
    "            : T(0.5f) != T(0) ? low + unit * (high - low) : low + (double)(unsigned long long)(unit * (high - low + 1));\n"
    "        host[i] = T((T(0.5f) != T(0)) ? (float)number : number);\n"
    "    }\n"
    "    cudaMemcpy(device, host, count * sizeof(T), cudaMemcpyHostToDevice);\n"
    "    delete[] host;\n"
    "    return device;\n"
    "}\n"
    "}\n";

// The expression that makes an array of the device.
std::string array_of(const Argument& argument) {
    const bool is_float = argument.element->name[0] == 'f' || argument.element->name[0] == 'b';
    std::string low = is_float ? "-1" : "0", high = is_float ? "1" : "15";
    if (argument.fill == "zeros") low = high = "0";
    if (is_number(argument.fill)) low = high = argument.fill;
    if (const auto [from, to] = range_of(argument.fill); !from.empty()) low = from, high = to;
    return std::string("heddle_check_harness::array<") + argument.element->type + ">(\"--arg " + argument.name + "\", " +
           argument.count + "ull, \"" + argument.fill + "\", " + low + ", " + high + ")";
}

// A main() that makes the arrays, runs `launch` and waits for the device.
std::string main_of(const Settings& settings, const std::string& arrays, const std::string& launch) {
    return kHarnessStart + std::string("int main() {\n    heddle_check_harness::state += ") + std::to_string(settings.seed) +
           "ull;\n" + arrays + launch +
           "    cudaError_t error = cudaDeviceSynchronize();\n    if (error == cudaSuccess) error = cudaGetLastError();\n"
           "    if (error != cudaSuccess) fprintf(stderr, \"%s\\n\", cudaGetErrorString(error));\n"
           "    return error == cudaSuccess ? 0 : 1;\n}\n";
}

// A main() that calls a host function of the last file with all arguments, in their order.
void add_call(std::vector<SourceUnit>& units, const Settings& settings) {
    const Settings none;
    if (!settings.kernel.empty() || settings.grid != none.grid || settings.block != none.block || settings.shared != none.shared)
        throw Refused("--call excludes --kernel, --grid, --block and --shared: a host function launches its kernels itself");
    if (!is_value(settings.call)) throw Refused("--call is '" + settings.call + "', wanted the name of a host function");
    std::string values, text;
    for (const std::string& word : settings.arguments) {
        const Argument argument = read_argument(word);
        values += values.empty() ? "" : ", ";
        if (argument.element == nullptr) {
            values += argument.value;
            continue;
        }
        const std::string local = "argument_" + argument.name;
        text += "    auto* const " + local + " = " + array_of(argument) + ";\n";
        values += local;
    }
    units.back().added = main_of(settings, text, "    " + settings.call + "(" + values + ");\n");
}

}  // namespace

void add_harness(std::vector<SourceUnit>& units, const Settings& settings) {
    if (!settings.call.empty()) return add_call(units, settings);
    std::size_t kernels = 0;
    for (const SourceUnit& unit : units) kernels += unit.rewritten.kernels.size();
    if (kernels == 0) throw Refused(settings.sources[0] + " has neither a main() nor a kernel");
    if (settings.kernel.empty())
        throw Refused(settings.sources[0] +
                      " has no main(); choose a kernel and its arguments, as in:" + kernel_list(units, settings));
    const std::string bare = trimmed(settings.kernel.substr(0, settings.kernel.find('<')));
    SourceUnit* unit = nullptr;
    const Kernel* kernel = nullptr;
    for (SourceUnit& each : units)
        for (const Kernel& candidate : each.rewritten.kernels)
            if (candidate.name == bare) {
                unit = &each;
                kernel = &candidate;
            }
    if (kernel == nullptr) throw Refused("there is no kernel '" + bare + "'; the file has these:" + kernel_list(units, settings));
    if (!is_value(settings.kernel))
        throw Refused("--kernel is '" + settings.kernel + "', wanted a name as saxpy or saxpy<float>");

    std::vector<Argument> arguments;
    for (const std::string& text : settings.arguments) arguments.push_back(read_argument(text));
    std::string values, text;
    for (const KernelParameter& parameter : kernel->parameters) {
        const auto found =
            std::find_if(arguments.begin(), arguments.end(), [&](const Argument& each) { return each.name == parameter.name; });
        if (found == arguments.end())
            throw Refused("kernel " + bare + " has a parameter " + parameter.type + " " + parameter.name +
                          " without a value; as in:\n  " + ready_command(*kernel, settings));
        const std::string local = "argument_" + std::to_string(found - arguments.begin());
        if (found->element != nullptr) {
            text += "    auto* const " + local + " = " + array_of(*found) + ";\n";
            values += (values.empty() ? "" : ", ") + (kernel->is_template ? local : "(" + parameter.type + ")" + local);
        } else {
            values += (values.empty() ? "" : ", ") +
                      (found->value[0] == '{' && !kernel->is_template ? parameter.type : std::string()) + found->value;
        }
    }
    for (const Argument& argument : arguments)
        if (std::none_of(kernel->parameters.begin(), kernel->parameters.end(),
                         [&](const KernelParameter& each) { return each.name == argument.name; }))
            throw Refused("kernel " + bare + " has no parameter '" + argument.name + "'; as in:\n  " +
                          ready_command(*kernel, settings));
    unit->added = main_of(settings, text,
                          "    ::heddle::emulator::cuda::configure(" + dimensions("grid", settings.grid) + ", " +
                              dimensions("block", settings.block) + ", " + std::to_string(settings.shared) + ");\n    " +
                              settings.kernel + "(" + values + ");\n");
}

}  // namespace heddle::emulator::frontend
