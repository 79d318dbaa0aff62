// Files of GPUVerify's testsuite as programs.
#include "kernels/emulator/frontend/harness.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

namespace heddle::emulator::frontend {
namespace {

constexpr const char* kUnmet = "a precondition of GPUVerify";

// Annotations that only help a prover are nothing; those that are left out here need to know all accesses so far, and a file with
// them does not compile.
const char* const kAnnotations =
    "#pragma once\n"
    "#include <cassert>\n"
    "#define __requires(...) assert((__VA_ARGS__) && \"a precondition of GPUVerify\")\n"
    "#define __requires_fresh_array(...) ((void)0)\n"
    "#define __assert(...) assert((__VA_ARGS__))\n"
    "#define __global_assert(...) assert((__VA_ARGS__))\n"
    "#define __ensures(...) ((void)0)\n"
    "#define __global_ensures(...) ((void)0)\n"
    "#define __global_requires(...) __requires(__VA_ARGS__)\n"
    "#define __invariant(...) ((void)0)\n"
    "#define __global_invariant(...) ((void)0)\n"
    "#define __function_wide_invariant(...) ((void)0)\n"
    "#define __function_wide_candidate_invariant(...) ((void)0)\n"
    "#define __candidate_invariant(...) ((void)0)\n"
    "#define __candidate_assert(...) ((void)0)\n"
    "#define __axiom(...) static_assert(true)\n"
    "#define __assume(...) __requires(__VA_ARGS__)\n"
    "#define __enabled() true\n"
    "#define __uniform_bool(...) true\n"
    "#define __uniform_int(...) true\n"
    "#define __implies(a, b) (!(a) || (b))\n"
    "#define __ite(a, b, c) ((a) ? (b) : (c))\n"
    "#define __mod_pow2(a, b) ((a) & ((b)-1))\n"
    "#define __add_noovfl_unsigned_int(a, b) ((a) + (b))\n";

// An array is 4 MB with the pointer in its middle, because GPUVerify's arrays have no bounds. A structure is made of draws of its
// members.
const char* const kDraws =
    "\n# 1 \"the parameters of heddle check\"\n"
    "namespace heddle_check_draws {\n"
    "inline int draw = 1;\n"
    "inline unsigned long long state = 0x9e3779b97f4a7c15ull;\n"
    "inline unsigned long long next() { return state ^= state << 13, state ^= state >> 7, state ^= state << 17; }\n"
    "inline unsigned threads_of_block, threads;\n"
    "template <class T> T value();\n"
    "struct Any { template <class T> operator T() const { return value<T>(); } };\n"
    "template <class T, class Indices, class = void> struct Takes { static constexpr bool yes = false; };\n"
    "template <int> using Same = Any;\n"
    "template <int... I> struct List {};\n"
    "template <int N, int... I> struct Make : Make<N - 1, N - 1, I...> {};\n"
    "template <int... I> struct Make<0, I...> { using type = List<I...>; };\n"
    "template <class T, int... I> struct Takes<T, List<I...>, decltype(void(T{Same<I>{}...}))> { static constexpr bool yes = "
    "true; };\n"
    "template <class T, int... I> T made_of(List<I...>) { return T{Same<I>{}...}; }\n"
    "template <class T, int N> T structure() {\n"
    "    if constexpr (N == 0) return T{};\n"
    "    else if constexpr (Takes<T, typename Make<N>::type>::yes) return made_of<T>(typename Make<N>::type{});\n"
    "    else return structure<T, N - 1>();\n"
    "}\n"
    "template <class T> T* array() {\n"
    "    constexpr unsigned long long bytes = 4u << 20;\n"
    "    void* memory = nullptr;\n"
    "    cudaMalloc(&memory, bytes);\n"
    "    unsigned* host = new unsigned[bytes / 4];\n"
    "    for (unsigned i = 0; i < bytes / 4; ++i) host[i] = draw == 1 ? 0 : draw == 2 ? (unsigned)(next() >> 40 & 15) : 1;\n"
    "    cudaMemcpy(memory, host, bytes, cudaMemcpyHostToDevice);\n"
    "    delete[] host;\n"
    "    return (T*)((char*)memory + bytes / 2);\n"
    "}\n"
    "template <class P> struct Pointed { static constexpr bool is = false; };\n"
    "template <class T> struct Pointed<T*> {\n"
    "    static constexpr bool is = true;\n"
    "    static T* get() { return array<T>(); }\n"
    "};\n"
    "template <class T> struct Pointed<T**> {\n"
    "    static constexpr bool is = true;\n"
    "    static T** get() {\n"
    "        T* host[1024];\n"
    "        T* const one = array<T>();\n"
    "        for (T*& each : host) each = one;\n"
    "        T** const memory = array<T*>();\n"
    "        cudaMemcpy(memory, host, sizeof host, cudaMemcpyHostToDevice);\n"
    "        return memory;\n"
    "    }\n"
    "};\n"
    "template <class R, class... A> R nothing(A...) { return R(); }\n"
    "template <class R, class... A> struct Pointed<R (*)(A...)> {\n"
    "    static constexpr bool is = true;\n"
    "    static auto get() -> R (*)(A...) { return &nothing<R, A...>; }\n"
    "};\n"
    "template <class T> T value() {\n"
    "    if constexpr (Pointed<T>::is) return Pointed<T>::get();\n"
    "    else if constexpr (__is_enum(T)) return T(draw - 1);\n"
    "    else if constexpr (__is_class(T)) return structure<T, 12>();\n"
    "    else if constexpr (sizeof(T) == 1) return T(draw == 1 ? 1 : draw == 2 ? 0 : 2);\n"
    "    else return T(draw == 1 ? threads_of_block : draw == 2 ? 1 : threads);\n"
    "}\n"
    "template <class T> struct Bare { using type = T; };\n"
    "template <class T> struct Bare<const T> { using type = T; };\n"
    "template <class... P> void launch(void (*kernel)(P...), dim3 grid, dim3 block, bool cooperative) {\n"
    "    ::heddle::emulator::cuda::Configuration configuration;\n"
    "    configuration.grid = grid, configuration.block = block, configuration.cooperative = cooperative;\n"
    "    ::heddle::emulator::cuda::configure(configuration);\n"
    "    kernel(value<typename Bare<P>::type>()...);\n"
    "    cudaDeviceSynchronize();\n"
    "}\n"
    "}\n";

std::vector<unsigned> read_extents(const std::string& option, std::string text) {
    const std::string all = text;
    if (text.size() > 1 && text.front() == '[' && text.back() == ']') text = text.substr(1, text.size() - 2);
    std::vector<unsigned> extents;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        if (part.empty() || part.size() > 8 || part.find_first_not_of("0123456789") != std::string::npos)
            throw Refused(option + " is '" + all + "', wanted 64 or [8,8]");
        extents.push_back(static_cast<unsigned>(std::stoul(part)));
    }
    if (extents.empty() || extents.size() > 3) throw Refused(option + " is '" + all + "', wanted one to three extents");
    return extents;
}

// GPUVerify takes blocks that no chip has; the halves of such a block have the same mistakes.
void fit_block(std::vector<unsigned>& block) {
    const auto threads = [&] {
        unsigned long long product = 1;
        for (const unsigned extent : block) product *= extent;
        return product;
    };
    while (threads() > 1024 || (block.size() == 3 && block[2] > 64)) {
        auto& largest = block.size() == 3 && block[2] > 64 ? block[2] : *std::max_element(block.begin(), block.end());
        largest /= 2;
    }
}

std::string dim3_of(const std::vector<unsigned>& extents) {
    std::string text;
    for (const unsigned extent : extents) text += (text.empty() ? "" : ", ") + std::to_string(extent) + "u";
    return "dim3(" + text + ")";
}

}  // namespace

