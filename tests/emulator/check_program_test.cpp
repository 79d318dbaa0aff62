// `heddle check` as a person runs it: exit statuses, the report, options, results for programs, files without main().
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include <nlohmann/json.hpp>

#include "tests/documents.h"
#include "tests/program.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Line 5 writes what line 6 reads, with no barrier between them.
const char* const kRacy = R"(#include <cstdio>
__global__ void reverse(int* x) {
    __shared__ int tile[64];
    const int i = threadIdx.x;
    tile[i] = x[i];
    x[i] = tile[63 - i];
}
int main() {
    int* x;
    cudaMalloc(&x, 64 * sizeof(int));
    cudaMemset(x, 0, 64 * sizeof(int));
    for (int k = 0; k < 2; ++k) reverse<<<1, 64>>>(x);
    cudaDeviceSynchronize();
    printf("the program's own words\n");
    return RETURNED;
}
)";

std::string sound() {
    std::string text = kRacy;
    text.insert(text.find("    x[i] = tile"), "    __syncthreads();\n");
    return text;
}

class Check : public testing::Test {
  protected:
    ProgramResult check(const std::string& arguments, const std::string& input = "") {
        return here.run("check " + arguments, input);
    }
    static std::string last_line(const std::string& text) { return lines_of(text).empty() ? "" : lines_of(text).back(); }

    Workplace here;
};

TEST_F(Check, ARaceIsStatus3WithBothLinesQuotedAndTheProgramsOutputOnce) {
    here.write("racy.cu", kRacy);
    for (const char* const returned : {"0", "5"}) {
        const ProgramResult result = check(std::string("racy.cu -DRETURNED=") + returned);
        EXPECT_EQ(result.status, 3) << result.err;
        EXPECT_EQ(result.out, "the program's own words\n");
        EXPECT_THAT(result.err, AllOf(HasSubstr("racy.cu:6: "), HasSubstr("racy.cu:5: "),
                                      HasSubstr("kernel reverse, block (0, 0, 0), thread ("),
                                      HasSubstr("6 |     x[i] = tile[63 - i];"), HasSubstr("5 |     tile[i] = x[i];")));
        EXPECT_THAT(last_line(result.err),
                    AllOf(StartsWith("heddle check: "), HasSubstr("violation"), HasSubstr(" in 3 orders")));
    }
}

TEST_F(Check, NoViolationIsStatus0AndCountsKernelsAndLaunches) {
    here.write("sound.cu", sound());
    const ProgramResult result = check("sound.cu -DRETURNED=0");
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, "the program's own words\n");
    EXPECT_EQ(result.err, "heddle check: no violation in 3 orders, 1 kernel, 2 launches\n");
}

TEST_F(Check, AProgramThatFailsByItselfIsStatus1) {
    here.write("sound.cu", sound());
    const ProgramResult returned = check("sound.cu -DRETURNED=5 --orders 1");
    EXPECT_EQ(returned.status, 1);
    EXPECT_THAT(returned.err, EndsWith("the program failed: it returned 5\n"));

    here.write("abort.cu", "#include <cstdlib>\nint main() { abort(); }\n");
    const ProgramResult aborted = check("abort.cu --orders 1");
    EXPECT_EQ(aborted.status, 1);
    EXPECT_THAT(aborted.err, HasSubstr("it was ended by signal 6"));

    here.write("endless.cu", "int main() { for (volatile int i = 0;; i = i + 1) {} }\n");
    const ProgramResult endless = check("endless.cu --seconds 0.5");
    EXPECT_EQ(endless.status, 1);
    EXPECT_THAT(endless.err, AllOf(HasSubstr("no violation in 1 order"), HasSubstr("in host code")));
}

