// TensorBoard's event files, read back by an independent reader and by TensorBoard.
#include "apps/translation/run/events.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "apps/translation/training/log.h"
#include "apps/translation/vocabulary/sentencepiece_vocabulary.h"
#include "core/file.h"
#include "tests/failing_outputs.h"
#include "tests/shell.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

// ---- an independent reader, written from the formats' specifications

std::uint32_t crc_of(std::string_view bytes) { return crc32c(std::as_bytes(std::span(bytes))); }

template <class T>
T taken(std::string_view& bytes) {
    T value{};
    EXPECT_GE(bytes.size(), sizeof(T));
    if (bytes.size() < sizeof(T)) return value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    bytes.remove_prefix(sizeof(T));
    return value;
}

std::string_view taken_bytes(std::string_view& bytes, std::uint64_t count) {
    EXPECT_GE(bytes.size(), count);
    const std::string_view piece = bytes.substr(0, count);
    bytes.remove_prefix(piece.size());
    return piece;
}

std::uint64_t taken_varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !bytes.empty(); shift += 7) {
        const auto byte = taken<std::uint8_t>(bytes);
        value |= std::uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) break;
    }
    return value;
}

std::uint32_t unmasked(std::uint32_t masked) {
    const std::uint32_t turned = masked - 0xa282ead8u;
    return turned << 15 | turned >> 17;
}

struct Event {
    double wall_time = 0;
    std::int64_t step = 0;
    std::string version;
    std::map<std::string, float> scalars;
};

std::pair<std::string, float> parsed_value(std::string_view message) {
    std::pair<std::string, float> value;
    while (!message.empty()) {
        const std::uint64_t key = taken_varint(message);
        if (key == (1 << 3 | 2))
            value.first = taken_bytes(message, taken_varint(message));
        else if (key == (2 << 3 | 5))
            value.second = taken<float>(message);
        else
            ADD_FAILURE() << "unexpected key " << key << " in a value", message = {};
    }
    return value;
}

Event parsed_event(std::string_view message) {
    Event event;
    while (!message.empty()) {
        const std::uint64_t key = taken_varint(message);
        if (key == (1 << 3 | 1))
            event.wall_time = taken<double>(message);
        else if (key == (2 << 3 | 0))
            event.step = static_cast<std::int64_t>(taken_varint(message));
        else if (key == (3 << 3 | 2))
            event.version = taken_bytes(message, taken_varint(message));
        else if (key == (5 << 3 | 2))
            for (std::string_view summary = taken_bytes(message, taken_varint(message)); !summary.empty();) {
                EXPECT_EQ(taken_varint(summary), 1u << 3 | 2);
                event.scalars.insert(parsed_value(taken_bytes(summary, taken_varint(summary))));
            }
        else
            ADD_FAILURE() << "unexpected key " << key << " in an event", message = {};
    }
    return event;
}

std::vector<Event> events_in(const std::filesystem::path& path) {
    const std::string file = read_file(path);
    std::vector<Event> events;
    for (std::string_view rest = file; !rest.empty();) {
        const std::string_view length_bytes = rest.substr(0, 8);
        const auto length = taken<std::uint64_t>(rest);
        EXPECT_EQ(unmasked(taken<std::uint32_t>(rest)), crc_of(length_bytes));
        const std::string_view message = taken_bytes(rest, length);
        EXPECT_EQ(unmasked(taken<std::uint32_t>(rest)), crc_of(message));
        events.push_back(parsed_event(message));
    }
    return events;
}

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

