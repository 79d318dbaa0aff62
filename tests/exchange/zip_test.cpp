// Archives in the forms that other programs write; damaged ones are in marian_hostile_test.cpp.
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <string>

#include "apps/exchange/zip.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

std::string number(std::uint64_t value, int size) {
    std::string bytes;
    for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
    return bytes;
}

// One entry, "a" with the text "hello", with 64-bit sizes everywhere; `entries`: what its end record says.
std::string archive_of_64_bits(std::uint64_t entries) {
    const std::string text = "hello";
    const std::uint32_t crc =
        static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
    const std::string fields = number(45, 2) + number(0, 2) + number(0, 2) + number(0, 4) + number(crc, 4) +
                               number(0xffffffff, 4) + number(0xffffffff, 4) + number(1, 2);
    const std::string other_extra = number(0x5455, 2) + number(1, 2) + "x";
    const std::string local_extra = other_extra + number(1, 2) + number(16, 2) + number(5, 8) + number(5, 8);
    std::string bytes = "PK\3\4" + fields + number(local_extra.size(), 2) + "a" + local_extra + text;
    const std::uint64_t directory = bytes.size();
    const std::string extra = other_extra + number(1, 2) + number(24, 2) + number(5, 8) + number(5, 8) + number(0, 8);
    bytes += "PK\1\2" + number(45, 2) + fields + number(extra.size(), 2) + number(0, 2) + number(0, 2) + number(0, 2) +
             number(0, 4) + number(0xffffffff, 4) + "a" + extra;
    const std::uint64_t end = bytes.size();
    bytes += "PK\6\6" + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8) + number(entries, 8) + number(entries, 8) +
             number(end - directory, 8) + number(directory, 8);
    bytes += "PK\6\7" + number(0, 4) + number(end, 8) + number(1, 4);
    return bytes + "PK\5\6" + number(0, 4) + number(0xffff, 2) + number(0xffff, 2) + number(0xffffffff, 4) +
           number(0xffffffff, 4) + number(7, 2) + "comment";
}

class Zip : public testing::Test {
  protected:
    std::string write(const std::string& bytes) {
        const std::string path = (folder_ / "a.zip").string();
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    }
    static std::string text_of(const ZipFile& zip, const char* name) {
        const auto bytes = zip.bytes(name);
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    TemporaryFolder folder_;
};

TEST_F(Zip, ReadsSizesOf64BitsAndAComment) {
    const ZipFile zip(write(archive_of_64_bits(1)));
    EXPECT_EQ(zip.names(), std::vector<std::string>{"a"});
    EXPECT_EQ(text_of(zip, "a"), "hello");
    expect_error([&] { zip.bytes("b"); }, "there is no entry b");
}

TEST_F(Zip, RefusesMoreEntriesThanAnyoneHas) {
    expect_error([&] { ZipFile zip(write(archive_of_64_bits(100'001))); }, "it has 100001 entries, wanted at most 100000");
    expect_error([&] { ZipFile zip(write(archive_of_64_bits(~std::uint64_t{0}))); }, "wanted at most 100000");
    expect_error([&] { ZipFile zip(write(archive_of_64_bits(2))); }, "holds 1 entries, and says 2");
}

TEST_F(Zip, RefusesDamagedFieldsOf64Bits) {
    const std::string good = archive_of_64_bits(1);
    const std::size_t end = good.size() - 22 - 7, locator = end - 20, record = locator - 56;
    const auto patched = [&](std::size_t at, std::uint64_t value, int size, const char* reason) {
        std::string copy = good;
        copy.replace(at, static_cast<std::size_t>(size), number(value, size));
        expect_error([&] { ZipFile zip(write(copy)); }, reason);
    };
    patched(locator + 8, good.size(), 8, "ZIP64 end record is not where it should be");
    patched(locator + 8, ~std::uint64_t{0}, 8, "ZIP64 end record is not where it should be");
    patched(locator + 8, record - 1, 8, "ZIP64 end record is not where it should be");
    patched(record + 48, ~std::uint64_t{0}, 8, "does not end where the end record begins");
    patched(record + 40, 0, 8, "does not end where the end record begins");
    const std::size_t extra = record - 28;  // the directory's ZIP64 field
    patched(extra + 2, 16, 2, "a ZIP64 field is too short");
    patched(extra + 2, 0xffff, 2, "an extra field reaches too far");
    patched(extra, 2, 2, "a ZIP64 field is missing");
    patched(extra + 4, ~std::uint64_t{0}, 8, "has two sizes");
    patched(extra + 20, ~std::uint64_t{0}, 8, "has no local header");
    patched(30 + 1 + 5 + 4, 6, 8, "does not agree with the directory");
}

TEST_F(Zip, WritesWhatItReads) {
    const std::string path = (folder_ / "b.zip").string();
    ZipWriter file(path), memory;
    for (ZipWriter* zip : {&file, &memory}) {
        zip->add("folder/a.txt", "one");
        zip->add("empty", "");
    }
    expect_error([&] { file.add("empty", "x"); }, "the entry empty is there twice");
    file.commit();
    EXPECT_EQ(memory.take(), read_file(path));
    const ZipFile zip(path);
    EXPECT_EQ(zip.names(), (std::vector<std::string>{"folder/a.txt", "empty"}));
    EXPECT_EQ(text_of(zip, "folder/a.txt"), "one");
    EXPECT_EQ(text_of(zip, "empty"), "");
}

}  // namespace
}  // namespace heddle::app
