// What a program reports to the one that runs it.
#include <gtest/gtest.h>

#include "kernels/emulator/violation_record.h"

namespace heddle::emulator {
namespace {

ViolationRecord example() {
    ViolationRecord record;
    record.kind = "race";
    record.id = 3;
    record.kernel = "sum<float, 4>";
    record.block = "(1, 0, 0)";
    record.thread = "(5, 2, 0)";
    record.verb = "writes";
    record.file = "a folder/with\ttab=and\\ slash.cu";
    record.line = 41;
    record.other_thread = "thread (27, 0, 0)";
    record.other_verb = "read";
    record.other_file = "b.cuh";
    record.other_line = 7;
    record.between = "no barrier between the two";
    record.same_value = true;
    record.text = "race:\n    two lines; a \\n that is none";
    record.launch = 12;
    record.seed = ~std::uint64_t{0};
    record.cost.sectors = 99;
    return record;
}

TEST(CheckRecords, ALineHoldsARecord) {
    const std::string line = encode(example());
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const std::optional<ViolationRecord> read = decode(line);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->file, example().file);
    EXPECT_EQ(read->text, example().text);
    EXPECT_EQ(read->line, 41);
    EXPECT_EQ(read->other_line, 7);
    EXPECT_EQ(read->seed, ~std::uint64_t{0});
    EXPECT_TRUE(read->same_value);
    EXPECT_FALSE(read->note);
    EXPECT_EQ(read->cost.sectors, 99u);
    EXPECT_EQ(encode(*read), line);
}

TEST(CheckRecords, ALineThatIsNoneIsRefused) {
    for (const char* const line :
         {"", "a program's own line", "heddle-record", "heddle-record\tkind", "heddle-record\tline=4x\tkind=race",
          "heddle-record\ttext=cut\\", "heddle-record kind=race", "heddle-record\tkind="})
        EXPECT_FALSE(decode(line)) << line;
    EXPECT_TRUE(decode("heddle-record\tkind=race"));
    EXPECT_TRUE(decode("heddle-record\tkind=race\tof_a_later_version=1"));
}

}  // namespace
}  // namespace heddle::emulator
