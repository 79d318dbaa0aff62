// TensorBoard's event files: their bytes, and read back by Heddle and by TensorBoard.
#include "apps/translation/run/events.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "apps/translation/training/log.h"
#include "apps/translation/vocabulary/sentencepiece_vocabulary.h"
#include "core/file.h"
#include "tests/shell.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

std::uint32_t crc_of(std::string_view bytes) { return crc32c(std::as_bytes(std::span(bytes))); }

class EventFileTest : public testing::Test {
  protected:
    TemporaryFolder folder_;
    std::filesystem::path path_ = folder_ / event_file_name;
};

// RFC 3720, appendix B.4.
TEST(Crc32c, GivesTheValuesOfTheRfc) {
    std::string ascending(32, '\0'), descending(32, '\0');
    std::iota(ascending.begin(), ascending.end(), '\0');
    std::iota(descending.rbegin(), descending.rend(), '\0');
    EXPECT_EQ(crc_of(std::string(32, '\0')), 0x8a9136aau);
    EXPECT_EQ(crc_of(std::string(32, '\xff')), 0x62a8ab43u);
    EXPECT_EQ(crc_of(ascending), 0x46dd794eu);
    EXPECT_EQ(crc_of(descending), 0x113fdb5cu);
    std::string command(48, '\0');
    for (const auto& [at, byte] :
         {std::pair{0, 0x01}, {1, 0xc0}, {16, 0x14}, {22, 0x04}, {27, 0x14}, {31, 0x18}, {32, 0x28}, {40, 0x02}})
        command[static_cast<std::size_t>(at)] = static_cast<char>(byte);
    EXPECT_EQ(crc_of(command), 0xd9963a56u) << "an iSCSI read command";
    EXPECT_EQ(crc_of("123456789"), 0xe3069283u);
}

// The bytes that TensorBoard's own protobuf messages and masked_crc32c give.
TEST_F(EventFileTest, WritesTheseBytes) {
    EventFile file(path_);
    const auto begin = static_cast<std::size_t>(file.length());
    const Scalar loss[] = {{"loss", 0.5}};
    file.add(300, 2.0, loss);
    const std::vector<unsigned char> record = {27,   0,    0,    0,    0,    0,   0, 0,        // bytes of the message
                                               0x1a, 0x0d, 0x9e, 0x13,                         // their checksum
                                               0x09, 0,    0,    0,    0,    0,   0, 0, 0x40,  // wall_time 2.0
                                               0x10, 0xac, 0x02,                               // step 300
                                               0x2a, 13,   0x0a, 11,                           // summary, value
                                               0x0a, 4,    'l',  'o',  's',  's',              // tag
                                               0x15, 0,    0,    0,    0x3f,                   // simple_value 0.5
                                               0xdf, 0xc5, 0x2b, 0x60};                        // the message's checksum
    EXPECT_EQ(read_file(path_).substr(begin), std::string(record.begin(), record.end()));
}

TEST_F(EventFileTest, IsReadBackUpToWhatIsHalfWritten) {
    const std::string long_tag(300, 'x');  // its length takes two bytes
    {
        EventFile file(path_);
        const Scalar first[] = {{"a/loss", 1.5}, {"", -0.0}}, second[] = {{long_tag, 1e300}};
        file.add(1, 1.7e9 + 0.25, first);
        file.add(std::int64_t{1} << 40, 200.5, second);
        file.add(5, 0, {});
    }
    const std::vector<ReadScalar> scalars = read_scalars(path_);
    ASSERT_EQ(scalars.size(), 3u);
    EXPECT_EQ(scalars[0].tag, "a/loss");
    EXPECT_EQ(scalars[0].step, 1);
    EXPECT_EQ(scalars[0].wall_time, 1.7e9 + 0.25);
    EXPECT_EQ(scalars[0].value, 1.5f);
    EXPECT_EQ(scalars[1].tag, "");
    EXPECT_EQ(scalars[2].tag, long_tag);
    EXPECT_EQ(scalars[2].step, std::int64_t{1} << 40);
    EXPECT_EQ(scalars[2].value, std::numeric_limits<float>::infinity());
    const std::string whole = read_file(path_);
    EXPECT_EQ(whole_records(whole), whole.size());
    std::size_t before = 3;
    for (auto size = std::filesystem::file_size(path_); size-- > 0;) {
        std::filesystem::resize_file(path_, size);
        const std::size_t now = read_scalars(path_).size();
        EXPECT_LE(now, before);
        before = now;
    }
    EXPECT_EQ(before, 0u);
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::string damaged = whole;
        damaged[i] = static_cast<char>(damaged[i] ^ 1);
        EXPECT_LE(whole_records(damaged), i) << "the record of this byte is not whole";
    }
}

