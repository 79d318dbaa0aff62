// Prepared texts: writing, reading, and refusing damaged ones.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>

#include "apps/translation/training/encode_text.h"
#include "core/digest.h"
#include "core/file.h"
#include "tests/support.h"
#include "tests/system_calls.h"
#include "tests/translation/prepared_support.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

void write_bytes(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

TEST_F(Prepared, HasThePairsOfTheTextInTheirOrder) {
    const PreparedText text(make());
    const TokenPairs pairs(text), in_memory(data_.training);
    ASSERT_EQ(pairs.size(), 20);
    for (std::int64_t i = 0; i < 20; ++i) {
        const TokenPair a = pairs.pair(i), b = in_memory.pair(i);
        EXPECT_EQ(a.source, b.source);
        EXPECT_EQ(a.target, b.target);
        EXPECT_EQ(a.words, b.words);
        EXPECT_EQ(pairs.lengths(i).width(), b.width());
    }
    text.check_all();
    EXPECT_EQ(text.vocabularies().source->serialized(), data_.vocabularies.source->serialized());
    EXPECT_EQ(text.header().shards.size(), 3u);
    EXPECT_EQ(text.header().id_bytes(), 2);
    TrainingData from_files = data_;
    from_files.training.clear();
    from_files.prepared = std::make_shared<PreparedText>(text_);
    EXPECT_EQ(digests(from_files), digests(data_));
    EXPECT_TRUE(is_prepared(text_));
    EXPECT_FALSE(is_prepared(here_.path()));
    EXPECT_FALSE(is_prepared(text_ / "vocab.tsv"));
    EXPECT_FALSE(fs::exists(here_ / "text.part"));
}

// Changed while mapped: removed pages read as zeros, which are valid ids.
TEST_F(Prepared, NoticesThatItsFilesAreChanged) {
    for (const char* name : {"00001.ids", "00001.lengths"}) {
        prepare(text_, data_.vocabularies, data_.training, 7, true);
        const PreparedText text(text_);
        const fs::path file = text_ / name;
        const std::string bytes = read_file(file);
        EXPECT_NO_THROW(text.check_unchanged());
        fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(9));
        EXPECT_NO_THROW(text.check_unchanged()) << "its bytes are the same";
        fs::resize_file(file, bytes.size() - 2);
        const std::string sizes =
            fmt::format("{}: the file was changed while it was read: it has {} bytes now, wanted {}; prepare", file.string(),
                        bytes.size() - 2, bytes.size());
        for (int i = 0; i < 2; ++i) expect_error([&] { text.check_unchanged(); }, sizes);
        expect_error([&] { TokenPairs(text).pair(7); }, sizes);
        fs::resize_file(file, 0);
        expect_error([&] { TokenPairs(text).pair(7); }, "00001");
        fs::resize_file(file, bytes.size() + 2);
        expect_error([&] { text.check_unchanged(); }, "the file was changed while it was read");
        std::string other = bytes;
        other[0] = static_cast<char>(other[0] ^ 1);
        write_bytes(file, other);
        fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(9));
        for (int i = 0; i < 2; ++i)
            expect_error([&] { text.check_unchanged(); }, file.string() + ": the file is damaged: its digest");
    }
    prepare(text_, data_.vocabularies, data_.training, 7, true);
    const PreparedText text(text_);
    write_file_atomically(text_ / "00001.ids", std::string_view("another file"));
    fs::remove(text_ / "00002.ids");
    EXPECT_NO_THROW(text.check_unchanged()) << "what was opened stays mapped";
    text.check_all();
}