// Also where the number of the closed descriptor belongs to another file.
TEST_F(Check, AProgramThatClosesItsDescriptorsIsHeard) {
    std::string text = kRacy;
    text.insert(text.find("int main"), "#include <fcntl.h>\n#include <unistd.h>\n");
    const std::size_t body = text.find('{', text.find("int main")) + 1;
    text.insert(body,
                "for (int i = 3; i < 1024; ++i) close(i); const int log = open(\"log\", O_WRONLY | O_CREAT, 0600); "
                "for (int i = 90; i < 300; ++i) dup2(log, i);");
    here.write("closes.cu", text);
    const ProgramResult result = check("closes.cu -DRETURNED=0 --orders 1");
    EXPECT_EQ(result.status, 3) << result.err;
    EXPECT_EQ(here.read("log"), "");
}

// free() holds the lock of its lists when it finds that they are damaged.
TEST_F(Check, AnAbortOfFreeEndsTheProgram) {
    here.write("damage.cu", R"(#include <cstdlib>
#include <thread>
#include <unistd.h>
__global__ void k(int* x) { x[threadIdx.x] = 1; }
int main() {
    int* x;
    cudaMalloc(&x, 128);
    std::thread([] { sleep(60); }).detach();
    k<<<1, 32>>>(x);
    void* volatile freed = malloc(70000);
    void* volatile behind = malloc(70000);
    free(freed);
    free(freed);
    free(behind);
}
)");
    const ProgramResult result = check("damage.cu --orders 1 --seconds 10");
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("it was ended by signal 6"));
}

TEST_F(Check, AHostCallInAKernelIsNamedWithItsLine) {
    here.write("nested.cu", R"(
__global__ void inner(int* x) { x[0] = 1; }
__global__ void calls(int* x, int how) {
    if (how == 0) cudaDeviceSynchronize();
    if (how == 1) inner(x);
}
)");
    const ProgramResult synchronises = check("nested.cu --kernel calls --arg 'x=i32[1]' --arg how=0 --orders 1");
    EXPECT_EQ(synchronises.status, 3);
    EXPECT_THAT(synchronises.err,
                AllOf(HasSubstr("nested.cu:4: fault: kernel calls"), HasSubstr("calls cudaDeviceSynchronize at "),
                      HasSubstr("4 |     if (how == 0) cudaDeviceSynchronize();")));
    const ProgramResult function = check("nested.cu --kernel calls --arg 'x=i32[1]' --arg how=1 --orders 1");
    EXPECT_THAT(function.err, HasSubstr("nested.cu:5: bad-launch: kernel calls"));
    here.write("fp8.cu", "#include <cuda_fp8.h>\nint main() {}\n");
    EXPECT_THAT(check("fp8.cu").err, HasSubstr("fp8.h: arithmetic in 8, 6 and 4 bits is not emulated; use cuda_fp16.h"));
}

TEST_F(Check, WhatDoesNotCompileIsStatus2WithTheLineOfTheFile) {
    here.write("wrong.cu", "__global__ void k(int* x) {\n    x[threadIdx.x] = y;\n}\nint main() { k<<<1, 1>>>(nullptr); }\n");
    const ProgramResult wrong = check("wrong.cu");
    EXPECT_EQ(wrong.status, 2);
    EXPECT_EQ(wrong.out, "");
    EXPECT_THAT(wrong.err, AllOf(HasSubstr("wrong.cu:2: error: "), HasSubstr("2 |     x[threadIdx.x] = y;"),
                                 EndsWith("heddle check: wrong.cu does not compile\n")));
    here.write("header.cu", "#include <no_such_header.h>\nint main() {}\n");
    EXPECT_THAT(check("header.cu").err, AllOf(HasSubstr("header.cu:1: "), HasSubstr("no_such_header.h")));
    here.write("unlinked.cu", "void elsewhere();\nint main() { elsewhere(); }\n");
    const ProgramResult unlinked = check("unlinked.cu");
    EXPECT_EQ(unlinked.status, 2);
    EXPECT_THAT(unlinked.err, AllOf(HasSubstr("elsewhere"), HasSubstr("unlinked.cu does not link")));
}

