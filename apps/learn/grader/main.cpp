// The `heddle-grader` program, started by `heddle learn check`: runs the learner's kernel, compiled as a shared library, with the
// harness of its exercise on the emulated device, every access watched; or the learner's op on Heddle's tape.
//
//     heddle-grader EXERCISE LIBRARY.so SOURCE RESULT [RUN]        SOURCE: the name of the learner's file in reports
//
// The verdict goes to the file RESULT, what the kernel prints to stdout, and all accesses of the run that the verdict is about to
// the file RUN (traced_run.h). Exit status 0 if there is a verdict.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/learn/grader/attempt.h"
#include "apps/learn/grader/tape_attempt.h"
#include "apps/learn/grader/watch.h"
#include "kernels/emulator/kernel_name.h"
#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/run.h"

namespace {

using namespace heddle::learn;

constexpr unsigned kOrders = 8;  // orders of threads and blocks, each tried with every shape

class Grader {
  public:
    /// With `keeps_run`, take_run() returns the accesses of the attempt that the verdict is about.
    Grader(const Exercise& exercise, void* library, std::string source, bool keeps_run)
        : exercise_(exercise), library_(library), source_(std::move(source)), keeps_run_(keeps_run) {}

    Verdict grade() {
        for (const Sizes& sizes : exercise_.shapes) {
            std::vector<std::byte> first;
            for (unsigned order = 1; order <= kOrders; ++order) {
                Result result = attempt(sizes, order, Recording::accesses);
                stop_printing();
                if (result.verdict.kind == "uninitialised") result = race_instead(sizes, order, std::move(result));
                if (result.verdict.kind == "values") {  // run once more to learn who wrote it
                    Result traced = attempt(sizes, order, Recording::costs);
                    if (traced.verdict.kind == "values") result = std::move(traced);
                }
                if (result.verdict.passed() && order > 1 && result.bits != first)
                    result.verdict = {
                        .kind = "bits",
                        .text = "the results differ in their last bits from run to run: they depend on the order of threads"};
                if (!result.verdict.passed()) return keep(std::move(result), sizes);
                if (order == 1) first = std::move(result.bits);
            }
        }
        return keep(attempt(exercise_.shapes.back(), 1, Recording::costs), exercise_.shapes.back());
    }
    /// May be called once, after grade().
    TracedRun take_run() { return std::move(run_); }

    /// The accesses of the running attempt so far, for another thread of the CPU that has stopped it. Nothing if it was stopped
    /// where they cannot be read.
    std::optional<TracedRun> run_so_far() const {
        if (running_ == nullptr) return {};
        std::optional<TracedRun> run = running_->run_so_far();
        if (run) add_sizes(*run, running_sizes_);
        return run;
    }

  private:
    struct Result {
        Verdict verdict;
        std::vector<std::byte> bits;
        TracedRun run;  // empty unless it is kept
    };

    // If a read of unwritten shared memory lacks a barrier before it, the write comes later. Then the two are a race, whose
    // verdict names both lines.
    Result race_instead(const Sizes& sizes, unsigned order, Result unwritten) {
        heddle::emulator::checker::report_unwritten_shared(false);
        Result found = attempt(sizes, order, Recording::accesses);
        heddle::emulator::checker::report_unwritten_shared(true);
        return std::move(found.verdict.kind == "race" ? found : unwritten);
    }

    // Runs the harness once; the same order gives the same run. Accesses are recorded only if they are kept.
    Result attempt(const Sizes& sizes, unsigned order, Recording recording) {
        if (recording == Recording::accesses && !keeps_run_) recording = Recording::nothing;
        heddle::emulator::set_seed(order);
        Attempt one(library_, source_, recording);
        running_sizes_ = sizes;
        running_ = &one;
        Result result;
        try {
            exercise_.run(one, sizes);
            result.bits = one.bits();
            if (recording == Recording::costs) result.verdict.cost = one.cost();
        } catch (const Failed& failed) {
            result.verdict = failed.verdict;
        }
        running_ = nullptr;
        if (keeps_run_) result.run = one.take_run();
        return result;
    }

    void add_sizes(TracedRun& run, const Sizes& sizes) const {
        run.axes = exercise_.axes;
        run.sizes = sizes;
    }
    Verdict keep(Result result, const Sizes& sizes) {
        run_ = std::move(result.run);
        add_sizes(run_, sizes);
        result.verdict.shape = shape_text(exercise_, sizes);
        return result.verdict;
    }

    const Exercise& exercise_;
    void* library_;
    std::string source_;
    bool keeps_run_;
    TracedRun run_;
    Attempt* running_ = nullptr;
    Sizes running_sizes_;
};

// Writes the run; its places name the learner's file without folders, as verdicts do.
bool write_run(TracedRun run, const std::string& source, const std::string& path) {
    for (heddle::emulator::TracedLaunch& launch : run.launches)
        for (heddle::emulator::TraceSite& site : launch.sites) site.place = without_folders(std::move(site.place), source);
    lift_print_limit();
    return write_traced_run(std::move(run), path);
}

template <class T>
const T* named(const std::vector<const T*>& all, const std::string& name) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const T* one) { return one->name == name; });
    return found == all.end() ? nullptr : *found;
}

int run(const std::string& name, const char* library, const std::string& source, const std::string& result, int seconds,
        const std::string& run_file) {
    const Exercise* const exercise = named(exercises(), name);
    const TapeExercise* const on_tape = named(tape_exercises(), name);
    if (exercise == nullptr && on_tape == nullptr) {
        std::fprintf(stderr, "heddle-grader: there is no exercise '%s'\n", name.c_str());
        return 2;
    }
    std::optional<Grader> grader;
    watch({.seconds = seconds}, source, result, [&] {
        if (run_file.empty()) return true;
        std::optional<TracedRun> so_far = grader ? grader->run_so_far() : std::nullopt;
        if (so_far) write_run(std::move(*so_far), source, run_file);
        return so_far.has_value();
    });
    void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    Verdict verdict;
    if (opened == nullptr) {
        std::string why = dlerror();
        if (const std::size_t at = why.find("undefined symbol: "); at != std::string::npos)
            why = "it uses " + heddle::emulator::demangled(why.substr(at + 18).c_str()) + ", which is nowhere defined";
        verdict = {.kind = "compile", .text = why};
    } else if (on_tape != nullptr) {
        verdict = grade(*on_tape, Answer(opened, source));
    } else {
        verdict = grader.emplace(*exercise, opened, source, !run_file.empty()).grade();
        if (!run_file.empty() && !write_run(grader->take_run(), source, run_file)) return 1;
    }
    const bool written = write_verdict(verdict, result);
    std::fflush(stdout);
    _exit(written ? 0 : 1);  // at once: the watcher still runs
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 6 && count != 7) {
        std::fputs("heddle-grader is started by heddle learn check; use that\n", stderr);
        return 2;
    }
    try {
        return run(arguments[1], arguments[2], arguments[3], arguments[4], std::atoi(arguments[5]),
                   count == 7 ? arguments[6] : "");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "heddle-grader: %s\n", error.what());
        return 1;
    }
}