// The numbering of lines continues across pieces and skips the pairs that are left out.
TEST_F(Prepared, IsTheSameFromPiecesOfAnySize) {
    std::string lines;
    for (int i = 0; i < 60; ++i) lines += i % 9 == 4 ? "\tempty\n" : fmt::format("{} s{}\tT{} {}\n", i % 7, i, i, i % 5);
    write_bytes(here_ / "text.tsv", lines);
    DataOptions options;
    options.train = (here_ / "text.tsv").string();
    options.tsv = true;
    const Say nothing = [](std::string_view) {};
    for (const bool shared : {true, false})
        for (const std::int64_t most : {0, 1, 13, 40, 1000}) {
            VocabularyRequest request;
            request.type = VocabularyType::word;
            request.shared = shared;
            request.max_lines = most;
            const TrainingData wanted = [&] {
                TrainingText text = read_training_text(options, nothing);
                VocabularyRequest same = request;
                Vocabularies vocabularies = make_vocabularies(same, text.training, nothing);
                return encode_training_data(std::move(text), std::move(vocabularies));
            }();
            for (const std::int64_t piece : {1, 7, 100}) {
                VocabularyRequest same = request;
                const Vocabularies found = learn_vocabularies(options, same, nothing, piece);
                ASSERT_EQ(found.source->serialized(), wanted.vocabularies.source->serialized()) << most << " " << piece;
                ASSERT_EQ(found.target->serialized(), wanted.vocabularies.target->serialized()) << most << " " << piece;
                PreparedWriter writer(text_, true, found, 10);
                EXPECT_EQ(encode_text(options, found, writer, nothing, piece), 7);
                EXPECT_EQ(writer.finish(7).text_digest, digests(wanted).training);
            }
        }
}

TEST_F(Prepared, HasWideIdsWithAVocabularyThatNeedsThem) {
    std::string line;
    for (int word = 0; word < 70000; ++word) line += fmt::format("w{} ", word);
    const std::vector<std::string> lines = {line};
    Vocabularies vocabularies;
    vocabularies.source = vocabularies.target = train_vocabulary({.type = VocabularyType::word, .size = 0}, lines);
    const std::vector<TokenPair> pairs = {{{4, 70003}, {65536}, 2}, {{65535}, {5, 6, 7}, 3}};
    prepare(text_, vocabularies, pairs);
    const PreparedText text(text_);
    EXPECT_EQ(text.header().id_bytes(), 4);
    for (std::int64_t i = 0; i < 2; ++i) {
        EXPECT_EQ(TokenPairs(text).pair(i).source, pairs[static_cast<std::size_t>(i)].source);
        EXPECT_EQ(TokenPairs(text).pair(i).target, pairs[static_cast<std::size_t>(i)].target);
    }
}

TEST_F(Prepared, IsRefusedByTheNameOfADamagedFile) {
    make();
    for (const auto& entry : fs::directory_iterator(text_)) {
        const fs::path file = entry.path();
        const std::string bytes = read_file(file);
        const bool vocabulary = file.filename() == "vocab.tsv";
        // The vocabulary is checked by the digest of the whole folder.
        const std::string named = vocabulary ? text_.string() + ": its vocabulary" : file.string();
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            std::string other = bytes;
            other[at] = static_cast<char>(other[at] ^ 0x20);
            write_bytes(file, other);
            const std::string message = error_of([&] { PreparedText{text_}; });
            ASSERT_THAT(message, HasSubstr(named)) << "byte " << at;
        }
        for (const std::string& other : {bytes.substr(0, bytes.size() - 1), bytes + "\n", std::string()}) {
            write_bytes(file, other);
            expect_refused(named);
        }
        fs::remove(file);
        expect_refused(vocabulary ? "no vocabulary there" : file.string());
        fs::create_directory(file);
        expect_refused(file.string());
        fs::remove(file);
        write_bytes(file, bytes);
    }
    EXPECT_NO_THROW(PreparedText{text_}.check_all());
}

