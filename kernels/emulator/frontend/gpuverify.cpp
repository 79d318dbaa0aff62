#include "kernels/emulator/frontend/gpuverify.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "kernels/emulator/frontend/findings.h"
#include "kernels/emulator/frontend/process.h"
#include "kernels/emulator/frontend/report.h"

namespace heddle::emulator::frontend {
namespace {

std::vector<unsigned> read_extents(const std::string& option, std::string text) {
    const std::string all = text;
    if (text.size() > 1 && text.front() == '[' && text.back() == ']') text = text.substr(1, text.size() - 2);
    std::vector<unsigned> extents;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        if (part.empty() || part.size() > 8 || part.find_first_not_of("0123456789") != std::string::npos)
            throw Refused(option + " is '" + all + "', wanted 64 or [8,8]");
        extents.push_back(static_cast<unsigned>(std::stoul(part)));
    }
    if (extents.empty() || extents.size() > 3) throw Refused(option + " is '" + all + "', wanted one to three extents");
    return extents;
}

// GPUVerify takes blocks that no chip has; the halves of such a block have the same mistakes.
void fit_block(std::vector<unsigned>& block) {
    const auto threads = [&] {
        unsigned long long product = 1;
        for (const unsigned extent : block) product *= extent;
        return product;
    };
    while (threads() > 1024 || (block.size() == 3 && block[2] > 64)) {
        auto& largest = block.size() == 3 && block[2] > 64 ? block[2] : *std::max_element(block.begin(), block.end());
        largest /= 2;
    }
}

}  // namespace

