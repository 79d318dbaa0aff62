// Runs whose files were damaged or exchanged are refused with an Error; none crashes the program or translates nonsense.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iterator>
#include <sstream>

#include "apps/command/commands.h"
#include "apps/command/run.h"
#include "apps/translation/run/folder.h"
#include "core/digest.h"
#include "core/file.h"
#include "core/random.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

// Two small runs that differ in everything but their shapes, so that only their meaning tells their files apart.
class HostileRun : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        folder_ = new TemporaryFolder;
        for (const char* type : {"word", "bpe"}) {
            make(std::string("good-") + type, type, "1");
            make(std::string("other-") + type, type, "2");
        }
    }
    static void TearDownTestSuite() { delete folder_; }

    static fs::path path(const std::string& name) { return folder_->path() / name; }

    static void make(const std::string& name, const std::string& type, const std::string& seed) {
        Sequence numbers(seed[0]);
        std::string text;
        for (int line = 0; line < 80; ++line) {
            for (std::uint64_t n = 2 + numbers.below(4); n > 0; --n)
                text += std::string(1, static_cast<char>('a' + numbers.below(8))) + " ";
            text.back() = '\n';
        }
        for (const char* side : {".a", ".b"}) write_file_atomically(path("text" + seed + side), std::string_view(text));
        const std::string prefix = path("text" + seed).string(), size = type == "bpe" ? "20" : "0";
        ASSERT_EQ(train(fmt::format("--train {0} --valid {0} --source a --target b --out {1} --vocab-type {2} --vocab-size {3} "
                                    "--layers 1 --d-model 8 --heads 2 --d-ff 8 --updates 4 --save-every 2 --valid-sentences 2 "
                                    "--log-every 1000 --seed {4}",
                                    prefix, path(name).string(), type, size, seed)),
                  0);
    }

    // heddle train with these words as options, silently.
    static int train(const std::string& options) {
        std::istringstream stream(options);
        const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
        std::vector<const char*> arguments;
        for (const std::string& word : words) arguments.push_back(word.c_str());
        testing::internal::CaptureStderr();
        const auto release = [](void*) { testing::internal::GetCapturedStderr(); };
        const std::unique_ptr<void, decltype(release)> captured(&arguments, release);
        return train_command(arguments);
    }
    static void resume(const fs::path& run) { train("--resume " + run.string() + " --updates 5"); }
    static void init_from(const fs::path& run) {
        train(fmt::format("--init {} --train {} --source a --target b --out {} --updates 1", run.string(), path("text1").string(),
                          path("from-it").string()));
    }

    // Replaces the only line of config.toml that is `was`; returns its number in the file.
    static std::int64_t edit_config(const fs::path& run, const std::string& was, const std::string& now) {
        std::string config = read_file(path("good-word") / "config.toml");
        const std::size_t at = config.find("\n" + was + "\n");
        EXPECT_NE(at, std::string::npos) << was << " in\n" << config;
        config.replace(at + 1, was.size(), now);
        write_file_atomically(run / "config.toml", std::string_view(config));
        return 2 + std::count(config.begin(), config.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    }

    static nn::NamedTensors tensors_of(const fs::path& run) {
        const SafetensorsFile file(run / "model.safetensors");
        nn::NamedTensors tensors;
        for (const std::string& name : file.names()) tensors.emplace_back(name, file.load(name));
        return tensors;
    }

    // A fresh copy of a run.
    static fs::path copy(const std::string& name) {
        const fs::path fresh = path("fresh");
        fs::remove_all(fresh);
        fs::copy(path(name), fresh, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
        return fresh;
    }

    static std::vector<double> weights(const fs::path& run, const char* file) {
        std::vector<double> all;
        for (const auto& [name, tensor] : open_run(run, file).model->named_tensors())
            for (const double value : tensor.to_vector()) all.push_back(value);
        return all;
    }

    static TemporaryFolder* folder_;
};

TemporaryFolder* HostileRun::folder_ = nullptr;

using Damage = std::pair<std::string, std::string>;  // what was done, and the resulting bytes

std::vector<Damage> damages(const std::string& bytes, const std::string& other, Sequence& numbers) {
    std::vector<Damage> all = {{"emptied", ""}, {"swapped", other}, {"doubled", bytes + bytes}, {"a byte more", bytes + "\n"}};
    for (int i = 0; i < 6; ++i) {
        const std::size_t end = numbers.below(bytes.size());
        all.emplace_back("cut to " + std::to_string(end), bytes.substr(0, end));
    }
    for (int i = 0; i < 24; ++i) {
        const std::size_t at = numbers.below(bytes.size()), bit = numbers.below(8);
        std::string flipped = bytes;
        flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
        all.emplace_back("bit " + std::to_string(bit) + " of byte " + std::to_string(at) + " flipped", flipped);
    }
    std::string shuffled = bytes;
    numbers.shuffle(shuffled);
    all.emplace_back("shuffled", shuffled);
    return all;
}

// True if `use` refuses the run; an exception other than Error, or a crash, fails the test.
bool refuses(const std::function<void()>& use) {
    try {
        use();
    } catch (const Error& error) {
        EXPECT_FALSE(std::string(error.what()).empty());
        return true;
    }
    return false;
}

TEST_F(HostileRun, IsRefusedOrTranslatesAsBefore) {
    Sequence numbers(1);
    int folders = 0, refused = 0, harmless = 0;
    for (const std::string type : {"word", "bpe"}) {
        const std::string good = "good-" + type, other = "other-" + type,
                          vocabulary = type == "bpe" ? "vocab.model" : "vocab.tsv";
        for (const std::string& file : {std::string("model.safetensors"), vocabulary, std::string("config.toml")}) {
            const std::string bytes = read_file(path(good) / file);
            ASSERT_NE(bytes, read_file(path(other) / file)) << file;
            for (const auto& [what, damaged] : damages(bytes, read_file(path(other) / file), numbers)) {
                const fs::path run = copy(good);
                write_file_atomically(run / file, std::string_view(damaged));
                std::vector<double> opened;
                const bool refusal = refuses([&] { opened = weights(run, "model.safetensors"); });
                // Translating does not depend on much of config.toml; in other files every change must be refused.
                EXPECT_TRUE(refusal || file == "config.toml") << type << " " << file << ": " << what;
                if (!refusal) {
                    EXPECT_EQ(opened, weights(path(good), "model.safetensors")) << type << " " << file << ": " << what;
                }
                ++folders;
                ++(refusal ? refused : harmless);
            }
        }
        for (const std::string& file : {std::string("model.safetensors"), vocabulary, std::string("config.toml")}) {
            const fs::path run = copy(good);
            fs::remove(run / file);
            EXPECT_TRUE(refuses([&] { open_run(run); })) << file << " is missing";
            fs::create_directory(run / file);
            EXPECT_TRUE(refuses([&] { open_run(run); })) << file << " is a folder";
            folders += 2, refused += 2;
        }
    }
    EXPECT_GE(folders, 200);
    EXPECT_GE(refused, 150);
    RecordProperty("refused", refused);
    RecordProperty("harmless", harmless);
}

// An unknown word is an error, and not replaced by a default.
TEST_F(HostileRun, NamesFileAndLineOfAWordThatMeansNothing) {
    const fs::path run = copy("good-word");
    for (const auto& [option, word] :
         {std::pair("activation", "relu"), {"tie", "all"}, {"norm", "pre"}, {"schedule", "inverse-sqrt"}}) {
        const std::int64_t line =
            edit_config(run, fmt::format("{} = \"{}\"", option, word), fmt::format("{} = \"swish\"", option));
        expect_error([&] { open_run(run); }, fmt::format("config.toml:{}: --{} is 'swish', wanted one of ", line, option));
    }
}

TEST_F(HostileRun, IsNotGoneOnWith) {
    Sequence numbers(2);
    const std::string save = "saves/4/";
    for (const std::string file :
         {"model.safetensors", "moments.safetensors", "average.safetensors", "best.safetensors", "state.json"}) {
        const std::string bytes = read_file(path("good-word") / (save + file));
        const std::string other = read_file(path("other-word") / (save + file));
        for (const auto& [what, damaged] : damages(bytes, other, numbers)) {
            const fs::path run = copy("good-word");
            write_file_atomically(run / (save + file), std::string_view(damaged));
            EXPECT_TRUE(refuses([&] { resume(run); })) << file << ": " << what;
        }
    }
    EXPECT_FALSE(refuses([&] { resume(copy("good-word")); })) << "or everything above was refused for another reason";
}

TEST_F(HostileRun, WithAConfigurationOfAHugeModelIsRefusedBeforeItIsMade) {
    const fs::path run = copy("good-word"), file = run / "model.safetensors";
    save_safetensors(file, tensors_of(run));  // as from another program: it does not record options
    const auto start = std::chrono::steady_clock::now();
    const std::array<std::string, 3> cases[] = {
        {"d-ff = 8", "d-ff = 200000000", "d_ff is 200000000"},
        {"d-ff = 8", "d-ff = 16000000", "put the run's own config.toml back"},
        {"d-model = 8", "d-model = 100000", "put the run's own config.toml back"},
        {"head-dim = 4", "head-dim = 9223372036854775807", "2 heads of head_dim 9223372036854775807"},
        {"encoder-layers = 1", "encoder-layers = 1000000000000", "put the run's own config.toml back"},
        {"position-table = 512", "position-table = 9223372036854775807", "position_table is"}};
    for (const auto& [was, now, wanted] : cases) {
        edit_config(run, was, now);
        const std::string message = error_of([&] { open_run(run); });
        EXPECT_NE(message.find(wanted), std::string::npos) << now << ": " << message;
        EXPECT_NE(message.find(file.string()), std::string::npos) << now << ": " << message;
        expect_error([&] { init_from(run); }, wanted);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(HostileRun, WhoseStateSaysMoreWeightsThanThereAreIsRefusedBeforeRoomIsMadeForThem) {
    const fs::path run = copy("good-word");
    const std::string state = read_file(run / "saves/4/state.json");
    const std::size_t at = state.find("\"averaged\": "), end = state.find(',', at), seal = state.find(",\n \"digest\"");
    ASSERT_TRUE(at < end && end < seal) << state;
    const std::string fields = state.substr(0, at) + "\"averaged\": 1000000000000" + state.substr(end, seal - end);
    write_file_atomically(run / "saves/4/state.json",
                          std::string_view(fields + ",\n \"digest\": \"" + digest(fields + "\n}") + "\"\n}\n"));
    expect_error([&] { resume(run); }, "says 1000000000000 weights");
}

TEST_F(HostileRun, WithANamedPipeForAFileIsRefusedAtOnce) {
    const auto pipe = [](const std::string& file) {
        const fs::path run = copy("good-word");
        fs::remove(run / file);
        EXPECT_EQ(::mkfifo((run / file).c_str(), 0600), 0);
        return run;
    };
    for (const char* file : {"config.toml", "vocab.tsv", "model.safetensors"})
        EXPECT_TRUE(refuses([&] { open_run(pipe(file)); })) << file;
    for (const char* file : {"config.toml", "vocab.tsv", "log.jsonl", "saves/4/state.json", "saves/4/model.safetensors",
                             "events.out.tfevents.heddle", "search.toml"}) {
        if (std::string(file).starts_with("events") && !fs::exists(path("good-word") / file)) continue;
        const fs::path run = pipe(file);
        EXPECT_TRUE(refuses([&] { resume(run); })) << file;
    }
}

TEST_F(HostileRun, WeightsThatAreNotFiniteAreNamedWithTheirFile) {
    for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        const fs::path run = copy("good-word");
        nn::NamedTensors tensors = tensors_of(run);
        std::vector<double> values = tensors[3].second.to_vector();
        values.back() = bad;
        for (const DType dtype : {DType::f32, DType::bf16}) {
            tensors[3].second = Tensor::from(values, tensors[3].second.shape()).to(dtype);
            save_safetensors(run / "model.safetensors", tensors);
            const std::string wanted =
                fmt::format("{}: the weights {} hold NaN or infinity", (run / "model.safetensors").string(), tensors[3].first);
            expect_error([&] { open_run(run); }, wanted);
            expect_error([&] { init_from(run); }, wanted);
        }
    }
}

TEST_F(HostileRun, AnotherProgramsWeightsAreTakenAsTheyAre) {
    const fs::path run = copy("good-word");
    save_safetensors(run / "best.safetensors", tensors_of(run));
    EXPECT_EQ(weights(run, "best.safetensors"), weights(path("good-word"), "model.safetensors"));
}

}  // namespace
}  // namespace heddle::app