// Lengths are verified at the start, whatever the size of the text; ids when their shard is first used.
TEST_F(Prepared, OfAnySizeIsNeverReadWhereItIsDamaged) {
    make();
    const auto changed = [&](const char* name, std::size_t at) {
        std::string bytes = read_file(text_ / name);
        bytes[at] = static_cast<char>(bytes[at] ^ 1);
        return bytes;
    };
    const std::string lengths = read_file(text_ / "00001.lengths"), ids = read_file(text_ / "00001.ids");
    constexpr std::size_t words = 8;  // part of no sum
    write_bytes(text_ / "00001.lengths", changed("00001.lengths", words));
    expect_error([&] { PreparedText(text_, 0); }, "00001.lengths: the file is damaged: its digest is");
    // Moves the boundary between two sentences.
    std::string moved = lengths;
    ++moved[0], --moved[4];
    write_bytes(text_ / "00001.lengths", moved);
    expect_error([&] { PreparedText(text_, 0); }, "00001.lengths: the file is damaged: its digest is");
    write_bytes(text_ / "00001.lengths", lengths);

    const std::string other = changed("00001.ids", 0);
    write_bytes(text_ / "00001.ids", other);
    const PreparedText text(text_, 0);
    EXPECT_EQ(TokenPairs(text).pair(6).source, data_.training[6].source);
    for (const std::int64_t pair : {13, 7, 13})
        expect_error([&] { TokenPairs(text).pair(pair); }, "00001.ids: the file is damaged: its digest is");
    EXPECT_EQ(TokenPairs(text).pair(14).source, data_.training[14].source);
    expect_error([&] { text.check_all(); }, "00001.ids: the file is damaged");
    write_bytes(text_ / "00001.ids", ids);
    const PreparedText again(text_, 0);
    EXPECT_EQ(TokenPairs(again).pair(7).target, data_.training[7].target);
    EXPECT_NO_THROW(again.check_all());
}

TEST_F(Prepared, IsNotReadBeyondItsEndWhereItChangesAfterwards) {
    make();
    const PreparedText text(text_, 0);
    EXPECT_EQ(TokenPairs(text).pair(0).source, data_.training[0].source);
    // In place, so that mapped pages change.
    std::fstream lengths(text_ / "00000.lengths", std::ios::in | std::ios::out | std::ios::binary);
    lengths.put('\x7f').flush();
    ASSERT_TRUE(lengths);
    for (const std::int64_t pair : {0, 6})
        expect_error([&] { TokenPairs(text).pair(pair); }, "00000.lengths: the file was changed while it was read");
}