TEST_F(EventFileTest, ReadsBackAsItWasWritten) {
    const double before = wall_time();
    {
        EventFile file(path_);
        const Scalar first[] = {{"train/loss", 5.25}, {"train/learning_rate", 1e-7}, {"", -0.0}};
        file.add(1, 1.7e9, first);
        const std::string long_tag(300, 'x');  // its length takes two bytes
        const Scalar second[] = {{long_tag, 1e300}};
        file.add(std::int64_t{1} << 40, 1.7e9 + 0.25, second);
        file.add(5, 0, {});
    }
    const std::vector<Event> events = events_in(path_);
    ASSERT_EQ(events.size(), 4u);
    EXPECT_EQ(events[0].version, "brain.Event:2");
    EXPECT_GE(events[0].wall_time, before);
    EXPECT_LE(events[0].wall_time, wall_time());
    EXPECT_EQ(events[1].step, 1);
    EXPECT_EQ(events[1].wall_time, 1.7e9);
    EXPECT_EQ(events[1].scalars,
              (std::map<std::string, float>{{"train/loss", 5.25f}, {"train/learning_rate", 1e-7f}, {"", 0.0f}}));
    EXPECT_EQ(events[2].step, std::int64_t{1} << 40);
    EXPECT_EQ(events[2].wall_time, 1.7e9 + 0.25);
    EXPECT_EQ(events[2].scalars.at(std::string(300, 'x')), std::numeric_limits<float>::infinity());
    EXPECT_EQ(events[3].step, 5);
    EXPECT_TRUE(events[3].scalars.empty());
}

TEST_F(EventFileTest, GoesOnWhereItWasCutBack) {
    const Scalar one[] = {{"x", 1}};
    const Scalar two[] = {{"x", 2}};
    std::int64_t saved = 0;
    {
        EventFile file(path_);
        file.add(1, 1, one);
        saved = file.length();
        EXPECT_EQ(saved, static_cast<std::int64_t>(std::filesystem::file_size(path_))) << "nothing waits in the program";
        file.add(2, 2, one);
    }
    std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(saved) + 5);  // as after a crash in the middle of a record
    std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(saved));
    EventFile file(path_);
    EXPECT_EQ(file.length(), saved);
    file.add(2, 3, two);
    const std::vector<Event> events = events_in(path_);
    ASSERT_EQ(events.size(), 3u) << "one version, two events";
    EXPECT_EQ(events[2].wall_time, 3);
    EXPECT_EQ(events[2].scalars.at("x"), 2);
}

TEST_F(EventFileTest, SaysWhenItCannotBeWritten) {
    expect_error([&] { EventFile(folder_ / "nowhere" / "events"); }, "nowhere/events': No such file or directory");
    EventFile file(path_);
    const std::int64_t before = file.length();
    const FilesUpTo full(static_cast<rlim_t>(before) + 10);
    const Scalar loss[] = {{"loss", 1}};
    expect_error([&] { file.add(1, wall_time(), loss); }, "cannot be written: File too large");
    EXPECT_EQ(file.length(), before) << "none of it stays";
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
    EXPECT_EQ(events_in(path_).at(1).scalars.at("vocabulary/size"), 30);
    EXPECT_FALSE(vocabulary->encode("kleine Wörter").empty());
}

// ---- reading back

TEST_F(EventFileTest, AreReadBackUpToWhatIsHalfWritten) {
    {
        EventFile file(path_);
        const Scalar first[] = {{"a/loss", 1.5}, {"b", -2}}, second[] = {{"a/loss", std::numeric_limits<double>::infinity()}};
        file.add(10, 100.25, first);
        file.add(300, 200.5, second);
    }
    const std::vector<ReadScalar> scalars = read_scalars(path_);
    ASSERT_EQ(scalars.size(), 3u);
    EXPECT_EQ(scalars[0].tag, "a/loss");
    EXPECT_EQ(scalars[1].tag, "b");
    EXPECT_EQ(scalars[1].step, 10);
    EXPECT_EQ(scalars[1].wall_time, 100.25);
    EXPECT_EQ(scalars[1].value, -2.0f);
    EXPECT_EQ(scalars[2].step, 300);
    EXPECT_EQ(scalars[2].value, std::numeric_limits<float>::infinity());
    const auto whole = std::filesystem::file_size(path_);
    std::size_t before = 3;
    for (auto size = whole; size-- > 0;) {
        std::filesystem::resize_file(path_, size);
        const std::size_t now = read_scalars(path_).size();
        EXPECT_LE(now, before);
        before = now;
    }
    EXPECT_EQ(before, 0u);
    std::ofstream(path_, std::ios::binary) << std::string(64, '\xff');
    EXPECT_TRUE(read_scalars(path_).empty());
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
    for (const Event& event : events_in(path_)) {
        EXPECT_GE(event.wall_time, before);
        for (const auto& [tag, value] : event.scalars) read[tag][event.step] = value;
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