TEST_F(Check, WrongUsageIsStatus2) {
    here.write("sound.cu", sound());
    const auto refused = [&](const std::string& arguments, const std::string& part) {
        const ProgramResult result = check(arguments);
        EXPECT_EQ(result.status, 2) << arguments;
        EXPECT_THAT(result.err, HasSubstr(part)) << arguments;
    };
    refused("", "no file to check");
    refused("nowhere.cu", "nowhere.cu: there is no such file");
    refused("sound.cu --orders 0", "--orders");
    refused("sound.cu --chip sm_10", "--chip");
    refused("sound.cu --ordres 2", "there is no option --ordres");
    refused("sound.cu -DRETURNED=0 --kernel reverse", "has a main()");
    refused("sound.cu -DRETURNED=0 --grid 4", "has a main()");
    refused("sound.cu --memory 2X", "--memory is '2X'");
}

TEST_F(Check, TheProgramHasItsArgumentsAndEachRunTheSameInput) {
    here.write("echo.cu", R"(#include <cstdio>
int main(int count, char** words) {
    char line[100] = "";
    const bool read = fgets(line, sizeof line, stdin) != nullptr;
    FILE* log = fopen("log", "a");
    fprintf(log, "%s", line);
    fclose(log);
    printf("%d %s %s %d", count, words[1], words[2], read);
}
)");
    const ProgramResult result = check("echo.cu --orders 2 -- --orders 'a b'", "from stdin\n");
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, "3 --orders a b 1");
    EXPECT_EQ(here.read("log"), "from stdin\nfrom stdin\n");
    const std::string piped = "cat stdin | '" HEDDLE_PROGRAM "' check echo.cu --orders 3 -- a b 2>/dev/null";
    std::filesystem::remove(here.path("log"));
    EXPECT_EQ(std::system(("cd '" + here.path("") + "' && " + piped + " >/dev/null").c_str()), 0);
    EXPECT_EQ(here.read("log"), "from stdin\nfrom stdin\nfrom stdin\n");
}

TEST_F(Check, ResultsAreWrittenAsJson) {
    here.write("racy.cu", kRacy);
    const ProgramResult unwritten = check("racy.cu -DRETURNED=0 --json no/such/folder.json");
    EXPECT_EQ(unwritten.status, 3);
    EXPECT_THAT(unwritten.err, HasSubstr("no/such/folder.json cannot be written"));
    EXPECT_THAT(last_line(unwritten.err), HasSubstr("violation"));
    ASSERT_EQ(check("racy.cu -DRETURNED=0 --json results.json --seed 7").status, 3);
    const nlohmann::json results = nlohmann::json::parse(here.read("results.json"));
    EXPECT_EQ(results["status"], 3);
    EXPECT_EQ(results["orders"], 3);
    EXPECT_EQ(results["seed"], 7);
    EXPECT_EQ(results["sources"], std::vector<std::string>{"racy.cu"});
    ASSERT_FALSE(results["violations"].empty());
    const nlohmann::json &first = results["violations"][0], &place = first["place"], &other = first["other_place"];
    EXPECT_EQ(first["kernel"], "reverse");
    EXPECT_EQ(place["file"], "racy.cu");
    // Either thread may be the later one.
    EXPECT_EQ((std::set<int>{place["line"], other["line"]}), (std::set<int>{5, 6}));
    EXPECT_EQ((std::set<std::string>{place["source"], other["source"]}),
              (std::set<std::string>{"tile[i] = x[i];", "x[i] = tile[63 - i];"}));
    EXPECT_FALSE(first["text"].get<std::string>().empty());
    EXPECT_FALSE(first["orders"].empty());
    here.write("sound.cu", sound());
    const ProgramResult result = check("sound.cu -DRETURNED=5 --json - --orders 1");
    const nlohmann::json none = nlohmann::json::parse(result.out.substr(result.out.find('{')));
    EXPECT_TRUE(none["violations"].empty());
    EXPECT_EQ(none["failure"], "it returned 5");
    EXPECT_EQ(none["launches"], 2);
}