TEST_F(Prepared, IsRefusedWhereItsHeaderContradictsItself) {
    const PreparedHeader good = PreparedText(make()).header();
    const auto refused = [&](const std::function<void(PreparedHeader&)>& change, const std::string& part) {
        PreparedHeader header = good;
        change(header);
        write_bytes(text_ / "prepared.json", header.serialized());
        expect_refused(part);
    };
    refused([](PreparedHeader& header) { ++header.pairs; }, "21 pairs, but its shards have 20");
    refused([](PreparedHeader& header) { ++header.shards[1].pairs, --header.shards[0].pairs; }, "bytes, wanted");
    refused([](PreparedHeader& header) { ++header.shards[1].tokens; }, "00001.ids: the file has");
    refused([](PreparedHeader& header) { header.pairs = -1; }, "-1 is no count");
    refused([](PreparedHeader& header) { header.source_vocabulary = 3; }, "a vocabulary of 3 tokens");
    refused([](PreparedHeader& header) { header.target_vocabulary = 70000; }, "bytes, wanted");  // ids would be wider
    refused([](PreparedHeader& header) { header.shards.pop_back(); }, "its shards have 14");
    refused([](PreparedHeader& header) { header.shards[2].ids_digest = "0"; }, "00002.ids: the file is damaged");
    refused([](PreparedHeader& header) { header.vocabulary_digest = "0"; }, "its vocabulary is not the one");

    refused(
        [](PreparedHeader& header) {
            header.shards.assign((1 << 16) + 1,
                                 {.pairs = std::int64_t{1} << 48, .tokens = 0, .lengths_digest = "", .ids_digest = ""});
        },
        "wanted at most 1048576");
    const auto refused_text = [&](const std::string& fields, const std::string& part) {
        const std::string sealed = fields + ",\n \"digest\": \"" + digest(fields + "\n}") + "\"\n}\n";
        expect_error([&] { PreparedHeader::parse(sealed, "header"); }, "header: the file is damaged: " + part);
    };
    const std::string whole = good.serialized(), fields = whole.substr(0, whole.find(",\n \"digest\": "));
    EXPECT_NO_THROW(PreparedHeader::parse(whole, "header"));
    refused_text(fields + ",\n \"further\": 1", "it is not as heddle prepare writes it");
    const auto replaced = [&](const std::string& from, const std::string& to) {
        std::string text = fields;
        EXPECT_NE(text.find(from), std::string::npos) << from;
        return text.replace(text.find(from), from.size(), to);
    };
    // Our own words instead of the JSON library's.
    refused_text(replaced("\"text_digest\": ", "\"other\": "), "text_digest is missing or of another type; prepare");
    refused_text(replaced("\"options\": {}", "\"options\": 7"), "options is missing or of another type; prepare");
    refused_text(replaced("\"shards\": [", "\"other\": ["), "shards is missing or of another type; prepare");
    refused_text(replaced("\"ids_digest\": ", "\"other\": "), "ids_digest is missing or of another type; prepare");
    std::string twice = fields;
    twice.insert(twice.find(" \"pairs\""), " \"left_out\": 7,\n");
    refused_text(twice, "it is not as heddle prepare writes it");
    // Counting stops early, since the sum of very large numbers would exceed 64 bits.
    refused([](PreparedHeader& header) { header.shards[0].pairs = header.shards[1].pairs = std::int64_t{1} << 48; },
            "20 pairs, but its shards have 281474976710656");

    // The sums agree, but not with the lengths.
    std::string lengths = read_file(text_ / "00000.lengths");
    ++lengths[0];
    write_bytes(text_ / "00000.lengths", lengths);
    refused([&](PreparedHeader& header) { header.shards[0].lengths_digest = digest(lengths); },
            "00000.lengths: the file is damaged: its lengths add up to");

    std::string other_version = good.serialized();
    other_version.replace(other_version.find("\"version\": 1"), 12, "\"version\": 2");
    write_bytes(text_ / "prepared.json", other_version);
    expect_refused("another version of heddle");
    write_bytes(text_ / "prepared.json", "{\"format\": 1}\n");
    expect_refused("not the header of a prepared text");
    write_bytes(text_ / "prepared.json", std::string(1000, '['));
    expect_refused("not the header of a prepared text");
}

TEST_F(Prepared, RefusesAnIdOutsideTheVocabularyByItsPlace) {
    std::vector<TokenPair> pairs = data_.training;
    const auto size = static_cast<std::int32_t>(data_.vocabularies.target->size());
    pairs[9].target.back() = size;
    prepare(text_, data_.vocabularies, pairs);
    const PreparedText text(text_);
    EXPECT_NO_THROW(TokenPairs(text).pair(8));
    const std::string wanted = fmt::format("00001.ids: pair 10 has the id {0}, but the vocabulary has {0} tokens", size);
    expect_error([&] { TokenPairs(text).pair(9); }, wanted);
    expect_error([&] { text.check_all(); }, wanted);
    expect_error([&] { make_batch(text, std::vector<std::int64_t>{3, 9}); }, wanted);
}

TEST_F(Prepared, IsCheckedForTheSizesOfVocabularies) {
    PreparedHeader header = PreparedText(make()).header();
    ++header.source_vocabulary;
    write_bytes(text_ / "prepared.json", header.serialized());
    const PreparedText text(text_);
    expect_error([&] { text.vocabularies(); }, "the ids are of vocabularies of");
    header = text.header();
    --header.source_vocabulary;
    header.text_digest = "0";
    write_bytes(text_ / "prepared.json", header.serialized());
    expect_error([&] { PreparedText{text_}.check_all(); }, "the digest of its text");
}

