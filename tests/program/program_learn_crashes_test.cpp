// `heddle learn check` on answers that crash, never end, or fail before main(), and on what CUDA C++ an answer may be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "tests/learn_answers.h"
#include "tests/program.h"
#include "tests/program/program_process.h"

namespace heddle {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Each program that ends badly gets a verdict that names the line.
TEST(LearnCommand, SurvivesBadPrograms) {
    const Workplace here;
    const auto verdict = [&](const std::string& body) {
        here.write("guard.cu",
                   "#include <cstdio>\n#include <cstdlib>\n#include <sys/mman.h>\n#include \"exercise.h\"\n"
                   "__global__ void square(const float* x, float* y, int n) {\n    const int i = "
                   "static_cast<int>(threadIdx.x);\n    " +
                       body + "\n}\n");
        return checked(here, "guard", here.path("guard.cu"));
    };
    const auto expect = [&](const json& got, const std::string& kind, const std::string& words) {
        EXPECT_EQ(got["kind"], kind) << got;
        EXPECT_EQ(got["line"], 7) << got;
        EXPECT_THAT(got["text"].get<std::string>(), HasSubstr(words));
    };
    expect(verdict("if (i == 3) *reinterpret_cast<int*>(x == y ? 8 : 16) = 1;"), "bounds",
           "which a GPU cannot reach at guard.cu:7");
    expect(verdict("if (i == 3) abort();"), "crash", "Aborted at guard.cu:7");
    expect(verdict("y[i] = static_cast<float>(i / (n - 128));"), "crash", "divides an integer by zero at guard.cu:7");
    // Uses memory without an access that the compiler instruments.
    expect(verdict("for (;;) mmap(nullptr, 1 << 24, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);"), "memory",
           "uses more than 1024 MB of memory");
    // clang emits such calls for memset and memcpy.
    expect(verdict("void* fill(void*, int, unsigned long) __asm__(\"__tsan_memset\"); if (i == 3) { fill(y + 1, 0, 4ul * n); "
                   "y[0] = 0; }"),
           "bounds", "writes 512 bytes");
    EXPECT_EQ(
        verdict("void* copy(void*, const void*, unsigned long) __asm__(\"__tsan_memcpy\"); const unsigned k = blockIdx.x * 128 "
                "+ threadIdx.x; float v; if (k < n) { copy(&v, x + k, 4); v *= v; copy(y + k, &v, 4); }")["kind"],
        "pass");
    expect(verdict("helper(i);"), "compile", "'helper' was not declared in this scope");
    expect(verdict("asm volatile(\"bar.sync 0;\");"), "compile", "an answer has no inline PTX");
    expect(verdict("square<<<1, 1>>>(x, y, n);"), "compile", "an answer starts no kernels");
    expect(verdict("y[blockIdx * blockDim + threadIdx] = 0;"), "compile", "have the parts .x, .y and .z");
    expect(verdict("y[i] = max(x[i], 0.0f);"), "compile", "for floats use fminf and fmaxf");
    EXPECT_EQ(verdict("const unsigned k = blockIdx.x * 128 + threadIdx.x; if (k < n) y[k] = make_float4(0, 0, 0, fmaxf(x[k] * "
                      "x[k], 0)).w;")["kind"],
              "pass");
    EXPECT_EQ(verdict("void helper(int); helper(i);")["text"], "it uses helper(int), which is nowhere defined");
    expect(verdict("atomicAdd(y, 1.0f);"), "compile", "a sum of floating-point numbers by atomics differs from run to run");
    const json printed = verdict("if (i == 0) std::printf(\"n is %d\\n\", n);");
    EXPECT_EQ(printed["printed"], "n is 128\n") << "once, and not for every order of threads";
    const json endless = verdict("std::printf(\"begins\\n\"); for (;;) std::printf(\"and goes on\");");
    expect(endless, "endless", "still running after 5 seconds");
    EXPECT_THAT(endless["printed"].get<std::string>(), testing::StartsWith("begins\nand goes on")) << "not more than the limit";
}

// Initialisers run while the loader holds its lock, on which a search for the source line could block.
TEST(LearnCommand, SurvivesBadInitialisers) {
    const Workplace here;
    const auto expect = [&](const std::string& body, const std::string& kind, int line, const std::string& text) {
        here.write("guard.cu",
                   "#include <csignal>\n#include <cstdlib>\n#include <stdexcept>\n#include <unistd.h>\n#include \"exercise.h\"\n"
                   "int begin() {\n    " +
                       body + "\n    return 0;\n}\nconst int begun = begin();\n" + answer_of("guard/solution"));
        const json got = checked(here, "guard", here.path("guard.cu"), short_time);
        EXPECT_EQ(got["kind"], kind) << got;
        EXPECT_EQ(got["line"], line) << got;
        EXPECT_EQ(got["text"], text);
    };
    expect("throw std::runtime_error(\"too\\nearly\");", "crash", 7, "the program throws an exception: too; early at guard.cu:7");
    expect("throw 1;", "crash", 7, "the program throws an exception: one that is not a std::exception at guard.cu:7");
    expect("abort();", "crash", 7, "the program was ended by Aborted at guard.cu:7");
    expect("std::terminate();", "crash", 7,
           "the program calls std::terminate: an exception that leaves a noexcept function? at guard.cu:7");
    expect("for (;;) sleep(1);", "endless", 7,
           "it has done nothing for 1 second: does it wait for something that never happens? at guard.cu:7");
    expect("exit(3);", "crash", 0, "the program ended without a result, with status 3");
    // Neither the program nor its supervisor runs any more.
    expect("raise(SIGSTOP);", "crash", 0, "the program stopped itself: Stopped (signal)");
    expect("kill(0, SIGKILL);", "crash", 0, "the program ended without a result, with status 137");
}

// Host C++ fails in other ways.
TEST(LearnCommand, SurvivesBadOps) {
    // With --seconds 1 the compiler gets 30 seconds; meanwhile the others are checked.
    const Workplace waits;
    ASSERT_EQ(mkfifo(waits.path("pipe").c_str(), 0600), 0);
    waits.write("product-rule.cpp", "#include \"exercise.h\"\n#include \"" + waits.path("pipe") + "\"\n");
    RunningProgram waiting(waits, {"learn", "check", "product-rule.cpp", "--json", "--seconds", "1"});

    const Workplace here;
    const auto verdict = [&](const std::string& body, const std::string& options = "") {
        here.write("product-rule.cpp",
                   "#include \"exercise.h\"\n#include <cstdio>\n#include <cstdlib>\n#include <cstring>\n#include <unistd.h>\n"
                   "Variable product(const Variable& x, const Variable& y) {\n    " +
                       body + "\n    return x.value().numel() > 0 ? x : y;\n}\n");
        return checked(here, "product-rule", here.path("product-rule.cpp"), options);
    };
    const auto expect = [&](const json& got, const std::string& kind, int line, const std::string& words) {
        EXPECT_EQ(got["kind"], kind) << got;
        EXPECT_EQ(got["line"], line) << got;
        EXPECT_THAT(got["text"].get<std::string>(), HasSubstr(words));
    };
    expect(verdict("for (;;) std::printf(\"on\");", short_time), "endless", 7, "still running after 1 second: ");
    expect(verdict("*reinterpret_cast<int*>(x.dim(0) * 8) = 1;"), "crash", 7,
           "ended by Segmentation fault at product-rule.cpp:7");
    expect(verdict("std::printf(\"%ld\", x.dim(0) / (x.dim(0) - x.dim(0)));"), "crash", 7, "Floating point exception");
    expect(verdict("for (;;) std::memset(std::malloc(1 << 24), 1, 1 << 24);"), "memory", 7, "uses more than 1024 MB");
    expect(verdict("throw 1;"), "crash", 7, "the program throws an exception");
    expect(verdict("std::vector<int>(3).at(3);"), "crash", 7, "the program throws an exception: vector::");
    expect(verdict("x.value().values<float>();"), "tape", 7, "f64, but were asked for as f32");
    const json full = verdict("return product(x, y);");
    expect(full, "crash", full["line"] == 6 ? 6 : 7, "a function that calls itself without end");  // at its { or at the call
    expect(verdict("for (;;) sleep(1);", short_time), "endless", 7, "it has done nothing for 1 second: ");
    const std::string product =
        "Tensor z = x.value().clone(); for (int i = 0; i < z.numel(); ++i) z.mutable_values<double>()[i] *= "
        "y.value().values<double>()[i]; const double two = 2; return record(z, {.op = \"product\", .where = "
        "Where::current(), .inputs = {x, y}, .backward = ";
    const std::string gives = "(Gradients& g) { g.give(0, Tensor::full(g.output().shape(), two, DType::f64)); }});";
    expect(verdict(product + "[&]" + gives), "gradient", 7, "[&] refers to variables that are gone");
    EXPECT_THAT(verdict(product + "[=]" + gives)["text"].get<std::string>(), Not(HasSubstr("[&]")));
    const json asked = verdict(product + "[](Gradients& g) { g.accumulate_into(1); }});");
    expect(asked, "tape", 7, "backward adds into input 1, which wants no gradient; ask needs(1) first");
    EXPECT_THAT(verdict("double sum; for (double one : x.value().values<double>()) sum += one; std::printf(\"%g\", "
                        "sum);")["text"]
                    .get<std::string>(),
                HasSubstr("; the compiler warns: "));
    expect(verdict("return Variable();"), "values", 0, "an undefined Variable");
    expect(verdict("const Tensor z = Tensor::zeros({1}, DType::f64); return Variable(z);"), "shape", 0,
           "z has the shape [1]; wanted [5]");
    expect(verdict("return missing(x);"), "compile", 7, "'missing' was not declared in this scope");
    EXPECT_EQ(verdict("Variable helper(const Variable&); return helper(x);")["text"],
              "it uses helper(heddle::Variable const&), which is nowhere defined");
    EXPECT_EQ(verdict("std::puts(\"once\");")["printed"], "once\n") << "the first run is wrong";

    EXPECT_EQ(waiting.wait(), 1);
    const json waited = json::parse(waits.read("log"), nullptr, false);
    EXPECT_EQ(waited["kind"], "compile") << waited;
    EXPECT_THAT(waited["text"].get<std::string>(), HasSubstr("it waits for a file that does not end, such as a named pipe"));
}

// In place of the arena. The costs are the same.
TEST(LearnCommand, SharedMemoryIsDeclaredAsAnywhere) {
    const Workplace here;
    const std::string solution = answer_of("block-sum/solution"),
                      arena = "    SharedArena arena;\n    float* tile = arena.take<float>(128);\n";
    ASSERT_THAT(solution, HasSubstr(arena));
    here.write("block-sum.cu", solution);
    const json wanted = checked(here, "block-sum", here.path("block-sum.cu"));
    const auto with = [&](const std::string& declaration, const std::string& from = "", const std::string& to = "") {
        std::string answer = solution;
        answer.replace(answer.find(arena), arena.size(), declaration);
        if (!from.empty()) answer.replace(answer.find(from), from.size(), to);
        here.write("block-sum.cu", answer);
        return checked(here, "block-sum", here.path("block-sum.cu"));
    };
    for (const char* declaration : {"\n    __shared__ float tile[128];\n", "\n    extern __shared__ float tile[];\n"}) {
        const json verdict = with(declaration);
        EXPECT_EQ(verdict["kind"], "pass") << verdict;
        EXPECT_EQ(verdict["cost"], wanted["cost"]);
    }
    const json race = with("\n    __shared__ float tile[128];\n", "    __syncthreads();  // the tile is full\n");
    EXPECT_EQ(race["kind"], "race") << race;
    EXPECT_EQ(race["line"], 7) << race;
    EXPECT_EQ(race["other_line"], 9) << race;
    EXPECT_THAT(race["text"].get<std::string>(),
                HasSubstr("race: writes `tile`[91] at block-sum.cu:7, which thread (27, 0, 0) read"));
    const json small = with("\n    __shared__ float tile[96];\n");
    EXPECT_EQ(small["kind"], "bounds") << small;
    EXPECT_EQ(small["line"], 7) << small;
}

// Reading constants moves no sectors; an update of another variable moves one.
TEST(LearnCommand, VariablesOfTheGpuAreItsMemory) {
    const Workplace here;
    const auto with = [&](const std::string& statement) {
        here.write("guard.cu",
                   "#include \"exercise.h\"\n__constant__ float factors[2] = {2, 3};\n__device__ unsigned calls;\n"
                   "template <class T>\n__device__ __forceinline__ T power(T x) {\n    return x * x;\n}\n"
                   "__global__ void __launch_bounds__(128) square(const float* __restrict__ x, float* y, int n) {\n"
                   "    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                   "    if (i < n) y[i] = factors[1] * power(x[i]) / (factors[0] + 1);\n    " +
                       statement + "\n}\n");
        return checked(here, "guard", here.path("guard.cu"));
    };
    EXPECT_EQ(with("")["kind"], "pass");
    EXPECT_THAT(with("if (i == 0) atomicAdd(&calls, 1u);")["text"].get<std::string>(),
                HasSubstr("it moves 251 sectors of 32 bytes where 250 would do"));
    EXPECT_EQ(with("if (i == 0) factors[1] = 4;")["line"], 11);
}

}  // namespace
}  // namespace heddle
