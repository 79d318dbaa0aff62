#include "kernels/emulator/frontend/build.h"

#include <algorithm>
#include <cstdio>
#include <future>
#include <regex>
#include <sstream>

#include "kernels/emulator/frontend/headers.h"
#include "kernels/emulator/frontend/process.h"
#include "kernels/emulator/frontend/report.h"

namespace heddle::emulator::frontend {
namespace {

namespace fs = std::filesystem;

// The libraries of CUDA that the emulator's own functions replace.
bool is_replaced(const std::string& option) {
    for (const char* const name :
         {"cuda", "cudart", "cudart_static", "cudadevrt", "cublas", "cublasLt", "curand", "nvToolsExt", "nvrtc", "culibos"})
        if (option == std::string("-l") + name) return true;
    return false;
}

// What the compiler said, with the lines that it speaks of, and a word on a name of CUDA that it does not know.
std::string told(const ToolRun& run) {
    static const std::regex unknown(
        "'(cu(da|blas|rand)?[A-Z]\\w*)' (was not declared|has not been declared|does not name a type)|"
        "undeclared identifier '(cu(da|blas|rand)?[A-Z]\\w*)'");
    std::string text = with_quotes(run.errors);
    if (std::smatch found; std::regex_search(text, found, unknown))
        text += (found[1].matched ? found.str(1) : found.str(4)) +
                " is not emulated, or its header is not included: docs/check.md lists the names of CUDA that are\n";
    return text;
}

std::string failure(const ToolRun& run) {
    if (run.ended.too_long) return "the compiler was ended after two minutes";
    if (run.ended.signal != 0) return "the compiler was ended by signal " + std::to_string(run.ended.signal);
    return "";
}

}  // namespace

Builder::Builder(const Settings& settings, const Scratch& scratch)
    : settings_(settings), folder_(scratch.folder()), compiler_(options_) {
    for (const fs::path& needed : {settings_.toolkit.headers / "kernels/emulator/cuda/prelude.h", settings_.toolkit.library})
        if (!fs::exists(needed)) throw std::runtime_error(needed.string() + " is missing; build or install Heddle again");
    write_library_headers(folder_ / "headers");
}

// Options for both preprocessing and compiling. The default is nvcc's: names that C++20 added, such as std::lerp, would
// collide with a program's own.
std::vector<std::string> Builder::language_options() const {
    std::vector<std::string> words = compiler_.message_options();
    std::string standard = "-std=gnu++17";
    for (const std::string& option : settings_.compile_options) {
        if (option.compare(0, 5, "-std=") != 0) continue;
        standard = option;
        for (const char* const old : {"98", "03", "0x", "11", "1y", "14", "1z"})
            if (option.size() > 2 && option.compare(option.size() - 2, 2, old) == 0) standard = "-std=gnu++17";
    }
    append(words, {standard, "-w", below_current_folder("-ffile-prefix-map"),
                   compiler_.is_clang() ? "-ferror-limit=20" : "-fmax-errors=20"});
    return words;
}

std::vector<std::string> Builder::object_options() const {
    std::vector<std::string> words = language_options();
    append(words, compiler_.watch_options());
    // Threads wait for each other by volatile accesses.
    append(words, compiler_.is_clang() ? std::vector<std::string>{"-mllvm", "-tsan-distinguish-volatile"}
                                       : std::vector<std::string>{"--param=tsan-distinguish-volatile=1"});
    words.push_back("-fsanitize=alignment");  // tells accesses through misaligned vectors (checker/compiler_hooks.cpp)
    // Kernels read float4 from float arrays.
    append(words, {"-ffp-contract=off", "-fno-strict-aliasing", "-fvisibility-inlines-hidden"});
    for (const std::string& option : settings_.compile_options)
        if (option.compare(0, 2, "-O") == 0) words.push_back(option);
    return words;
}

void Builder::preprocess(SourceUnit& unit) const {
    if (!fs::is_regular_file(unit.source)) throw Refused(unit.source + ": there is no such file");
    std::vector<std::string> words = language_options();
    const std::string emulator = (settings_.toolkit.headers / "kernels/emulator").string();
    const std::string architecture = settings_.chip.substr(3) + "0";
    append(words, {"-E", "-D__CUDACC__", "-D__CUDA_ARCH__=" + architecture, "-I" + emulator + "/include",
                   "-I" + (folder_ / "headers").string(), "-include", emulator + "/cuda/prelude.h"});
    if (!compiler_.is_clang()) words.emplace_back("-fno-working-directory");
    for (const std::string& option : settings_.compile_options)
        if (option.compare(0, 5, "-std=") != 0 && option.compare(0, 2, "-O") != 0) words.push_back(option);
    append(words, {"-idirafter", settings_.toolkit.headers.string(), "-x", "c++", unit.source});
    const ToolRun run = compiler_.run(words, options_);
    if (!run.good()) {
        std::fputs(with_quotes(run.errors).c_str(), stderr);
        const std::string why = failure(run);
        throw Refused(unit.source + " does not compile" + (why.empty() ? "" : ": " + why));
    }
    unit.preprocessed = run.output;
}

std::vector<SourceUnit> Builder::read(const std::vector<std::string>& sources) const {
    std::vector<SourceUnit> units;
    for (const std::string& source : sources) units.push_back({source});
    std::vector<std::future<void>> works;
    const bool several = units.size() > 1;
    for (SourceUnit& unit : units)
        works.push_back(std::async(several ? std::launch::async : std::launch::deferred, [this, several, &unit] {
            preprocess(unit);
            try {
                unit.rewritten = rewrite(unit.preprocessed, {.several_units = several, .host_is_unwatched = true});
            } catch (const RewriteError& error) {
                const std::string place = shown_path(error.file) + ":" + std::to_string(error.line);
                std::fputs(with_quotes(place + ": error: " + error.message + "\n").c_str(), stderr);
                throw Refused(unit.source + " cannot be run");
            }
        }));
    for (std::future<void>& work : works) work.wait();
    for (std::future<void>& work : works) work.get();
    return units;
}

// Returns the file of its object.
std::string Builder::compile(const SourceUnit& unit, std::size_t number) const {
    const std::string base = (folder_ / std::to_string(number)).string(), object = base + ".o";
    write_text(base + ".ii", unit.rewritten.text + unit.added);
    std::vector<std::string> words = object_options();
    append(words, {"-x", "c++-cpp-output", "-c", base + ".ii", "-o", object});
    const ToolRun run = compiler_.run(words, options_);
    if (!run.good()) {
        std::fputs(told(run).c_str(), stderr);
        const std::string why = failure(run);
        throw Refused(unit.source + " does not compile" + (why.empty() ? "" : ": " + why));
    }
    // Before version 15 clang watches copies and fills (those of a float4, too) by calls of the C library's functions.
    if (compiler_.is_clang()) {
        const ToolRun renamed = run_tool({"objcopy", "--redefine-sym", "memcpy=__tsan_memcpy", "--redefine-sym",
                                          "memmove=__tsan_memmove", "--redefine-sym", "memset=__tsan_memset", object},
                                         options_);
        if (!renamed.good()) throw std::runtime_error("objcopy failed for " + unit.source + ": " + renamed.errors);
    }
    return object;
}

fs::path Builder::program(const std::vector<SourceUnit>& units) const {
    std::vector<std::future<std::string>> works;
    for (std::size_t i = 0; i < units.size(); ++i)
        works.push_back(std::async(units.size() > 1 ? std::launch::async : std::launch::deferred,
                                   [this, &units, i] { return compile(units[i], i); }));
    for (std::future<std::string>& work : works) work.wait();
    std::vector<std::string> words;
    // First: the linker keeps the first copy of a template's function, and the emulator must not run one that calls the checker.
    append(words, {"-Wl,--whole-archive", settings_.toolkit.library.string(), "-Wl,--no-whole-archive"});
    for (std::future<std::string>& work : works) words.push_back(work.get());
    for (const std::string& option : settings_.link_options)
        if (!is_replaced(option)) words.push_back(option);
    append(words, words_in(HEDDLE_CHECK_LIBRARIES));
    fs::path program = folder_ / "program";
    append(words, {"-o", program.string()});
    const ToolRun run = compiler_.run(words, options_);
    if (!run.good()) {
        std::fputs(run.errors.c_str(), stderr);
        throw Refused(settings_.sources[0] + " does not link");
    }
    return program;
}

}  // namespace heddle::emulator::frontend