TEST_F(Prepared, ReplacesOnlyWhatIsOne) {
    make();
    const auto again = [&](bool overwrite) { prepare(text_, data_.vocabularies, data_.training, 20, overwrite); };
    expect_error([&] { again(false); },
                 "there is a prepared text already; choose another folder, or replace it with --overwrite");
    EXPECT_TRUE(fs::exists(text_ / "00002.ids"));
    again(true);
    EXPECT_EQ(PreparedText(text_).header().shards.size(), 1u);
    EXPECT_FALSE(fs::exists(text_ / "00002.ids"));
    EXPECT_FALSE(fs::exists(here_ / "text.part"));

    write_bytes(text_ / "letter.txt", "mine");
    expect_error([&] { again(true); }, "heddle prepare did not write " + (text_ / "letter.txt").string());
    EXPECT_EQ(read_file(text_ / "letter.txt"), "mine");
    fs::remove(text_ / "letter.txt");
    fs::remove(text_ / "prepared.json");  // now it is an ordinary folder with a vocabulary
    expect_error([&] { again(true); }, "heddle prepare did not write");
    fs::create_directory(here_ / "empty");
    EXPECT_NO_THROW(prepare(here_ / "empty/", data_.vocabularies, data_.training));
    write_bytes(here_ / "file", "mine");
    expect_error([&] { prepare(here_ / "file", data_.vocabularies, data_.training, 7, true); }, "it is a file");
}

TEST_F(Prepared, AppearsCompleteOrNotAtAll) {
    const fs::path part = here_ / "text.part";
    {
        PreparedWriter writer(text_, false, data_.vocabularies, 7);
        writer.add(data_.training);
        EXPECT_TRUE(fs::exists(part));
        expect_error([&] { make(); }, "text.part is in use: process ");
        expect_error([&] { make(); }, " prepares a text there; wait for its end, or choose another folder");
        EXPECT_TRUE(fs::exists(part / "vocab.tsv"));
    }
    EXPECT_FALSE(fs::exists(part));
    EXPECT_FALSE(fs::exists(text_));
    expect_error([&] { PreparedWriter(text_, false, data_.vocabularies).finish(); }, "there is no pair");
    // Files left by a killed process.
    fs::create_directory(part);
    for (const char* name : {"vocab.tsv", "00000.ids", ".heddle-12-3.part"}) write_bytes(part / name, "half");
    make();
    EXPECT_NO_THROW(PreparedText{text_});
    fs::create_directory(part);
    write_bytes(part / "letter.txt", "mine");
    expect_error([&] { prepare(text_, data_.vocabularies, data_.training, 7, true); }, "heddle prepare did not make this");
    EXPECT_TRUE(fs::exists(part / "letter.txt"));
    EXPECT_FALSE(fs::exists(part / "lock"));
}

TEST_F(Prepared, IsReplacedWhereFoldersCannotBeExchanged) {
    make();
    const auto replace = [&] {
        prepare(text_, data_.vocabularies, data_.training, 20, true);
        return 0;
    };
    const Traced all = trace(replace, -1);
    if (!all.possible) GTEST_SKIP() << "this system does not let a process trace its child";
    const auto exchange = std::ranges::find(all.calls, SYS_renameat2) - all.calls.begin();
    ASSERT_LT(exchange, std::ssize(all.calls));
    prepare(text_, data_.vocabularies, data_.training, 7, true);
    EXPECT_EQ(trace(replace, exchange, EINVAL).status, 0);
    EXPECT_EQ(PreparedText(text_).header().shards.size(), 1u);
    EXPECT_FALSE(fs::exists(here_ / "text.part"));
}

}  // namespace
}  // namespace heddle::app
