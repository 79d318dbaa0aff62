// Inline PTX, text to text, and the table of the libraries' headers.
#include "kernels/emulator/frontend/ptx.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/emulator/frontend/headers.h"

namespace heddle::emulator::frontend {
namespace {

// The statements between the operands' registers and the results, with @ for the namespace.
std::string body(std::string_view statement) {
    const PtxText made = translate_asm(statement, 7);
    EXPECT_EQ(made.error, "");
    std::string text = made.text;
    for (std::size_t at = text.find("heddle_ptx::"); at != std::string::npos; at = text.find("heddle_ptx::", at))
        text.replace(at, 12, "@");
    const std::size_t start = text.find("heddle_none = 0; ") + 17, end = text.rfind("} while (false)");
    text = text.substr(start, end - start);
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}
std::string refusal(std::string_view statement) { return translate_asm(statement, 7).error; }

TEST(FrontendPtx, GivesOperandsRegisters) {
    EXPECT_EQ(body(R"(asm("add.u32 %0, %1, -3;" : "=r"(x) : "r"(y)))"),
              "auto&& heddle_o0 = (x); @bits heddle_0 = 0; @bits heddle_1 = @in<'r'>((y)); heddle_0 = @add<@u32, 0>(heddle_1, "
              "0xfffffffffffffffdull); "
              "@out(heddle_o0, heddle_0);");
    EXPECT_EQ(body(R"(asm volatile("mov.u32 %0, %%laneid;" : "+r"(v[f(a, b)])))"),
              "auto&& heddle_o0 = (v[f(a, b)]); @bits heddle_0 = @in<'r'>(heddle_o0); heddle_0 = @low<@u32>(@lane()); "
              "@out(heddle_o0, heddle_0);");
    EXPECT_EQ(body(R"(asm volatile("bar.sync 0;" ::: "memory"))"), "@barrier(0x0ull);");
}

TEST(FrontendPtx, KeepsRegistersPredicatesAndBranches) {
    const std::string text = body(
        "asm(\"{.reg .pred p<2>; .reg .b32 %%r; setp.ne.s32 p1, %0, 0; @!p1 bra DONE; mov.b32 %%r, 1; // why\\n add.s32 %0, %0, "
        "%%r; DONE: }\" "
        ": \"+r\"(x))");
    EXPECT_NE(text.find("heddle_r1 = @compare<@s32, 0>(@Compare::ne, heddle_0, 0x0ull);"), std::string::npos) << text;
    EXPECT_NE(text.find("if (!@on(heddle_r1)) { goto heddle_7_DONE; }"), std::string::npos) << text;
    EXPECT_NE(text.find("heddle_0 = @add<@s32, 0>(heddle_0, heddle_r2); heddle_7_DONE:;"), std::string::npos) << text;
    EXPECT_EQ(text.find("why"), std::string::npos);
}

TEST(FrontendPtx, KeepsTheLinesOfTheSource) {
    const std::string_view statement =
        "asm volatile(\n  \"add.u32 %0, %0, 1;\"\n# 7 \"other.cuh\"\n  \"sub.u32 %0, %0, 1;\"\n  : \"+r\"(x)\n)";
    const std::string text = translate_asm(statement, 1).text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), std::count(statement.begin(), statement.end(), '\n'));
    EXPECT_LT(text.find('\n'), text.find("::add"));
    EXPECT_LT(text.find("# 7 \"other.cuh\"\n"), text.find("::subtract"));
    EXPECT_LT(text.find("::add"), text.find("# 7"));
    EXPECT_EQ(text[text.find("# 7") - 1], '\n');
}

TEST(FrontendPtx, ReadsVectorsAddressesAndNumbers) {
    EXPECT_NE(body(R"(asm("ld.global.nc.L1::no_allocate.v2.f32 {%0, %1}, [%2+16];" : "=f"(a), "=f"(b) : "l"(p)))")
                  .find("@load<@f32, 2>(@pointer(heddle_2 + (16)), got, @plain); heddle_0 = got[0]; heddle_1 = got[1]; }"),
              std::string::npos);
    EXPECT_NE(
        body(R"(asm("st.shared.u8 [%0], %1;" :: "r"(p), "r"(x)))").find("@store<@u8, 1>(@shared(heddle_0), given, @plain);"),
        std::string::npos);
    EXPECT_NE(body(R"(asm("ld.acquire.gpu.u32 %0, [%1];" : "=r"(x) : "l"(p)))").find("@acquires"), std::string::npos);
    EXPECT_EQ(ptx_number("0f3F800000", "f32"), "0x3f800000ull");
    EXPECT_EQ(ptx_number("1.5", "f64"), "0x3ff8000000000000ull");
    EXPECT_EQ(ptx_number("0x10", "u32"), "0x10ull");
    EXPECT_EQ(ptx_number("0b101", "u32"), "0x5ull");
    EXPECT_EQ(ptx_number("1e-2", "f32"), "0x3c23d70aull");
}

TEST(FrontendPtx, RefusesByName) {
    EXPECT_EQ(refusal(R"(asm("wgmma.fence.sync.aligned;"))"), "inline PTX: `wgmma.fence.sync.aligned` is not emulated");
    EXPECT_EQ(refusal(R"(asm("mov.u32 %tid.x, 1;"))"), "inline PTX: `mov.u32` has a result that is no register");
    EXPECT_EQ(refusal(R"(asm("mov.u32 %0, %%clusterid.x;" : "=r"(x)))"),
              "inline PTX: the register `%clusterid.x` is not emulated");
    EXPECT_EQ(refusal(R"(asm("add.u32 %0, %3, 1;" : "=r"(x)))"), "inline PTX: there is no operand %3");
    EXPECT_EQ(refusal(R"(asm("add.u32 %0, %0, 1;" : "=q"(x)))"), "inline PTX: the constraint \"=q\" is not emulated");
    EXPECT_EQ(refusal(R"(asm("shfl.down.b32 %0, %0, 1, 31;" : "+r"(x)))"),
              "inline PTX: `shfl.down.b32` needs sm_60 or older; from sm_70 on it is shfl.sync");
    const std::string_view two = "asm(\"add.u32 %0, %0, 1;\"\n \"frob %0;\" : \"+r\"(x))";
    EXPECT_EQ(translate_asm(two, 1).at, two.find("frob"));
}

TEST(FrontendHeaders, ServeOrRefuseTheLibraries) {
    EXPECT_EQ(library_header("thrust/sort.h"),
              "#pragma once\n#include \"kernels/emulator/thrust/vectors.h\"\n#include \"kernels/emulator/thrust/sorts.h\"\n");
    EXPECT_NE(library_header("cub/cub.cuh").find("cub/device.h"), std::string::npos);
    EXPECT_EQ(library_header("cufft.h"), "#error \"cufft.h: cuFFT is not emulated; use a kernel of one's own\"\n");
    EXPECT_EQ(library_header("device_functions.h"), "#pragma once\n#include \"kernels/emulator/include/cuda_runtime.h\"\n");
    EXPECT_EQ(library_header("cuda/std/limits"),
              "#pragma once\n#include <limits>\n#include \"kernels/emulator/cuda/scopes.h\"\n");
    EXPECT_EQ(library_header("no_such_header.h"), "");
}

}  // namespace
}  // namespace heddle::emulator::frontend