TEST_F(Check, ResultsAreWrittenAsSarif) {
    here.write("racy.cu", kRacy);
    ASSERT_EQ(check("racy.cu -DRETURNED=0 --sarif results.sarif").status, 3);
    const nlohmann::json log = nlohmann::json::parse(here.read("results.sarif"));
    EXPECT_EQ(log["version"], "2.1.0");
    ASSERT_EQ(log["runs"].size(), 1u);
    const nlohmann::json& run = log["runs"][0];
    std::vector<std::string> rules;
    for (const nlohmann::json& rule : run["tool"]["driver"]["rules"]) rules.push_back(rule["id"]);
    ASSERT_FALSE(run["results"].empty());
    for (const nlohmann::json& result : run["results"]) {
        EXPECT_THAT(rules, testing::Contains(result["ruleId"].get<std::string>()));
        EXPECT_EQ(result["level"], "error");
        EXPECT_FALSE(result["message"]["text"].get<std::string>().empty());
        const nlohmann::json& place = result["locations"][0]["physicalLocation"];
        EXPECT_EQ(place["artifactLocation"]["uri"], "racy.cu");
        const nlohmann::json& other = result["relatedLocations"][0]["physicalLocation"];
        EXPECT_EQ((std::set<int>{place["region"]["startLine"], other["region"]["startLine"]}), (std::set<int>{5, 6}));
    }
}