Expectation read_expectation(const std::string& source) {
    std::ifstream stream(source);
    std::string first, second;
    if (!stream) throw Refused(source + ": there is no such file");
    std::getline(stream, first);
    std::getline(stream, second);
    std::transform(first.begin(), first.end(), first.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    while (!first.empty() && std::isspace(static_cast<unsigned char>(first.back())) != 0) first.pop_back();
    Expectation expectation;
    if (first == "//pass")
        expectation.passes = true;
    else if (first.rfind("//xfail:", 0) != 0)
        throw Refused(source + ":1: wanted //pass or //xfail:NOT_ALL_VERIFIED, as files of GPUVerify's testsuite begin");
    else if (first != "//xfail:not_all_verified")
        throw Refused(source + ":1: left out: " + first.substr(8) + " is an error of GPUVerify's own front end");
    if (second.rfind("//", 0) != 0) throw Refused(source + ":2: wanted //--blockDim=N --gridDim=N");
    std::istringstream words(second.substr(2));
    for (std::string word; words >> word;) {
        const std::string value = word.substr(std::min(word.find('=') + 1, word.size()));
        if (word.rfind("--blockDim=", 0) == 0) expectation.block = read_extents("--blockDim", value);
        if (word.rfind("--gridDim=", 0) == 0) expectation.grid = read_extents("--gridDim", value);
        if (word.rfind("-D", 0) == 0 || word.rfind("-I", 0) == 0) expectation.compile_options.push_back(word);
        if (word.rfind("--warp-sync=", 0) == 0)
            throw Refused(source + ":2: left out: " + word + " orders the threads of a warp, as chips before sm_70 do");
        expectation.only_barriers = expectation.only_barriers || word == "--only-divergence";
    }
    fit_block(expectation.block);
    return expectation;
}

std::vector<std::string> annotation_options(const std::filesystem::path& folder, const std::filesystem::path& headers) {
    const std::filesystem::path file = folder / "gpuverify_annotations.h";
    std::ofstream stream(file);
    stream << kAnnotations;
    if (!stream.flush()) throw std::runtime_error(file.string() + " cannot be written; make room there");
    std::vector<std::string> options;
    for (const char* const name : {"cooperative_groups.h", "curand_kernel.h", "math_constants.h"})
        if (std::filesystem::exists(headers / "kernels/emulator/include" / name))
            options.insert(options.end(), {"-include", name});
    options.insert(options.end(), {"-include", file.string()});
    return options;
}

void add_draws(SourceUnit& unit, const Expectation& expectation) {
    if (unit.rewritten.has_main) throw Refused(unit.source + " has a main(); files of GPUVerify's testsuite have none");
    if (unit.rewritten.kernels.empty()) throw Refused(unit.source + " has no kernel");
    unsigned long long block = 1, grid = 1;
    for (const unsigned extent : expectation.block) block *= extent;
    for (const unsigned extent : expectation.grid) grid *= extent;
    std::string text = kDraws;
    text +=
        "int main(int, char** words) {\n    heddle_check_draws::draw = words[1][0] - '0';\n    "
        "heddle_check_draws::threads_of_block = " +
        std::to_string(block) + ";\n    heddle_check_draws::threads = " + std::to_string(block * grid) + ";\n";
    const bool cooperative =
        unit.preprocessed.find("this_grid()", unit.preprocessed.rfind("\"" + unit.source + "\"")) != std::string::npos;
    for (const Kernel& kernel : unit.rewritten.kernels) {
        if (kernel.is_template) throw Refused(unit.source + ": left out: " + kernel.name + " is a template");
        text += "    heddle_check_draws::launch(&" + kernel.name + ", " + dim3_of(expectation.grid) + ", " +
                dim3_of(expectation.block) + (cooperative ? ", true);\n" : ", false);\n");
    }
    unit.added = text + "}\n";
}

bool is_unmet(const ViolationRecord& record) { return record.kind == "assert" && record.text.find(kUnmet) != std::string::npos; }

bool is_counted(const ViolationRecord& record, const Expectation& expectation) {
    // That a thread has left before a barrier is a note of a chip's, and divergence for GPUVerify.
    if (record.kind == "barrier" || record.kind == "deadlock" || record.kind == "portability") return true;
    if (record.note) return false;
    if (expectation.only_barriers) return false;
    // Arrays have no bounds there, but a null pointer is an error, and so is a write to a constant.
    const auto says = [&](const char* words) { return record.text.find(words) != std::string::npos; };
    const bool is_no_array = record.kind == "out-of-bounds" && (says("host memory") || says("constant memory"));
    return (record.kind == "race" && !record.same_value) || record.kind == "assert" || is_no_array;
}

}  // namespace heddle::emulator::frontend