Expectation read_expectation(const std::string& source) {
    std::ifstream stream(source);
    std::string first, second;
    if (!stream) throw Refused(source + ": there is no such file");
    std::getline(stream, first);
    std::getline(stream, second);
    std::transform(first.begin(), first.end(), first.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    while (!first.empty() && std::isspace(static_cast<unsigned char>(first.back())) != 0) first.pop_back();
    Expectation expectation;
    if (first == "//pass")
        expectation.passes = true;
    else if (first.rfind("//xfail:", 0) != 0)
        throw Refused(source + ":1: wanted //pass or //xfail:NOT_ALL_VERIFIED, as files of GPUVerify's testsuite begin");
    else if (first != "//xfail:not_all_verified")
        throw Refused(source + ":1: left out: " + first.substr(8) + " is an error of GPUVerify's own front end");
    if (second.rfind("//", 0) != 0) throw Refused(source + ":2: wanted //--blockDim=N --gridDim=N");
    std::istringstream words(second.substr(2));
    for (std::string word; words >> word;) {
        const std::string value = word.substr(std::min(word.find('=') + 1, word.size()));
        if (word.rfind("--blockDim=", 0) == 0) expectation.block = read_extents("--blockDim", value);
        if (word.rfind("--gridDim=", 0) == 0) expectation.grid = read_extents("--gridDim", value);
        if (word.rfind("-D", 0) == 0 || word.rfind("-I", 0) == 0) expectation.compile_options.push_back(word);
        if (word.rfind("--warp-sync=", 0) == 0)
            throw Refused(source + ":2: left out: " + word + " orders the threads of a warp, as chips before sm_70 do");
        expectation.only_barriers = expectation.only_barriers || word == "--only-divergence";
        expectation.equal_memory = expectation.equal_memory || word == "--equality-abstraction";
    }
    fit_block(expectation.block);
    return expectation;
}

Meaning meaning_of(const ViolationRecord& record, const Expectation& expectation) {
    const auto says = [&](const char* words) { return record.text.find(words) != std::string::npos; };
    if (record.kind == "assert" && says("a precondition of GPUVerify")) return Meaning::unmet;
    // That a thread has left before a barrier is a note of a chip's, and divergence for GPUVerify.
    if (record.kind == "barrier" || record.kind == "deadlock") return Meaning::error;
    if (record.kind == "portability" && says("has left")) return Meaning::error;
    if (record.kind == "out-of-time") return Meaning::cut;
    if (record.note || record.kind == "launched" || record.kind == "again") return Meaning::nothing;
    if (record.kind == "uninitialized" || (record.kind == "race" && expectation.only_barriers)) return Meaning::nothing;
    if (record.kind == "race") return record.same_value ? Meaning::same : Meaning::error;
    if (expectation.only_barriers) return Meaning::cut;
    // Arrays have no bounds there. But a null pointer is an error, and so are a write to a constant, and an element of an array
    // that has none.
    const bool is_no_array = record.kind == "out-of-bounds" && (says("host memory") || says("constant memory") ||
                                                                says("no memory of the device") || says(" of 0 bytes"));
    return record.kind == "assert" || is_no_array ? Meaning::error : Meaning::cut;
}

namespace {

/// The two lines of a race, in either order.
using Lines = std::tuple<std::string, std::string, int, std::string, int>;
Lines lines_of(const ViolationRecord& record) {
    std::pair<std::string, int> first{record.file, record.line}, second{record.other_file, record.other_line};
    if (second < first) std::swap(first, second);
    return {record.kernel, first.first, first.second, second.first, second.second};
}

/// What a run of one draw showed.
struct Drawn {
    std::vector<ViolationRecord> errors;
    std::set<Lines> same;
    bool is_unmet = false;
    std::string cut;  // why it did not run to its end; empty: it did
};

class Draws {
  public:
    Draws(const Settings& settings, std::string program, const Expectation& expectation, std::size_t kernels)
        : settings_(settings), program_(std::move(program)), expectation_(expectation), kernels_(kernels) {}

    /// Runs the draw. With `known`, memory is arbitrary, and only races at these lines count: elsewhere the program may have gone
    /// where no memory would lead it.
    Drawn run(const Draw& draw, std::uint64_t seed, double limit, const std::set<Lines>* known = nullptr) {
        ProgramRun run;
        run.words = {program_, std::to_string(draw.number), known == nullptr ? "0" : expectation_.equal_memory ? "1" : "2"};
        for (const ChosenValue& chosen : draw.chosen)
            for (const long long word :
                 {static_cast<long long>(chosen.kernel), static_cast<long long>(chosen.index), chosen.value})
                run.words.push_back(std::to_string(word));
        std::ostringstream seconds;
        seconds << limit;
        // Programs that are compiled without optimisation need more stack.
        run.environment = {"HEDDLE_EMULATOR_SEED=" + std::to_string(seed), "HEDDLE_EMULATOR_CHIP=" + settings_.chip,
                           "HEDDLE_EMULATOR_SECONDS=" + seconds.str(), "HEDDLE_EMULATOR_STACK=262144"};
        if (!settings_.memory.empty()) run.environment.push_back("HEDDLE_EMULATOR_MEMORY=" + settings_.memory);
        run.shown = false;
        run.longest = std::chrono::milliseconds(static_cast<std::int64_t>((limit + 2) * 1000));
        Drawn drawn;
        std::uint64_t launched = 0;
        run.record = [&](std::string_view line) {
            std::optional<ViolationRecord> record = decode(line);
            if (!record) return;
            if (record->kind == "launched") launched += record->cost.launches;
            switch (meaning_of(*record, expectation_)) {
                case Meaning::nothing: break;
                case Meaning::unmet: drawn.is_unmet = true; break;
                case Meaning::same: drawn.same.insert(lines_of(*record)); break;
                case Meaning::cut: drawn.cut = record->kind + ": " + record->text; break;
                case Meaning::error:
                    if (known != nullptr && (record->kind != "race" || known->count(lines_of(*record)) == 0)) break;
                    record->note = false;  // a note of a chip's counts there
                    drawn.errors.push_back(std::move(*record));
            }
        };
        const Ended ended = run_program(run, input_);
        if (drawn.cut.empty() && drawn.errors.empty() && !drawn.is_unmet) {
            if (ended.too_long) drawn.cut = "it was ended after " + seconds.str() + " seconds";
            if (ended.signal != 0 && !ended.too_long) drawn.cut = "it was ended by signal " + std::to_string(ended.signal);
            if (ended.signal == 0 && ended.status != 0) drawn.cut = "it returned " + std::to_string(ended.status);
            if (drawn.cut.empty() && launched < kernels_)
                drawn.cut = "only " + std::to_string(launched) + " of " + std::to_string(kernels_) + " kernels ran";
        }
        return drawn;
    }

  private:
    const Settings& settings_;
    std::string program_;
    const Expectation& expectation_;
    std::size_t kernels_;
    Input input_;
};

std::string text_of(const Draw& draw) {
    std::string text = "draw " + std::to_string(draw.number);
    for (const ChosenValue& chosen : draw.chosen)
        text += ", " + (chosen.name.empty() ? "parameter " + std::to_string(chosen.index + 1) : chosen.name) + " = " +
                std::to_string(chosen.value);
    return text;
}

// Everything as written: no call is removed because its result is not used, and a local variable without a value is memory.
std::vector<std::string> annotation_options(const std::filesystem::path& headers) {
    const std::filesystem::path folder = headers / "kernels/emulator";
    std::vector<std::string> options = {"-O0", "-DHEDDLE_GPUVERIFY"};
    // GPUVerify's own cuda.h includes these.
    for (const char* const name : {"cooperative_groups.h", "curand_kernel.h", "math_constants.h"})
        if (std::filesystem::exists(folder / "include" / name)) options.insert(options.end(), {"-include", name});
    options.insert(options.end(), {"-include", (folder / "cuda/gpuverify.h").string()});
    return options;
}

std::string counted_draws(std::size_t number) { return std::to_string(number) + (number == 1 ? " draw" : " draws"); }

}  // namespace

int check_as_gpuverify(const Settings& given) {
    Settings settings = given;
    if (settings.sources.size() != 1) throw Refused("--gpuverify takes one file");
    if (settings.orders != Settings().orders)
        throw Refused("--gpuverify runs each of its draws once; leave out --orders and change --seed for others");
    if (std::any_of(settings.compile_options.begin(), settings.compile_options.end(),
                    [](const std::string& option) { return option.rfind("-O", 0) == 0; }))
        throw Refused("--gpuverify compiles without optimisation, so that no call is removed; leave out -O");
    if (settings.cost || settings.leaks || settings.same_value || settings.repeats != 0 || !settings.json.empty() ||
        !settings.sarif.empty() || !settings.program_arguments.empty())
        throw Refused(
            "--gpuverify has no --cost, --leaks, --allow-same-value, --repeats, --json, --sarif and arguments of the program");
    const Expectation expectation = read_expectation(settings.sources[0]);
    for (const std::vector<std::string>& options : {annotation_options(settings.toolkit.headers), expectation.compile_options})
        settings.compile_options.insert(settings.compile_options.end(), options.begin(), options.end());
    const Scratch scratch;
    const Builder builder(settings, scratch);
    std::vector<SourceUnit> units = builder.read(settings.sources);
    add_draws(units[0], expectation);
    const std::vector<Draw> draws = draws_of(units[0]);
    Draws runs(settings, builder.program(units).string(), expectation, units[0].rewritten.kernels.size());

    const auto start = std::chrono::steady_clock::now();
    Findings findings;
    std::size_t ran = 0, unmet = 0, done = 0;
    std::string cut;
    const std::size_t all = std::max(draws.size(), static_cast<std::size_t>(settings.orders));
    for (; done < all && findings.violations() == 0; ++done) {
        const Draw& draw = draws[done % draws.size()];
        const double left =
            settings.total_seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (done > 0 && left < 0.5) break;
        const double limit = std::min(settings.seconds, left);
        Drawn drawn = runs.run(draw, settings.seed + done, limit);
        // GPUVerify tolerates a write of the same value only where it knows that both values are the same.
        if (!drawn.is_unmet && drawn.errors.empty() && !drawn.same.empty())
            drawn.errors = runs.run(draw, settings.seed + done, limit, &drawn.same).errors;
        if (drawn.is_unmet)
            ++unmet;
        else if (drawn.errors.empty() && !drawn.cut.empty())
            cut = drawn.cut;
        else
            ++ran;
        for (const ViolationRecord& error : drawn.is_unmet ? std::vector<ViolationRecord>{} : drawn.errors)
            if (const Finding* const found = findings.add(error, 1))
                std::fprintf(stderr, "%s  found with %s\n\n", report_of(*found).c_str(), text_of(draw).c_str());
    }
    if (ran == 0 && unmet == done) throw Refused(settings.sources[0] + ": left out: no draw meets its __requires");
    if (ran == 0) {
        std::fprintf(stderr, "%s: no draw ran to its end: %s\n", settings.name.c_str(), cut.c_str());
        return 1;
    }
    const bool found = findings.violations() > 0, right = found != expectation.passes;
    std::string said = found ? std::to_string(findings.violations()) +
                                   (findings.violations() == 1 ? " violation (" : " violations (") + findings.kinds() + ") in "
                             : "no violation in ";
    said += counted_draws(ran);
    if (unmet > 0) said += ", " + counted_draws(unmet) + " not allowed";
    if (done - ran - unmet > 0) said += ", " + counted_draws(done - ran - unmet) + " not run to the end";
    said += std::string(right ? ", as" : ", but not as") + " the file expects: " + (expectation.passes ? "pass" : "xfail");
    std::fprintf(stderr, "%s: %s\n", settings.name.c_str(), said.c_str());
    return right ? 0 : 3;
}

}  // namespace heddle::emulator::frontend
