// The hardening flags of cmake/flags.cmake have their effect in the program.
#include <elf.h>

#include <cstring>

#include "core/file.h"
#include "tests/program.h"

namespace heddle {
namespace {

template <class T>
T read_at(const std::string& bytes, std::uint64_t offset) {
    T value{};
    EXPECT_LE(offset + sizeof value, bytes.size());
    if (offset + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

TEST(Program, IsHardened) {
#ifndef HEDDLE_HARDENED
    GTEST_SKIP() << "built with sanitizers, for a debugger, or by a compiler without these flags";
#endif
    const std::string program = read_file(HEDDLE_PROGRAM);
    ASSERT_TRUE(program.starts_with(ELFMAG));
    if (program[EI_CLASS] != ELFCLASS64) GTEST_SKIP() << "not a 64-bit program";
    const auto head = read_at<Elf64_Ehdr>(program, 0);
    bool relro = false, now = false;
    for (unsigned i = 0; i < head.e_phnum; ++i) {
        const auto segment = read_at<Elf64_Phdr>(program, head.e_phoff + i * sizeof(Elf64_Phdr));
        relro = relro || segment.p_type == PT_GNU_RELRO;
        for (std::uint64_t at = 0; segment.p_type == PT_DYNAMIC && at < segment.p_filesz; at += sizeof(Elf64_Dyn)) {
            const auto entry = read_at<Elf64_Dyn>(program, segment.p_offset + at);
            now = now || entry.d_tag == DT_BIND_NOW || (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_BIND_NOW) != 0) ||
                  (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_NOW) != 0);
        }
    }
    EXPECT_TRUE(relro) << "-z relro";
    EXPECT_TRUE(now) << "-z now";
    EXPECT_NE(program.find("__stack_chk_fail"), std::string::npos) << "-fstack-protector-strong";
    EXPECT_NE(program.find("__fprintf_chk"), std::string::npos) << "_FORTIFY_SOURCE";
}

}  // namespace
}  // namespace heddle
