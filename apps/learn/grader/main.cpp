// The `heddle-grader` program, started by `heddle learn check`: runs the learner's kernel, compiled as a shared library, with the
// harness of its exercise on the emulated device, every access watched.
//
//     heddle-grader EXERCISE LIBRARY.so SOURCE RESULT        SOURCE: the name of the learner's file in reports
//
// The verdict goes to the file RESULT, what the kernel prints to stdout. Exit status 0 if there is a verdict.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "apps/learn/grader/attempt.h"
#include "apps/learn/grader/watch.h"
#include "kernels/emulator/checker.h"
#include "kernels/emulator/kernel_name.h"
#include "kernels/emulator/run.h"

namespace {

using namespace heddle::learn;

constexpr unsigned kOrders = 8;  // of threads and blocks, each with every shape

// What kernels print is shown once, not for every order of threads.
void close_stdout() {
    std::fflush(stdout);
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
}

class Grader {
  public:
    Grader(const Exercise& exercise, void* library, std::string source)
        : exercise_(exercise), library_(library), source_(std::move(source)) {}

    Verdict grade() {
        for (const Sizes& sizes : exercise_.shapes) {
            std::vector<std::byte> first;
            for (unsigned order = 1; order <= kOrders; ++order) {
                std::vector<std::byte> bits;
                Verdict verdict = attempt(sizes, order, false, bits);
                close_stdout();
                if (verdict.kind == "uninitialised") verdict = race_instead(sizes, order, verdict);
                if (verdict.kind == "values") {  // once more, to know who wrote it
                    const Verdict traced = attempt(sizes, order, true, bits);
                    if (traced.kind == "values") verdict = traced;
                }
                if (verdict.passed() && order > 1 && bits != first)
                    verdict = {
                        .kind = "bits",
                        .text = "the results differ in their last bits from run to run: they depend on the order of threads",
                        .shape = "",
                        .cost = {}};
                if (!verdict.passed()) {
                    verdict.shape = shape_text(exercise_, sizes);
                    return verdict;
                }
                if (order == 1) first = std::move(bits);
            }
        }
        std::vector<std::byte> bits;
        Verdict verdict = attempt(exercise_.shapes.back(), 1, true, bits);
        verdict.shape = shape_text(exercise_, exercise_.shapes.back());
        return verdict;
    }

  private:
    // A read of shared memory that was never written may be one before which a barrier is missing: then a write comes later, and
    // the two are a race, which names both lines.
    Verdict race_instead(const Sizes& sizes, unsigned order, const Verdict& verdict) {
        std::vector<std::byte> bits;
        heddle::emulator::checker::report_unwritten_shared(false);
        const Verdict found = attempt(sizes, order, false, bits);
        heddle::emulator::checker::report_unwritten_shared(true);
        return found.kind == "race" ? found : verdict;
    }

    // The same order gives the same run.
    Verdict attempt(const Sizes& sizes, unsigned order, bool traced, std::vector<std::byte>& bits) {
        heddle::emulator::set_seed(order);
        Attempt one(library_, source_, traced);
        try {
            exercise_.run(one, sizes);
        } catch (const Failed& failed) {
            return failed.verdict;
        }
        bits = one.bits();
        Verdict verdict;
        if (traced) verdict.cost = one.cost();
        return verdict;
    }

    const Exercise& exercise_;
    void* library_;
    std::string source_;
};

Verdict grade(const Exercise& exercise, const char* library, const std::string& source) {
    void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
        std::string why = dlerror();
        if (const std::size_t at = why.find("undefined symbol: "); at != std::string::npos)
            why = "it uses " + heddle::emulator::demangled(why.substr(at + 18).c_str()) + ", which is nowhere defined";
        return {.kind = "compile", .text = why, .shape = "", .cost = {}};
    }
    return Grader(exercise, opened, source).grade();
}

int run(const std::string& name, const char* library, const std::string& source, const std::string& result) {
    const std::vector<const Exercise*>& all = exercises();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Exercise* one) { return one->name == name; });
    if (found == all.end()) {
        std::fprintf(stderr, "heddle-grader: there is no exercise '%s'\n", name.c_str());
        return 2;
    }
    watch({}, source, result);
    const bool written = write_verdict(grade(**found, library, source), result);
    std::fflush(stdout);
    _exit(written ? 0 : 1);  // at once: the watcher still runs
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 5) {
        std::fputs("heddle-grader is started by heddle learn check; use that\n", stderr);
        return 2;
    }
    try {
        return run(arguments[1], arguments[2], arguments[3], arguments[4]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "heddle-grader: %s\n", error.what());
        return 1;
    }
}
