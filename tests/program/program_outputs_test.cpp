// Commands never overwrite their inputs, and a failing stderr does not affect results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/digest.h"
#include "tests/program.h"
#include "tests/toy_runs.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Outputs : public testing::Test {
  protected:
    Outputs() {
        write_toy_corpus(here_, 12);
        const ProgramResult result = here_.run(
            "train --train text --valid text --source a --target b --vocab-type word --layers 1 --d-model 8 --heads 2 --d-ff 8 "
            "--threads 1 --batch-tokens 40 --valid-sentences 2 --updates 4 --save-every 2 --keep 0 --out run");
        EXPECT_EQ(result.status, 0) << result.err;
    }
    // Expects that the command ends with status 1 and this message, and the file is unchanged.
    void expect_refused(const std::string& command, const std::string& file, const std::string& message,
                        const std::string& input = "") const {
        const std::string before = here_.read(file);
        EXPECT_FALSE(before.empty()) << file;
        const ProgramResult result = here_.run(command, input);
        EXPECT_EQ(result.status, 1) << command << "\n" << result.err;
        EXPECT_THAT(result.err, HasSubstr(message)) << command;
        EXPECT_EQ(here_.read(file), before) << command;
    }
    // Other names of a file: another spelling, a hard link, a symbolic link, a path through a linked folder.
    std::vector<std::string> names_of(const std::string& file) const {
        const auto fresh = [&](const std::string& name) {
            fs::remove(here_.path(name));
            return here_.path(name);
        };
        fs::create_hard_link(here_.path(file), fresh("hard"));
        fs::create_symlink(here_.path(file), fresh("soft"));
        fs::create_directory_symlink(here_.path(""), fresh("folder"));
        return {file, "./" + file, "run/../" + file, here_.path(file), "hard", "soft", "folder/" + file};
    }

    const Workplace here_;
};

TEST_F(Outputs, OfEvaluateSpareWhatItReads) {
    here_.write("options.toml", "beam = 2\n");
    for (const std::string file : {"text.a", "text.b", "run/config.toml", "run/model.safetensors", "run/saves/2/state.json",
                                   "run/log.jsonl", "options.toml"})
        for (const std::string& name : names_of(file))
            expect_refused("evaluate run --test text --config options.toml --output " + name, file,
                           "--output " + name + ": this would replace ");
    here_.write("model.txt", "a b\tA B\n");
    expect_refused("evaluate run --test model.txt --tsv --results .", "model.txt", "--results ./model.txt: this would replace ");
    here_.write("stdin", "");  // where run() would create it
    const ProgramResult piped = here_.run("evaluate run --test - --tsv --output stdin", "a b\tA B\n");
    EXPECT_EQ(piped.status, 1);
    EXPECT_THAT(piped.err, HasSubstr("--output stdin: this would replace standard input, which the command reads"));
    EXPECT_EQ(here_.read("stdin"), "a b\tA B\n");

    const ProgramResult fine = here_.run("evaluate run --test text --output run/translations.txt --results run");
    EXPECT_EQ(fine.status, 0) << fine.err;
    EXPECT_EQ(here_.run("evaluate run --test text --output run/translations.txt --results run").status, 0) << "again";
    EXPECT_EQ(lines_of(here_.read("run/translations.txt")).size(), 12u);
}

TEST_F(Outputs, OfAverageSpareTheRun) {
    for (const std::string file :
         {"run/config.toml", "run/vocab.tsv", "run/best.safetensors", "run/saves/2/model.safetensors", "run/log.jsonl"})
        for (const std::string& name : names_of(file))
            expect_refused("average run --last 2 --out " + name, file, "--out " + name + ": this would replace ");
    EXPECT_EQ(here_.run("average run --last 2 --out run/mean.safetensors").status, 0);
    EXPECT_EQ(here_.run("average run --last 2 --out run/mean.safetensors").status, 0) << "again";
    EXPECT_EQ(here_.run("average run --last 2").status, 0);
    const std::string mean = digest(here_.read("run/model.safetensors"));
    for (const char* name : {"run/model.safetensors", "./run/model.safetensors", "run/saves/../model.safetensors"}) {
        here_.write("run/model.safetensors", "");
        const ProgramResult own = here_.run("average run --last 2 --out " + std::string(name));
        EXPECT_EQ(own.status, 0) << own.err;
        EXPECT_EQ(digest(here_.read("run/model.safetensors")), mean) << "it is the default";
    }
}

TEST_F(Outputs, OfTrainAndPrepareSpareWhatTheyRead) {
    const std::string text = " --train text --source a --target b --vocab-type word";
    const std::string over = " --layers 1 --d-model 8 --heads 2 --d-ff 8 --updates 2 --out run --overwrite";
    expect_refused("train" + text + over + " --vocab-model run/vocab.tsv", "run/vocab.tsv", "--out run/vocab.tsv: this would");
    for (const std::string& name : names_of("run/best.safetensors"))
        expect_refused("train" + text + over + " --embeddings " + name, "run/best.safetensors",
                       "--out run/best.safetensors: this would replace " + name);
    const ProgramResult again = here_.run("train --config run/config.toml --out run --overwrite");
    EXPECT_EQ(again.status, 0) << "a run may be repeated in its place: " << again.err;

    ASSERT_EQ(here_.run("prepare" + text + " --out ids").status, 0);
    for (const std::string& name : names_of("ids/vocab.tsv"))
        expect_refused("prepare --train text --source a --target b --overwrite --out ids --vocab-type word --vocab-model " + name,
                       "ids/vocab.tsv", "--out ids/vocab.tsv: this would replace ");
}

