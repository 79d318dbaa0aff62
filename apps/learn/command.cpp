// heddle learn: exercises that grade themselves.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "apps/command/commands.h"
#include "apps/learn/check.h"
#include "apps/learn/progress.h"
#include "apps/learn/report.h"
#include "apps/options/option_table.h"
#include "apps/options/suggestion.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/run/json.h"
#include "core/file.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;
using learn::ExercisePage;
using learn::ExerciseProgress;
using learn::Progress;

struct LearnOptions {
    std::string file;  ///< or an exercise's name
    std::string exercise;
    std::string folder;
    std::string out;  ///< the page that explain writes
    std::int64_t seconds = 5;
    bool json = false;

    fs::path learner_folder() const { return folder.empty() ? learn::usual_folder() : fs::path(folder); }
};

void add_folder(OptionTable& table, LearnOptions& options) {
    table.add("folder", options.folder, "your files, and progress.json")
        .defaults_to("this folder if it is one, else heddle-learn")
        .called("FOLDER");
}

Option& add_exercise(OptionTable& table, LearnOptions& options) {
    return table.add("exercise", options.exercise, "the exercise").called("NAME");
}

// The first exercise that is not passed; null if all are.
const ExercisePage* next_of(const std::vector<ExercisePage>& pages, const Progress& progress) {
    for (const ExercisePage& page : pages)
        if (!progress.at(page.name).passed) return &page;
    return nullptr;
}

// The next thing to do: "start guard", or "check guard" if that is started; empty if all are passed.
std::string next_step(const std::vector<ExercisePage>& pages, const Progress& progress) {
    const ExercisePage* const next = next_of(pages, progress);
    return next == nullptr ? "" : fmt::format("{} {}", progress.at(next->name).started ? "check" : "start", next->name);
}

std::string state_of(const ExerciseProgress& progress) {
    if (progress.passed) return "passed";
    if (progress.checks > 0) return fmt::format("{} check{}", progress.checks, progress.checks == 1 ? "" : "s");
    return progress.started ? "started" : "";
}

int list_command(Arguments arguments) {
    LearnOptions options;
    OptionTable table("learn list", "lists the exercises, and what you have passed");
    table.usage = "usage: heddle learn list [options]\n";
    add_folder(table, options);
    table.add("json", options.json, "as JSON");
    if (!parse_command_line(table, arguments)) return 0;
    const std::vector<ExercisePage> pages = learn::exercise_pages();
    const Progress progress(options.learner_folder());
    if (options.json) {
        nlohmann::ordered_json all = nlohmann::ordered_json::array();
        for (const ExercisePage& page : pages) {
            const ExerciseProgress one = progress.at(page.name);
            all.push_back({{"exercise", page.name},
                           {"track", page.track},
                           {"title", page.title},
                           {"started", one.started},
                           {"checks", one.checks},
                           {"hints", one.hints},
                           {"passed", one.passed}});
        }
        print(json_text(all) + "\n");
        return 0;
    }
    std::size_t passed = 0, longest = 0;
    for (const ExercisePage& page : pages) longest = std::max(longest, page.name.size());
    std::string text, track;
    for (const ExercisePage& page : pages) {
        const ExerciseProgress one = progress.at(page.name);
        passed += one.passed;
        if (page.track != track) text += fmt::format("{}{}\n", track.empty() ? "" : "\n", page.track);
        track = page.track;
        text += fmt::format("  {:<{}} {:<10} {}\n", page.name, longest, state_of(one), page.title);
    }
    text += fmt::format("\n{} of {} passed", passed, pages.size());
    if (const std::string next = next_step(pages, progress); !next.empty()) text += fmt::format("; next: heddle learn {}", next);
    print(text + "\n");
    return 0;
}

