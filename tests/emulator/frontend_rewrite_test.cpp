// The rewriter, text to text: preprocessed CUDA C++ in, C++ out.
#include "kernels/emulator/frontend/rewrite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::emulator::frontend {
namespace {

// The rewritten text with @ for the namespace that it calls, and single spaces.
std::string rewritten(std::string_view text) {
    std::string result = rewrite(text).text, shown;
    constexpr std::string_view cuda = "::heddle::emulator::cuda::";
    for (std::size_t at = result.find(cuda); at != std::string::npos; at = result.find(cuda, at))
        result.replace(at, cuda.size(), "@");
    for (const char c : result)
        if (c != ' ' || (!shown.empty() && shown.back() != ' ' && shown.back() != '\n')) shown += c;
    while (!shown.empty() && shown.back() == ' ') shown.pop_back();
    return shown;
}

// The message of the error for a text.
std::string refusal(std::string_view text) {
    try {
        rewrite(text);
    } catch (const RewriteError& error) {
        return error.what();
    }
    return "none";
}

// What stands between `launch("k", ` and the body.
std::string registration(std::string_view kernel) {
    const std::string text = rewritten(kernel);
    const std::size_t begin = text.find("\", ") + 3, end = text.find(", [=]");
    return end == std::string::npos ? text : text.substr(begin, end - begin);
}

TEST(FrontendRewrite, LaunchesConfigureBeforeTheCall) {
    EXPECT_EQ(rewritten("k<<<g, b, s, stream>>>();"), "(@configure(g, b, s, stream), k());");
    EXPECT_EQ(rewritten("k<A<B<int>>><<<1,1>>>();"), "(@configure(1,1), k<A<B<int>>>());");
    EXPECT_EQ(rewritten("k<(1 << 3), 1 << 2><<<1,1>>>();"), "(@configure(1,1), k<(1 << 3), 1 << 2>());");
    EXPECT_EQ(rewritten("::ns::S<T>::k<3><<<1,1>>>();"), "(@configure(1,1), ::ns::S<T>::k<3>());");
    EXPECT_EQ(rewritten("if (x) (*f)<<<1,1>>>(); else (*g)<<<1,1>>>();"),
              "if (x) (@configure(1,1), (*f)()); else (@configure(1,1), (*g)());");
    EXPECT_EQ(rewritten("pick<T>(3)<<<1,1>>>();"), "(@configure(1,1), pick<T>(3)());");
    EXPECT_EQ(rewritten("o.k<<<1,1>>>(); p->s.k<<<1,1>>>();"), "(@configure(1,1), o.k()); (@configure(1,1), p->s.k());");
    EXPECT_EQ(rewritten("k << <1, 1 >> >(x);"), "(@configure(1, 1), k (x));");  // as formatters write it
    EXPECT_EQ(rewritten("outer<<<1,1>>>(inner<<<2,2>>>(x));"), "(@configure(1,1), outer((@configure(2,2), inner(x))));");
}

TEST(FrontendRewrite, TheConfigurationEndsWhereItsBracketsDo) {
    EXPECT_EQ(rewritten("k<<<f<A<B<int>>>(1), n >> 5>>>();"), "(@configure(f<A<B<int>>>(1), n >> 5), k());");
    EXPECT_EQ(rewritten("k<<<dim3(n>>>m, 1), 2>>>();"), "(@configure(dim3(n>>>m, 1), 2), k());");
    EXPECT_EQ(rewritten("k<<<1, sizeof(A), S<3>::v>>>();"), "(@configure(1, sizeof(A), S<3>::v), k());");
    EXPECT_EQ(rewritten("k<<<1, V<3>>>>();"), "(@configure(1, V<3>), k());");
}

TEST(FrontendRewrite, ShiftsAndOperatorsAreNoLaunches) {
    for (const char* text :
         {"a << b >> c;", "std::cout << a << (b << 3);", "S operator<<(S, int);", "x = a < b;",
          "friend S& operator<< <int>(S&, T);", "friend S& operator<<<int>(S&, T);", "A<B<C<int>>> x;", "a <<= 3; b >>= 2;",
          "const char* s = \"k<<<1,1>>>()\"; char c = '<';", "auto s = R\"x(k<<<1,1>>>(\")x\";", "int i = 1'000'000;"})
        EXPECT_EQ(rewritten(text), text);
}

TEST(FrontendRewrite, LinesStayWhereTheyWere) {
    EXPECT_EQ(rewritten("k<float>\n  <<<g,\n  b>>>(x,\n  y);\nf();"), "(@configure(g, b), k<float>\n\n(x,\ny));\nf();");
    EXPECT_EQ(rewritten("k<<<g,\n# 7 \"a.cu\"\n b>>>(x);"), "(@configure(g, b), k\n# 7 \"a.cu\"\n(x));");
    const std::string_view text =
        "# 1 \"a.cu\"\n__device__\nint v\n= 3\n;\n__global__\nvoid\nk(int* x)\n{\n__shared__\nint a\n[3];\n}\n";
    const std::string result = rewrite(text).text;
    EXPECT_EQ(std::count(result.begin(), result.end(), '\n'), std::count(text.begin(), text.end(), '\n'));
    EXPECT_EQ(rewritten("#pragma unroll 4\nfor (;;) {}\n#pragma GCC ivdep\n"), "\nfor (;;) {}\n#pragma GCC ivdep\n");
}

TEST(FrontendRewrite, AKernelsBodyIsLaunched) {
    EXPECT_EQ(
        rewritten("__global__ void k(float* x, int n) { x[0] = n; }"),
        "void k(float* x, int n) { return @launch(\"k\", @Kernel<static_cast<void (*)(float* x, int n)>(&k)>::registration(), "
        "[=]() mutable { x[0] = n; }); }");
    EXPECT_EQ(rewritten("typedef void (*kernel_t)(int); extern \"C\" __global__ void k(int);"),
              "typedef void (*kernel_t)(int); extern \"C\" void k(int);");
    EXPECT_EQ(rewritten("void f() { g(__func__); }"), "void f() { g(__func__); }");
    EXPECT_NE(rewritten("__global__ void k() {__shared__ int a;}")
                  .find("auto& a = @shared<decltype(heddle_shared_1::a), @Tag<heddle_shared_1, 0>>(\"a\");}); }"),
              std::string::npos);
}

TEST(FrontendRewrite, KernelsAreKnownByTheirAddress) {
    EXPECT_EQ(registration("template <class T, int N = 3, class... Ts> __global__ void k(T* x, Ts... rest) {}"),
              "@Kernel<static_cast<void (*)(T* x, Ts... rest)>(&k<T, N, Ts...>)>::registration()");
    EXPECT_EQ(registration(
                  "template <template <class, int> class C, typename T> __global__ void k(C<T, 3> c = C<T, 3>(), int n = 4) {}"),
              "@Kernel<static_cast<void (*)(C<T, 3> c, int n)>(&k<C, T>)>::registration()");
    EXPECT_EQ(registration("__global__ void k(int x) __launch_bounds__(N<3>::v) {}"),
              "@Kernel<static_cast<void (*)(int x)>(&k), (N<3>::v)>::registration()");
    EXPECT_EQ(registration("__global__ __cluster_dims__(2, 1) void k() {}"),
              "@Kernel<static_cast<void (*)()>(&k), 0, 0, (2), (1)>::registration()");
    EXPECT_EQ(registration("[[nodiscard]] static __global__ __attribute__((noinline)) void k [[gnu::cold]] () {}"),
              "@Kernel<static_cast<void (*)()>(&k)>::registration()");
    EXPECT_EQ(registration("void __global__ k(const __grid_constant__ P p) {}"),
              "@Kernel<static_cast<void (*)(const P p)>(&k)>::registration()");
    EXPECT_EQ(registration("template <class T> __global__ void k(T x) requires requires (T t) { t.y; } {}"),
              "@Kernel<static_cast<void (*)(T x)>(&k<T>)>::registration()");
    EXPECT_EQ(registration("template <class T> __global__ void S<T>::k(T x) {}"),
              "@Kernel<static_cast<void (*)(T x)>(&k)>::registration()");
    EXPECT_EQ(registration("template <class T> template <int N> __global__ void ns::S<T>::k(T x) {}"),
              "@Kernel<static_cast<void (*)(T x)>(&k<N>)>::registration()");
    EXPECT_EQ(registration("__global__ void k(auto x) {}"), "nullptr");
    EXPECT_EQ(registration("struct S { friend __global__ void k(S s) {} };"), "nullptr");
    EXPECT_EQ(registration("__global__ void k(float (*f)(int, int), std::pair<int, int> p = {1, 2}) {}"),
              "@Kernel<static_cast<void (*)(float (*f)(int, int), std::pair<int, int> p)>(&k)>::registration()");
}

TEST(FrontendRewrite, TemplateParametersWithoutNamesGetOne) {
    const std::string text =
        rewritten("template <int, typename = void, class T, std::enable_if_t<(sizeof(T) > 2), int> = 0> __global__ void k(T) {}");
    EXPECT_NE(text.find("template <int heddle_parameter_1 , typename heddle_parameter_2 = void, class T, "
                        "std::enable_if_t<(sizeof(T) > 2), int> heddle_parameter_3 = 0>"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("&k<heddle_parameter_1, heddle_parameter_2, T, heddle_parameter_3>"), std::string::npos) << text;
}

TEST(FrontendRewrite, SharedMemoryIsAReferenceByTag) {
    EXPECT_EQ(rewritten("void f() { __shared__ float a[32][33], *b; }"),
              "void f() { struct heddle_shared_1 { float a[32][33], *b; }; "
              "auto& a = @shared<decltype(heddle_shared_1::a), @Tag<heddle_shared_1, 0>>(\"a\"); "
              "auto& b = @shared<decltype(heddle_shared_1::b), @Tag<heddle_shared_1, 1>>(\"b\"); }");
    const auto names = [](std::string_view declaration) { return rewritten("{ " + std::string(declaration) + " }"); };
    const std::string end = "auto& a = @shared<decltype(heddle_shared_1::a), @Tag<heddle_shared_1, 0>>(\"a\"); }";
    EXPECT_EQ(names("volatile __shared__ int a;"), "{ struct heddle_shared_1 { volatile int a; }; " + end);
    EXPECT_EQ(names("float __shared__ a[3];"), "{ struct heddle_shared_1 { float a[3]; }; " + end);
    EXPECT_EQ(names("__attribute__((aligned(16))) __shared__ float a[N];"),
              "{ struct heddle_shared_1 { __attribute__((aligned(16))) float a[N]; }; " + end);
    EXPECT_EQ(names("__shared__ __attribute__((aligned(16))) float a[N];"),
              "{ struct heddle_shared_1 { __attribute__((aligned(16))) float a[N]; }; " + end);
    EXPECT_EQ(names("__shared__ float (*a)[3];"), "{ struct heddle_shared_1 { float (*a)[3]; }; " + end);
    EXPECT_EQ(names("case 1: __shared__ int a;"), "{ case 1: struct heddle_shared_1 { int a; }; " + end);
    EXPECT_EQ(rewritten("__device__ void f(__shared__ float* p) {}"), "void f( float* p) {}");
}

TEST(FrontendRewrite, DynamicSharedMemoryIsAReferenceToAnArrayWithoutABound) {
    EXPECT_EQ(rewritten("{ __shared__ extern __attribute__((aligned(16))) unsigned char s[]; }"),
              "{ typedef __attribute__((aligned(16))) unsigned char heddle_dynamic_1[]; auto& s = "
              "@dynamic_shared<heddle_dynamic_1>(\"s\"); }");
    EXPECT_EQ(rewritten("{ extern __shared__ alignas(1024) T s[][32]; }"),
              "{ typedef T heddle_dynamic_1[][32]; auto& s = @dynamic_shared<heddle_dynamic_1>(\"s\"); }");
}

TEST(FrontendRewrite, SharedMemoryOutsideOfFunctionsIsDeclaredWhereItIsUsed) {
    const std::string text = rewritten(
        "extern __shared__ int s[]; __shared__ float t[3];\n"
        "__device__ int f() { return s[0]; }\n"
        "__device__ int g(int* s) { return s[0] + o.t[1]; }\n"
        "__global__ void k() { t[0] = 1; { int s = 3; } }");
    EXPECT_NE(text.find("int f() { auto& s = @dynamic_shared<heddle_dynamic_1>(\"s\"); return s[0]; }"), std::string::npos)
        << text;
    EXPECT_NE(text.find("int g(int* s) { return s[0] + o.t[1]; }"), std::string::npos) << text;
    EXPECT_NE(
        text.find("[=]() mutable { auto& t = @shared<decltype(heddle_shared_2::t), @Tag<heddle_shared_2, 0>>(\"t\"); t[0] = 1;"),
        std::string::npos)
        << text;
}

TEST(FrontendRewrite, VariablesOfTheGpuAreRegistered) {
    EXPECT_EQ(
        rewritten("static __device__ __managed__ std::pair<int, int> a[2][3], b{1, 2};"),
        "static std::pair<int, int> a[2][3], b{1, 2}; static @Symbol heddle_symbol_1{a, sizeof(a), \"a\", @Symbol::managed}; "
        "static @Symbol heddle_symbol_2{b, sizeof(b), \"b\", @Symbol::managed};");
    EXPECT_EQ(rewritten("__device__ int ns::S<int>::v = 3;"),  // may be private
              "int ns::S<int>::v = 3; template <auto* V> struct heddle_symbol_1 { static inline @Symbol made{*V, sizeof(*V), "
              "\"ns::S<int>::v\", @Symbol::device}; }; template struct heddle_symbol_1<&ns::S<int>::v>;");
    EXPECT_EQ(
        rewritten("template <class T> __device__ T v;"),
        "template <class T> T v = (static_cast<void>(@Symbol{v<T>, sizeof(v<T>), \"v\", @Symbol::device}), decltype(v<T>){});");
    EXPECT_EQ(rewritten("__device__ void f() { static int n = 1; static const int m = 2; }"),
              "void f() { static int n = 1; struct heddle_name_1 { static constexpr const char* text() { return \"n\"; } }; "
              "static_cast<void>(&@StaticLocal<&n, heddle_name_1>::symbol); static const int m = 2; }");
    EXPECT_EQ(rewritten("struct S { static inline __device__ int v = 3; static __device__ int w; };"),
              "struct S { static inline int v = 3; static inline @Symbol heddle_symbol_1{v, sizeof(v), \"v\", @Symbol::device}; "
              "static int w; };");
    for (const char* text :
         {"extern __device__ int v;", "__device__ constexpr int v = 3;", "__device__ int f(int);",
          "__device__ int f() { return 3; }",
          "struct S { int x; __device__ S() : x{1} {} __device__ operator int() const { return x; } __device__ ~S() {} };",
          "using F = int (__device__ *)(int);"})
        EXPECT_EQ(rewritten(text).find("Symbol"), std::string::npos) << text;
    EXPECT_NE(rewritten("struct P { int x; }; __device__ P p;").find("Symbol"), std::string::npos);
    RewriteOptions several;
    several.several_units = true;
    EXPECT_EQ(rewrite("__constant__ int c;", several).text.find("__attribute__((weak)) "), 0u);
    EXPECT_EQ(rewrite("namespace { __constant__ int c; }", several).text.find("weak"), std::string::npos);
    EXPECT_EQ(rewrite("__constant__ const int c = 3;", several).text.find("weak"), std::string::npos);
}

TEST(FrontendRewrite, OtherKeywordsGo) {
    EXPECT_EQ(rewritten("static __inline__ __device__ __forceinline__ int f();"), "static __inline__ int f();");
    EXPECT_EQ(rewritten("__device__ __forceinline__ static inline int f();"), "static inline int f();");
    EXPECT_EQ(rewritten("__device__ __noinline__ int f();"), "int f();");
    EXPECT_EQ(rewritten("run([=] __device__ (int i) { return i; }, [] __host__ __device__ __forceinline__ () {});"),
              "run([=] (int i) { return i; }, [] () {});");
}

TEST(FrontendRewrite, InlinePtxIsTranslatedInDeviceCodeOnly) {
    const std::string_view mov = "asm volatile(\"mov.u32 %0, %%laneid;\" : \"=r\"(r));";
    const std::string in_host = "void f() { unsigned r; " + std::string(mov) + " }";
    EXPECT_EQ(rewritten(in_host), in_host);
    EXPECT_EQ(rewritten("__device__ " + in_host).find("asm"), std::string::npos);
    EXPECT_EQ(rewritten("__global__ " + in_host).find("asm"), std::string::npos);
    EXPECT_EQ(refusal("# 7 \"a.cu\"\n__global__ void k(int r) {\nasm(\n\"mov.u32 %0, 3;\\n\"\n\"frob.x32 %0;\"\n: \"=r\"(r)); }"),
              "a.cu:10: inline PTX: `frob.x32` is not emulated");
}

TEST(FrontendRewrite, KernelsAreListed) {
    const Rewritten result = rewrite(
        "# 1 \"a.h\" 1\nint main();\n# 3 \"a.cu\" 2\n"
        "namespace ns { template <class T> __global__ void k(const float* __restrict__ x, std::pair<int, int> p[3], T, unsigned "
        "int n = 3) {} }\n"
        "struct S { static __global__ void m(void) {} };\n__global__ void declared(int);\n"
        "template <> __global__ void ns::k<int>(const float* x) {}\n");
    ASSERT_EQ(result.kernels.size(), 3u);
    EXPECT_FALSE(result.has_main);
    EXPECT_EQ(result.kernels[0].name, "ns::k");
    EXPECT_EQ(result.kernels[0].file, "a.cu");
    EXPECT_EQ(result.kernels[0].line, 3);
    EXPECT_TRUE(result.kernels[0].is_template);
    const std::vector<KernelParameter> expected = {
        {"const float*", "x"}, {"std::pair<int,int>[3]", "p"}, {"T", ""}, {"unsigned int", "n"}};
    EXPECT_EQ(result.kernels[0].parameters, expected);
    EXPECT_EQ(result.kernels[1].name, "S::m");
    EXPECT_EQ(result.kernels[1].line, 4);
    EXPECT_TRUE(result.kernels[1].parameters.empty());
    EXPECT_EQ(result.kernels[2].name, "ns::k<int>");
    EXPECT_FALSE(result.kernels[2].is_template);
    EXPECT_TRUE(rewrite("int main(int argc, char** argv) try { } catch (...) {}").has_main);
    EXPECT_TRUE(rewrite("extern \"C\" { int main() { return 0; } }").has_main);
    EXPECT_FALSE(rewrite("namespace a { int main() { return 0; } } struct S { int main() { return 0; } };").has_main);
}

TEST(FrontendRewrite, ErrorsNameFileAndLine) {
    EXPECT_EQ(refusal("# 7 \"a.cu\"\nf();\n<<<1, 1>>>(x);"),
              "a.cu:8: a launch needs a kernel's name, or an expression in parentheses, before <<<");
    EXPECT_EQ(refusal("# 7 \"a.cu\"\nk<<<1, 1;"), "a.cu:7: this <<< has no >>> with arguments in parentheses after it");
    EXPECT_EQ(refusal("# 7 \"a.cu\"\nvoid f() {\n__shared__ }"), "a.cu:8: this declaration of shared memory has no end");
}

// What is watched of a program: the text of each function that gets a mark begins with #.
std::string marked(std::string_view text) {
    std::string result = rewrite(text, {.host_is_unwatched = true}).text;
    constexpr std::string_view mark = "[[gnu::no_sanitize_thread, gnu::no_sanitize(\"alignment\")]] ";
    for (std::size_t at = result.find(mark); at != std::string::npos; at = result.find(mark))
        result.replace(at, mark.size(), "#");
    return result;
}

TEST(FrontendRewrite, HostCodeIsUnwatched) {
    EXPECT_EQ(marked("void f() {} int g();"), "#void f() {} int g();");
    EXPECT_EQ(marked("extern \"C\" int f() {} static inline int g(int x) {}"),
              "extern \"C\" #int f() {} #static inline int g(int x) {}");
    EXPECT_EQ(marked("template <class T> template <int N> void S<T>::f() {}"),
              "template <class T> template <int N> #void S<T>::f() {}");
    EXPECT_EQ(marked("struct S { explicit S(int x) : x(x) {} ~S() {} int x; };"),
              "struct S { #explicit S(int x) : x(x) {} #~S() {} int x; };");
    EXPECT_EQ(marked("__extension__ extern int f() {}"), "__extension__ #extern int f() {}");
    EXPECT_EQ(marked("int main(int argc, char** argv) {}"), "#int main(int argc, char** argv) {}");
    // Code that a GPU may run, and what it calls, although nvcc would want it marked.
    EXPECT_EQ(marked("__device__ void f() {} __host__ __device__ void g() {}"), " void f() {}   void g() {}");
    EXPECT_EQ(marked("constexpr int f(int x) { return x; }"), "constexpr int f(int x) { return x; }");
    EXPECT_EQ(marked("__device__ int f(int x); int f(int x) { return x; }"), " int f(int x); int f(int x) { return x; }");
    EXPECT_EQ(marked("struct S { __device__ int f(); int g(); }; int S::f() {} int S::g() {}"),
              "struct S {  int f(); int g(); }; int S::f() {} #int S::g() {}");
    EXPECT_EQ(marked("int g() {} int h() {} struct F { int operator()(int) { return g(); } };"),
              "int g() {} #int h() {} struct F { int operator()(int) { return g(); } };");
    // Of the standard library, headers that kernels use, and containers, which no GPU has.
    const auto of_library = [](const std::string& file) {
        const std::string line = "# 1 \"/usr/include/c++/12/" + file + "\"\n";
        return marked(line + "int f() {} struct S { constexpr int g() {} void operator=(int) {} };").substr(line.size());
    };
    EXPECT_EQ(of_library("bits/stl_pair.h"), "int f() {} struct S { constexpr int g() {} void operator=(int) {} };");
    EXPECT_EQ(of_library("bits/stl_vector.h"), "#int f() {} struct S { #constexpr int g() {} #void operator=(int) {} };");
    EXPECT_EQ(of_library("map"), "#int f() {} struct S { constexpr int g() {} #void operator=(int) {} };");
    EXPECT_EQ(
        marked(
            "int h(int* x) { return *x; } int g(int* x) { return h(x); } int f(int* x) { return g(x); } __device__ int d(int* x) "
            "{ return g(x); }"),
        "int h(int* x) { return *x; } int g(int* x) { return h(x); } #int f(int* x) { return g(x); }  int d(int* x) { return "
        "g(x); }");
    EXPECT_EQ(marked("int g(int* x) { return *x; } void f() { run([] __device__ (int* x) { return g(x); }); }"),
              "int g(int* x) { return *x; } #void f() { run([]  (int* x) { return g(x); }); }");
    // A functor's operator has no name that device code would contain.
    EXPECT_EQ(marked("struct S { int operator()(int* x) { return *x; } };"),
              "struct S { int operator()(int* x) { return *x; } };");
    // Headers of the system; not those of the emulator.
    EXPECT_EQ(marked("# 1 \"/usr/include/v.h\" 1 3\nstruct V { int operator[](int i) { return i; } };"),
              "# 1 \"/usr/include/v.h\" 1 3\nstruct V { #int operator[](int i) { return i; } };");
    EXPECT_EQ(marked("# 1 \"/usr/include/heddle/kernels/emulator/cuda/math.h\" 1\nint f(int* x) { return *x; }"),
              "# 1 \"/usr/include/heddle/kernels/emulator/cuda/math.h\" 1\nint f(int* x) { return *x; }");
}

// Whatever the bytes are: no crash, no hang.
TEST(FrontendRewrite, AnyTextIsRewrittenOrRefused) {
    std::vector<std::string> pieces = {"__global__ ", "extern ",          "requires ", "operator",           "/*", "//", "\n",
                                       "# 3 \"f\"\n", "#pragma unroll\n", "\xff",      std::string("\0x", 2)};
    std::istringstream words(
        "__shared__ __device__ __constant__ template < <<< >>> > ( ) [ ] { } ; , :: = k T int void \" ' R\"( class namespace "
        "enum ... asm 1'0 \\ -> : __launch_bounds__ __forceinline__ struct");
    for (std::string word; words >> word;) pieces.push_back(std::isalpha(word[0]) || word[0] == '_' ? word + " " : word);
    std::mt19937 random(39);
    int refused = 0;
    for (int i = 0; i < 20000; ++i) {
        std::string text;
        const std::size_t length = random() % 60;
        for (std::size_t k = 0; k < length; ++k) text += pieces[random() % pieces.size()];
        try {
            rewrite(text);
        } catch (const RewriteError&) {
            ++refused;
        }
    }
    EXPECT_GT(refused, 1000);
    EXPECT_LT(refused, 19000);
    for (int i = 0; i < 2000; ++i) {
        std::string text(random() % 200, ' ');
        for (char& c : text) c = static_cast<char>(random() % 256);
        EXPECT_NO_THROW(try { rewrite(text); } catch (const RewriteError&){});
    }
    for (const char* piece :
         {"namespace {", "(",  "((<",     "a<",       "k<<<", "struct S {", "}",      "__shared__ ", "template <", "f(x)[", "[[",
          "__global__ ", "\"", "# 1 \"x", "operator", "a::",  "requires ",  "class ", "__device__ ", "x{1},"}) {
        std::string text;
        while (text.size() < 200000) text += piece;
        const auto start = std::chrono::steady_clock::now();
        try {
            rewrite(text);
        } catch (const RewriteError&) {
        }
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5)) << piece;
    }
}

}  // namespace
}  // namespace heddle::emulator::frontend