TEST_F(Check, AFileWithoutMainIsLaunchedByAHarness) {
    here.write("saxpy.cu", R"(
__global__ void saxpy(int n, float a, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
template <class T>
__global__ void fill(T* x, T value) {
    x[threadIdx.x] = value;
    if (x[threadIdx.x] != value) asm("trap;");
}
)");
    const std::string saxpy = "saxpy.cu --kernel saxpy --grid 4 --block 64 --arg a=2.5 --arg x=f32[200]";
    EXPECT_EQ(check(saxpy + " --arg n=200 --arg y=f32[200]:zeros").status, 0);
    const ProgramResult outside = check(saxpy + " --arg n=201 --arg y=f32[200]");
    EXPECT_EQ(outside.status, 3);
    EXPECT_THAT(outside.err, HasSubstr("saxpy.cu:4: out-of-bounds: kernel saxpy"));
    const ProgramResult unwritten = check(saxpy + " --arg n=200 --arg y=f32[200]:none");
    EXPECT_EQ(unwritten.status, 3);
    EXPECT_THAT(unwritten.err, HasSubstr("saxpy.cu:4: uninitialized: kernel saxpy"));
    EXPECT_EQ(check("saxpy.cu --kernel 'fill<short>' --block 8x1x1 --arg 'x=i16[8]:iota' --arg value=3").status, 0);

    const ProgramResult none = check("saxpy.cu");
    EXPECT_EQ(none.status, 2);
    EXPECT_THAT(none.err, AllOf(HasSubstr("saxpy.cu:2: saxpy(int n, float a, const float* x, float* y)"),
                                HasSubstr("heddle check saxpy.cu --kernel saxpy --grid 2 --block 64 --arg n=1024 --arg a=1024 "
                                          "--arg x=f32[1024] --arg y=f32[1024]"),
                                HasSubstr("--kernel 'fill<float>'")));
    EXPECT_THAT(check(saxpy + " --arg n=200").err, HasSubstr("has a parameter float* y without a value"));
    EXPECT_THAT(check(saxpy + " --arg n=200 --arg y=f32[200] --arg z=1").err, HasSubstr("has no parameter 'z'"));
    EXPECT_THAT(check("saxpy.cu --kernel nothing").err, HasSubstr("there is no kernel 'nothing'"));
    EXPECT_THAT(check(saxpy + " --arg n=200 --arg y=f31[200]").err, HasSubstr("elements of 'f31'"));
    EXPECT_THAT(check(saxpy + " --arg n=200 --arg 'y=f32[many]'").err, HasSubstr("--arg is 'y=f32[many]'"));
    EXPECT_THAT(check("saxpy.cu --kernel 'fill<int>' --grid 0 --arg 'x=i32[8]' --arg value=1").err, HasSubstr("--grid is '0'"));
}

TEST_F(Check, AThreadThatNeedsMoreStackGetsItOnce) {
    here.write("deep.cu", R"(#include <cstdio>
__device__ int deep(int n) {
    volatile char big[2000];
    big[n] = static_cast<char>(n);
    return n == 0 ? big[0] : deep(n - 1) + big[n];
}
__global__ void k(int* x, int n) { x[0] = deep(n); }
int main() {
    int *x, host = 0;
    cudaMalloc(&x, sizeof host);
    k<<<1, 1>>>(x, DEPTH);
    cudaMemcpy(&host, x, sizeof host, cudaMemcpyDeviceToHost);
    printf("%d\n", host);
    cudaFree(x);
}
)");
    const ProgramResult once = check("deep.cu -DDEPTH=60 --leaks");
    EXPECT_EQ(once.status, 0) << once.err;
    EXPECT_THAT(once.out, EndsWith("1830\n"));
    EXPECT_THAT(once.err, AllOf(HasSubstr("trying again with 1 MB"), Not(HasSubstr("stack-overflow")),
                                EndsWith("no violation in 3 orders, 1 kernel, 1 launch\n")));  // the first try does not count
    const ProgramResult never = check("deep.cu -DDEPTH=1000");
    EXPECT_EQ(never.status, 3);
    EXPECT_THAT(never.err, HasSubstr("stack-overflow"));
}

TEST_F(Check, GpuverifysFilesSayWhatTheyExpect) {
    const auto file = [&](const std::string& head, const std::string& index) {
        here.write("kernel.cu",
                   head +
                       "\n//--blockDim=[16,2] --gridDim=2 --no-inline\n\n#include <cuda.h>\n__global__ void k(int* p) {\n    p[" +
                       index + "] = threadIdx.x;\n}\n");
        return check("--gpuverify kernel.cu");
    };
    const std::string own = "threadIdx.x + threadIdx.y * blockDim.x + blockIdx.x * blockDim.x * blockDim.y";
    EXPECT_EQ(file("//pass", own).status, 0);
    EXPECT_EQ(file("//xfail:NOT_ALL_VERIFIED", own).status, 3);
    EXPECT_EQ(file("//pass", "threadIdx.x / 2").status, 3);
    const ProgramResult expected = file("//xfail:NOT_ALL_VERIFIED", "threadIdx.x / 2");
    EXPECT_EQ(expected.status, 0) << expected.err;
    EXPECT_THAT(expected.err, EndsWith("as the file expects: xfail\n"));
    const ProgramResult left_out = file("//xfail:BUGLE_ERROR", own);
    EXPECT_EQ(left_out.status, 2);
    EXPECT_THAT(left_out.err, HasSubstr("left out"));
    for (const char* const option : {"--orders 5", "-O2"}) {
        const ProgramResult refused = check(std::string("--gpuverify kernel.cu ") + option);
        EXPECT_EQ(refused.status, 2) << option;
        EXPECT_THAT(refused.err, HasSubstr("leave out -")) << option;
    }
}

// What GPUVerify knows and a plain run does not: each of these is a mistake, and its twin is none.
TEST_F(Check, GpuverifysMistakesAreFoundByRuns) {
    const auto file = [&](const std::string& body, const std::string& before = "", const std::string& parameters = "int* p") {
        here.write("kernel.cu", "//xfail:NOT_ALL_VERIFIED\n//--blockDim=64 --gridDim=2\n" + before + "\n__global__ void k(" +
                                    parameters + ") {\n" + body + "\n}\n");
        return check("--gpuverify kernel.cu");
    };
    const auto wrong = [&](const ProgramResult& result) {
        EXPECT_EQ(result.status, 0) << result.err;
        EXPECT_THAT(result.err, EndsWith(", as the file expects: xfail\n"));
    };
    const auto right = [&](const ProgramResult& result) {
        EXPECT_EQ(result.status, 3) << result.err;
        EXPECT_THAT(last_line(result.err), HasSubstr("no violation in "));
    };
    // A value that comes of memory or of nowhere may differ between threads.
    right(file("p[0] = 7;"));
    wrong(file("p[0] = p[9];"));
    wrong(file("int q; p[0] = q;"));
    wrong(file("__shared__ int s[4]; p[0] = s[1];"));
    // Numbers of the file.
    const std::string by_x =
        "if (threadIdx.x == 15) p[threadIdx.x + x + blockIdx.x * 999] = 1;\n"
        "if (threadIdx.x == 41) p[threadIdx.x + blockIdx.x * 999] = 2;";
    const ProgramResult drawn = file(by_x, "", "int* p, int x");
    wrong(drawn);
    EXPECT_THAT(drawn.err, HasSubstr("found with draw 1, x = 26"));
    right(file("__requires(x == 5);\n" + by_x, "", "int* p, int x"));
    // A call whose result nobody uses.
    wrong(file("int (*f)(int) = x == 3 ? twice : nullptr; f(1);", "__device__ int twice(int a) { return 2 * a; }", "int x"));
    // Annotations.
    wrong(file("if (blockIdx.x == 1) p[0] = threadIdx.x;"));
    right(file("if (blockIdx.x == 1) p[0] = threadIdx.x;", "__axiom(blockIdx.x == 0);"));
    right(file("__assert(__implies(threadIdx.x + 64 * blockIdx.x == 4, __other_int(threadIdx.x + 64 * blockIdx.x) != 4));"));
    wrong(file("__assert(__distinct_int(threadIdx.x / 2));"));
    wrong(file("__assert(__uniform_int(threadIdx.x / 32));"));
    right(file("__assert(__no_read(p)); p[threadIdx.x + 64 * blockIdx.x] = 1; __assert(__no_read(p));"));
    wrong(file("int x = p[threadIdx.x]; __assert(__no_read(p));"));
    right(file("p[threadIdx.x] = 1; __syncthreads(); __assert(__no_write(p));"));
    right(file("int i = threadIdx.x; p[i] = 1; __assert(__write_implies(p, __write_offset_bytes(p) / sizeof(int) == i));"));
    wrong(file("int i = threadIdx.x; p[i + 1] = 1; __assert(__write_implies(p, __write_offset_bytes(p) / sizeof(int) == i));"));
    const std::string even = "__device__ void even(int x) { __requires(x % 2 == 0); }";
    right(file("even(2 * threadIdx.x);", even));
    wrong(file("even(threadIdx.x);", even));
}

// No verdict on a kernel that did not run.
TEST_F(Check, GpuverifysFilesPassOnlyIfTheyRan) {
    const auto last = [&](const std::string& kernel) {
        here.write("kernel.cu", "//pass\n//--blockDim=64 --gridDim=1\n" + kernel);
        const ProgramResult result = check("--gpuverify kernel.cu");
        return std::to_string(result.status) + " " + last_line(result.err);
    };
    EXPECT_THAT(last("__global__ void __launch_bounds__(32) k(int* p) {}\n"),
                StartsWith("1 heddle check: no draw ran to its end: bad-launch: "));
    EXPECT_THAT(last("__global__ void k(int* p) { p[threadIdx.x] = 1 / *p; __trap(); }\n"),
                StartsWith("1 heddle check: no draw ran to its end: fault: "));
    EXPECT_THAT(
        last("__global__ void k(int* p, int n) { if (n > 60) __trap(); }\n"),
        AllOf(StartsWith("0 heddle check: no violation in "), HasSubstr(" not run to the end, as the file expects: pass")));
    EXPECT_THAT(last("__global__ void k(int n) { __requires(n == 1 && n == 2); }\n"), HasSubstr("no draw meets its __requires"));
}

// The README's first screen: the file, the command, and what it prints.
TEST_F(Check, TheReadmeShowsWhatIsPrinted) {
    const std::vector<std::string> code = fenced_blocks("README.md", "cpp"), shown = fenced_blocks("README.md", "console");
    ASSERT_FALSE(code.empty());
    ASSERT_FALSE(shown.empty());
    const std::string command = shown[0].substr(0, shown[0].find('\n'));
    ASSERT_THAT(command, StartsWith("$ heddle check "));
    here.write(command.substr(command.rfind(' ') + 1), code[0]);
    const ProgramResult result = check(command.substr(std::string("$ heddle check ").size()));
    EXPECT_EQ(result.status, 3);
    EXPECT_EQ(command + "\n" + result.out + result.err, shown[0]);
}

}  // namespace
}  // namespace heddle