int start_command(Arguments arguments) {
    LearnOptions options;
    OptionTable table("learn start", "copies an exercise's starter and page into your folder");
    table.usage = "usage: heddle learn start NAME [options]\n";
    add_exercise(table, options).positional();
    add_folder(table, options);
    if (!parse_command_line(table, arguments)) return 0;
    const std::vector<ExercisePage> pages = learn::exercise_pages();
    check_usage(!options.exercise.empty(), "learn start: which exercise? see heddle learn list");
    const ExercisePage& page = learn::page_named(pages, options.exercise);
    Progress progress(options.learner_folder());
    const fs::path file = progress.folder() / page.file_name(), text = progress.folder() / (page.name + ".md");
    check(!fs::exists(file),
          "{} exists already and was left as it is; move it away to begin again, or check it: heddle learn check {}",
          file.string(), shell_word(file.string()));
    progress.of(page.name).started = true;
    progress.save();  // makes the folder
    if (!fs::exists(text))
        write_file_atomically(text, fmt::format("{}\nStuck? `heddle learn hint {}` shows the first of {} hints.\n", page.text,
                                                page.name, page.hints.size()));
    write_file_atomically(file, page.starter);
    print(fmt::format("read {}, edit {}, then: heddle learn check {}\n", text.string(), file.string(), page.name));
    return 0;
}

// The exercise that is meant when none is named: the one whose file was changed last. Without `passed_too` exercises that are
// passed count only if all are; with it they come after another one whose file has the same time.
std::string current_exercise(const std::vector<ExercisePage>& pages, const Progress& progress, bool passed_too = false) {
    std::string current;
    bool current_passed = false;
    fs::file_time_type latest;
    for (const ExercisePage& page : pages) {
        const fs::path file = progress.folder() / page.file_name();
        if (!fs::is_regular_file(file)) continue;
        const bool passed = progress.at(page.name).passed;
        const fs::file_time_type time = fs::last_write_time(file);
        const bool by_time = passed == current_passed || (passed_too && time != latest);
        if (!current.empty() && (by_time ? time <= latest : passed)) continue;
        current = page.name;
        current_passed = passed;
        latest = time;
    }
    check_usage(!current.empty(),
                fmt::format("learn: which exercise? none is started in {}; see heddle learn list", progress.folder().string()));
    return current;
}

struct Answer {
    const ExercisePage* page;
    fs::path file;
};

// The answer that `check`, `explain` and `watch` work on.
Answer answer_of(const std::vector<ExercisePage>& pages, const LearnOptions& options, const Progress& progress) {
    const bool is_name = std::ranges::find(pages, options.file, &ExercisePage::name) != pages.end();
    const bool is_file = !options.file.empty() && fs::is_regular_file(options.file);
    std::string name = options.exercise;
    if (name.empty() && is_name && !is_file) name = options.file;
    if (name.empty() && options.file.empty()) name = current_exercise(pages, progress, true);
    if (name.empty()) {
        name = fs::path(options.file).stem().string();
        if (is_file)
            check_usage(std::ranges::find(pages, name, &ExercisePage::name) != pages.end(),
                        fmt::format("learn: no exercise has the name of {}; say which one it answers with --exercise NAME",
                                    options.file));
    }
    const ExercisePage& page = learn::page_named(pages, name);
    fs::path file = is_file ? fs::path(options.file) : progress.folder() / page.file_name();
    if (!is_file && !options.file.empty() && !is_name) file = options.file;
    check_usage(fs::is_regular_file(file),
                fmt::format("learn: there is no file {}; make it with: heddle learn start {}", file.string(), name));
    return {&page, file};
}

OptionTable check_table(LearnOptions& options, const char* command, const char* summary,
                        const char* json = "the verdict as JSON") {
    OptionTable table(command, summary);
    table.usage = fmt::format("usage: heddle {} [FILE] [options]\n", command);
    table.add("file", options.file, "your file, or the name of the exercise")
        .defaults_to("what you edited last")
        .called("FILE")
        .positional();
    add_exercise(table, options).defaults_to("the file's name");
    add_folder(table, options);
    table
        .add("seconds", options.seconds,
             "processor time, and time of waiting, after which your answer is stopped; the compiler gets 12 times as long, at "
             "least 30")
        .at_least(1)
        .at_most(3600);
    table.add("json", options.json, json);
    return table;
}