// Debian's SentencePiece contains a protobuf library, which would conflict with a second one in the program.
TEST_F(EventFileTest, LivesBesideSentencePiece) {
    const std::vector<std::string_view> lines(20, "eine kleine Zeile mit Wörtern");
    VocabularyOptions options;
    options.size = 30;
    const auto vocabulary = train_sentencepiece(options, lines);
    EventFile file(path_);
    const Scalar size[] = {{"vocabulary/size", static_cast<double>(vocabulary->size())}};
    file.add(0, wall_time(), size);
    EXPECT_EQ(read_scalars(path_).at(0).value, 30);
    EXPECT_FALSE(vocabulary->encode("kleine Wörter").empty());
}

// ---- events of a run

void log_a_run(const std::filesystem::path& log_file) {
    TrainingLog log(log_file, true);
    IntervalReport interval;
    interval.update = 100;
    interval.loss = 4.5;
    interval.accuracy = 0.125;
    interval.tokens_per_second = 1234;
    interval.gradient_norm = 0.75;
    interval.learning_rate = 6e-4;
    log.interval(interval);
    log.events(interval);
    ValidationReport validation;
    validation.update = 150;
    validation.loss = 4.25;
    validation.perplexity = 70;
    validation.accuracy = 0.25;
    log.validation(validation);
    validation.bleu = 12.5;
    validation.translated = 4;
    validation.exact = 1;
    validation.averaged = 3;
    log.validation(validation);
    log.note("a note is no number");
}

using Scalars = std::map<std::string, std::map<std::int64_t, float>>;

const Scalars logged = {{"train/loss", {{100, 4.5f}}},
                        {"train/accuracy", {{100, 0.125f}}},
                        {"train/tokens_per_second", {{100, 1234.0f}}},
                        {"train/gradient_norm", {{100, 0.75f}}},
                        {"train/learning_rate", {{100, 6e-4f}}},
                        {"validation/loss", {{150, 4.25f}}},
                        {"validation/perplexity", {{150, 70.0f}}},
                        {"validation/accuracy", {{150, 0.25f}}},
                        {"average/loss", {{150, 4.25f}}},
                        {"average/perplexity", {{150, 70.0f}}},
                        {"average/accuracy", {{150, 0.25f}}},
                        {"average/bleu", {{150, 12.5f}}},
                        {"average/exact", {{150, 0.25f}}}};

TEST_F(EventFileTest, HoldsWhatTheLogSays) {
    const double before = wall_time();
    log_a_run(folder_ / "log.jsonl");
    Scalars read;
    for (const ReadScalar& scalar : read_scalars(path_)) {
        EXPECT_GE(scalar.wall_time, before);
        read[scalar.tag][scalar.step] = scalar.value;
    }
    EXPECT_EQ(read, logged);
}

TEST_F(EventFileTest, IsReadByTensorBoard) {
    HEDDLE_NEEDS_PYTHON_WITH("tensorboard");
    log_a_run(folder_ / "log.jsonl");
    std::ofstream(folder_ / "read.py") << R"(
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
run = EventAccumulator(sys.argv[1], purge_orphaned_data=False).Reload()
scalars = {tag: {event.step: event.value for event in run.Scalars(tag)} for tag in run.Tags()["scalars"]}
json.dump(scalars, open(sys.argv[1] + "/read.json", "w"))
)";
    const std::string folder = folder_.path().string();
    ASSERT_EQ(std::system(("'" + python() + "' '" + folder + "/read.py' '" + folder + "'").c_str()), 0);
    const auto found = nlohmann::json::parse(read_file(folder_ / "read.json"));
    Scalars read;
    for (const auto& [tag, points] : found.items())
        for (const auto& [step, value] : points.items()) read[tag][std::stoll(step)] = value.get<float>();
    EXPECT_EQ(read, logged);
}

}  // namespace
}  // namespace heddle::app