TEST_F(Outputs, AreRegularFiles) {
    ASSERT_EQ(mkfifo(here_.path("pipe").c_str(), 0600), 0);
    for (const std::string command : {"evaluate run --test text --output ", "average run --last 2 --out "})
        for (const char* name : {"pipe", "run"}) {
            const ProgramResult result = here_.run(command + name);
            EXPECT_EQ(result.status, 1) << result.err;
            EXPECT_THAT(result.err, HasSubstr(name));
        }
    EXPECT_TRUE(fs::is_fifo(here_.path("pipe")));
    // A link like /dev/stdout; root could replace it.
    fs::create_symlink("/proc/self/fd/1", here_.path("stream"));
    expect_complaint(here_.run("evaluate run --test text --output stream"), 1, "--output stream: it is a named pipe, a device");
    EXPECT_TRUE(fs::is_symlink(here_.path("stream")));
    // Reported before anything is translated.
    const ProgramResult nowhere = here_.run("evaluate run --test text --output nowhere/lines");
    expect_complaint(nowhere, 1, "there is no folder 'nowhere'");
}

TEST_F(Outputs, OfPicturesReplaceNoForeignOnes) {
    for (int i = 0; i < 2; ++i) ASSERT_EQ(here_.run("summary --layers 1 --pictures model").status, 0) << "its own are replaced";
    int pictures = 0;
    for (const auto& entry : fs::directory_iterator(here_.path("model"))) {
        if (entry.path().extension() != ".svg") continue;
        ++pictures;
        const std::string file = "model/" + entry.path().filename().string(), drawn = here_.read(file);
        here_.write(file, "<svg>mine</svg>");
        expect_refused("summary --layers 2 --pictures model", file, file + ": this file is no picture that heddle drew");
        here_.write(file, drawn);
    }
    EXPECT_GT(pictures, 3);
    for (int i = 0; i < 2; ++i) ASSERT_EQ(here_.run("translate run --attention maps --svg", "a b\n").status, 0);
    fs::create_directories(here_.path("mine/line-1"));
    here_.write("mine/line-1/words.svg", "<svg>mine</svg>");
    expect_refused("translate run --attention mine --svg", "mine/line-1/words.svg", "words.svg: this file is no picture",
                   "a b\n");
}

TEST_F(Outputs, OfTranslateAreNotReadAgain) {
    here_.write("line.sh", "cd '" + here_.path("") + "' && exec '" HEDDLE_PROGRAM "' translate run <text.a >>text.a 2>stderr");
    const std::string before = here_.read("text.a");
    const int status = std::system(("timeout 60 sh '" + here_.path("line.sh") + "'").c_str());
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_THAT(here_.read("stderr"), HasSubstr("standard input and standard output are one file"));
    EXPECT_EQ(here_.read("text.a"), before);
}

// ---- stderr

// A command prints the same if its stderr is closed, full, or a pipe without a reader.
TEST_F(Outputs, NeedNoStderr) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    close(ends[0]);
    ASSERT_EQ(dup2(ends[1], 9), 9);  // a descriptor that the shell can redirect
    close(ends[1]);
    const auto handler = signal(SIGPIPE, SIG_DFL);
    const auto printed = [&](const std::string& command, const std::string& redirection) {
        here_.write("printed", "");
        here_.write("line.sh",
                    "cd '" + here_.path("") + "' && exec '" HEDDLE_PROGRAM "' " + command + " <text.a >printed " + redirection);
        const int status = std::system(("sh '" + here_.path("line.sh") + "'").c_str());
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command << " " << redirection << ": " << status;
        return here_.read("printed");
    };
    // Its position table truncates lines, which is noted.
    ASSERT_EQ(here_
                  .run("train --train text --valid text --source a --target b --vocab-type word --layers 1 --d-model 8 --heads 2 "
                       "--d-ff 8 --batch-tokens 40 --updates 2 --positions learned --position-table 4 --out short")
                  .status,
              0);
    const std::string files = " --source-file text.a --target-file text.b";
    for (const std::string& command :
         {std::string("evaluate run --test text"), std::string("evaluate run --test text --sentences"),
          std::string("evaluate short --test text"), std::string("translate short"), "score run" + files, "score short" + files,
          std::string("summary run"), std::string("evaluate --hypotheses text.a --reference text.b --sentences")}) {
        const std::string whole = printed(command, "2>stderr");
        EXPECT_FALSE(whole.empty()) << command;
        for (const char* redirection : {"2>&-", "2>/dev/full", "2>&9"})
            EXPECT_EQ(printed(command, redirection), whole) << command << " " << redirection;
    }
    const std::string score = printed("evaluate run --test text", "2>stderr");
    EXPECT_EQ(printed("evaluate run --test text --output lines --results results", "2>&9"), score);
    EXPECT_EQ(lines_of(here_.read("lines")).size(), 12u);
    signal(SIGPIPE, handler);
    close(9);
}

// An error keeps its own status without a stderr, instead of that of a signal.
TEST_F(Outputs, ErrorsKeepTheirStatusWithoutAStderr) {
    for (const char* redirection : {"2>&-", "2>/dev/full"}) {
        here_.write("line.sh", "cd '" + here_.path("") + "' && exec '" HEDDLE_PROGRAM "' translate nothing " + redirection);
        const int status = std::system(("sh '" + here_.path("line.sh") + "' </dev/null").c_str());
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << redirection << ": " << status;
    }
}

}  // namespace
}  // namespace heddle