// Checks once, prints the verdict and records it in the progress. Returns whether it is a pass.
bool check_once(const std::vector<ExercisePage>& pages, const Answer& answer, const LearnOptions& options) {
    const learn::CheckResult result = learn::check_file(*answer.page, answer.file, options.seconds);
    Progress progress(options.learner_folder());  // as it is now: a hint may have been asked for while watching
    ExerciseProgress& one = progress.of(answer.page->name);
    one.started = true;
    ++one.checks;
    one.passed |= result.verdict.passed();
    progress.save();
    print(options.json ? json_text(learn::json_of(*answer.page, result)) + "\n"
                       : learn::text_of(*answer.page, result, next_step(pages, progress)));
    return result.verdict.passed();
}

int check_command(Arguments arguments) {
    LearnOptions options;
    OptionTable table =
        check_table(options, "learn check", "compiles your answer, runs it with every access watched, and grades it");
    if (!parse_command_line(table, arguments)) return 0;
    const std::vector<ExercisePage> pages = learn::exercise_pages();
    return check_once(pages, answer_of(pages, options, Progress(options.learner_folder())), options) ? 0 : 1;
}

int explain_command(Arguments arguments) {
    LearnOptions options;
    OptionTable table =
        check_table(options, "learn explain", "checks your answer, and shows on a page what its warps ask of memory",
                    "the counts, all accesses and the verdict as JSON, as heddle explain --json prints them");
    table.add("out", options.out, "the page")
        .defaults_to("your file's name with .html, beside it; none with --json")
        .called("FILE");
    if (!parse_command_line(table, arguments)) return 0;
    const std::vector<ExercisePage> pages = learn::exercise_pages();
    const Answer answer = answer_of(pages, options, Progress(options.learner_folder()));
    check_usage(answer.page->on_device, fmt::format("learn explain: {0} is an op on the tape and has no kernel to show; grade it "
                                                    "with: heddle learn check {0}",
                                                    answer.page->name));
    if (options.out.empty() && !options.json) options.out = fs::path(answer.file).replace_extension(".html").string();
    if (!options.out.empty()) picture::check_replaceable(options.out);  // now, not after the run
    learn::CheckResult result = learn::check_file(*answer.page, answer.file, options.seconds, true);
    const std::string verdict =
        options.json ? json_text(learn::json_of(*answer.page, result)) + "\n" : learn::text_of(*answer.page, result, "");
    if (!result.run) {
        print(verdict);
        say(fmt::format("{}: no kernel ran, so there is nothing to show", answer.file.string()));
        return 1;
    }
    explain::show(std::array{learn::explanation_of(*answer.page, result)}, options.out, options.json, verdict);
    return 0;
}

int watch_command(Arguments arguments) {
    LearnOptions options;
    OptionTable table = check_table(options, "learn watch", "checks your answer each time that you save it, until it passes");
    if (!parse_command_line(table, arguments)) return 0;
    const std::vector<ExercisePage> pages = learn::exercise_pages();
    const Answer answer = answer_of(pages, options, Progress(options.learner_folder()));
    say(fmt::format("watching {}; end with Ctrl-C", answer.file.string()));
    for (fs::file_time_type checked = fs::file_time_type::min();; std::this_thread::sleep_for(std::chrono::milliseconds(200))) {
        std::error_code missing;  // an editor may replace the file: for a moment there is none
        const fs::file_time_type saved = fs::last_write_time(answer.file, missing);
        if (missing || saved == checked) continue;
        checked = saved;
        if (check_once(pages, answer, options)) return 0;
    }
}

// The exercise that an option names, or the one that was edited last.
const ExercisePage& chosen_page(const std::vector<ExercisePage>& pages, const LearnOptions& options, const Progress& progress,
                                bool passed_too) {
    return learn::page_named(pages, options.exercise.empty() ? current_exercise(pages, progress, passed_too) : options.exercise);
}

int hint_command(Arguments arguments) {
    LearnOptions options;
    OptionTable table("learn hint", "shows the next hint of an exercise");
    table.usage = "usage: heddle learn hint [NAME] [options]\n";
    add_exercise(table, options).defaults_to("what you edited last").positional();
    add_folder(table, options);
    if (!parse_command_line(table, arguments)) return 0;
    const std::vector<ExercisePage> pages = learn::exercise_pages();
    Progress progress(options.learner_folder());
    const ExercisePage& page = chosen_page(pages, options, progress, false);
    ExerciseProgress& one = progress.of(page.name);
    one.hints = std::min(one.hints + 1, static_cast<int>(page.hints.size()));
    progress.save();
    print(fmt::format("{}. {}\n", one.hints, page.hints[static_cast<std::size_t>(one.hints - 1)]));
    if (one.hints == static_cast<int>(page.hints.size()))
        say(fmt::format("that was the last hint; heddle learn solution {} shows an answer", page.name));
    return 0;
}

int solution_command(Arguments arguments) {
    LearnOptions options;
    OptionTable table("learn solution", "shows an answer: after yours has passed, or when asked twice");
    table.usage = "usage: heddle learn solution [NAME] [options]\n";
    add_exercise(table, options).defaults_to("what you edited last").positional();
    add_folder(table, options);
    if (!parse_command_line(table, arguments)) return 0;
    const std::vector<ExercisePage> pages = learn::exercise_pages();
    Progress progress(options.learner_folder());
    const ExercisePage& page = chosen_page(pages, options, progress, true);
    ExerciseProgress& one = progress.of(page.name);
    if (!one.passed && !one.asked_for_solution) {
        one.asked_for_solution = true;
        progress.save();
        say(fmt::format("{} is not passed yet; ask again to see an answer, or for a hint: heddle learn hint {}", page.name,
                        page.name));
        return 1;
    }
    print(page.solution);
    return 0;
}

struct Command {
    std::string_view name;
    std::string_view summary;
    int (*run)(Arguments);
};
constexpr Command commands[] = {
    {"list", "the exercises, and what you have passed; the same as heddle learn", list_command},
    {"start", "copies an exercise's starter and page into your folder", start_command},
    {"check", "compiles, runs and grades your answer", check_command},
    {"explain", "checks your answer, and shows on a page what its warps ask of memory", explain_command},
    {"watch", "checks your answer each time that you save it", watch_command},
    {"hint", "shows the next hint", hint_command},
    {"solution", "shows an answer: after yours has passed, or when asked twice", solution_command},
};

int print_help() {
    std::string text = "heddle learn - exercises in gradients and CUDA kernels that grade themselves, without a GPU\n\n";
    for (const Command& command : commands) text += fmt::format("  heddle learn {:<11}{}\n", command.name, command.summary);
    print(text + "\nheddle learn check --help and the like show the options.\n");
    return 0;
}

}  // namespace

int learn_command(Arguments arguments) {
    const std::string name = arguments.empty() ? "list" : arguments[0];
    if (name == "--help" || name == "-h") return print_help();
    if (name.starts_with("--")) return list_command(arguments);
    std::vector<std::string> names;
    for (const Command& command : commands) {
        if (command.name == name) return command.run(arguments.empty() ? arguments : arguments.subspan(1));
        names.emplace_back(command.name);
    }
    throw UsageError(fmt::format("learn: there is no '{}'{}", name, did_you_mean(name, names, "see heddle learn --help")));
}

}  // namespace heddle::app
