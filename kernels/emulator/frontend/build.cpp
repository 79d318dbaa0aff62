#include "kernels/emulator/frontend/build.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <sstream>

#include "kernels/emulator/frontend/headers.h"
#include "kernels/emulator/frontend/process.h"
#include "kernels/emulator/frontend/report.h"

namespace heddle::emulator::frontend {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_in(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

void append(std::vector<std::string>& words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
}

std::string program_in_path(const std::string& name) {
    if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        const fs::path program = fs::path(folder.empty() ? "." : folder) / name;
        std::error_code error;
        if (::access(program.c_str(), X_OK) == 0 && fs::is_regular_file(program, error)) return program.string();
    }
    return "";
}

std::vector<std::string> compiler_words() {
    const char* const chosen = std::getenv("CXX");
    if (chosen != nullptr && *chosen != '\0') {
        std::vector<std::string> words = fs::exists(chosen) ? std::vector<std::string>{chosen} : words_in(chosen);
        if (words.empty() || program_in_path(words[0]).empty())
            throw Refused(std::string("the compiler that CXX names, ") + chosen + ", is not there; unset CXX, or install it");
        return words;
    }
    for (const char* const name : {"c++", "g++", "clang++"})
        if (const std::string found = program_in_path(name); !found.empty()) return {found};
    throw Refused(
        "there is no C++ compiler (looked for c++, g++ and clang++); install one, on Debian and Ubuntu with: apt install g++");
}

// The libraries of CUDA that the emulator's own functions replace.
bool is_replaced(const std::string& option) {
    for (const char* const name :
         {"cuda", "cudart", "cudart_static", "cudadevrt", "cublas", "cublasLt", "curand", "nvToolsExt", "nvrtc", "culibos"})
        if (option == std::string("-l") + name) return true;
    return false;
}

// Reports show paths relative to the current folder.
std::string prefix_map() { return "-ffile-prefix-map=" + fs::current_path().string() + "=."; }

void write_text(const fs::path& file, const std::string& text) {
    std::ofstream stream(file, std::ios::binary);
    stream << text;
    if (!stream.flush()) throw std::runtime_error(file.string() + " cannot be written; make room there");
}

std::string failure(const ToolRun& run, std::chrono::seconds longest) {
    if (run.ended.too_long) return "the compiler was ended after " + std::to_string(longest.count()) + " seconds";
    if (run.ended.signal != 0) return "the compiler was ended by signal " + std::to_string(run.ended.signal);
    return "";
}

}  // namespace

Builder::Builder(const Settings& settings, const Cache& cache) : settings_(settings), cache_(cache), compiler_(compiler_words()) {
    std::vector<std::string> words = compiler_;
    words.emplace_back("--version");
    version_ = run_tool(words, longest_).output;
    is_clang_ = version_.find("clang") != std::string::npos;
    for (const fs::path& needed : {settings_.toolkit.headers / "kernels/emulator/cuda/prelude.h", settings_.toolkit.library})
        if (!fs::exists(needed)) throw std::runtime_error(needed.string() + " is missing; build or install Heddle again");
    write_library_headers(cache_.folder() / ("headers-" + library_headers_version()));
}

// Options for both preprocessing and compiling. The default is nvcc's: names that C++20 added, such as std::lerp, would
// collide with a program's own.
std::vector<std::string> Builder::language_options() const {
    std::vector<std::string> words = compiler_;
    std::string standard = "-std=gnu++17";
    for (const std::string& option : settings_.compile_options) {
        if (option.compare(0, 5, "-std=") != 0) continue;
        standard = option;
        for (const char* const old : {"98", "03", "0x", "11", "1y", "14", "1z"})
            if (option.size() > 2 && option.compare(option.size() - 2, 2, old) == 0) standard = "-std=gnu++17";
    }
    words.push_back(standard);
    append(words, {"-w", "-fdiagnostics-color=never", "-fno-show-column", prefix_map(),
                   is_clang_ ? "-ferror-limit=20" : "-fmax-errors=20"});
    words.emplace_back(is_clang_ ? "-fno-caret-diagnostics" : "-fno-diagnostics-show-caret");
    return words;
}

std::vector<std::string> Builder::object_options() const {
    std::vector<std::string> words = language_options();
    append(words, words_in(HEDDLE_WATCH_OPTIONS));
    append(words, words_in(is_clang_ ? HEDDLE_WATCH_OPTIONS_CLANG : HEDDLE_WATCH_OPTIONS_GNU));
    // Threads wait for each other by volatile accesses.
    append(words, is_clang_ ? std::vector<std::string>{"-mllvm", "-tsan-distinguish-volatile"}
                            : std::vector<std::string>{"--param=tsan-distinguish-volatile=1"});
    words.push_back("-fsanitize=alignment");  // tells accesses through misaligned vectors (checker/compiler_hooks.cpp)
    // clang must not remove endless loops, as g++ does not: they are mistakes to find. Kernels read float4 from float arrays.
    if (is_clang_) words.emplace_back("-fno-finite-loops");
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
                   "-I" + (cache_.folder() / ("headers-" + library_headers_version())).string(), "-include",
                   emulator + "/cuda/prelude.h"});
    if (!is_clang_) words.emplace_back("-fno-working-directory");
    for (const std::string& option : settings_.compile_options)
        if (option.compare(0, 5, "-std=") != 0 && option.compare(0, 2, "-O") != 0) words.push_back(option);
    append(words, {"-idirafter", settings_.toolkit.headers.string(), "-x", "c++", unit.source});
    const ToolRun run = run_tool(words, longest_);
    if (!run.good()) {
        std::fputs(with_quotes(run.errors).c_str(), stderr);
        const std::string why = failure(run, longest_);
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

// Returns the name of its object in the cache.
std::string Builder::compile(const SourceUnit& unit) const {
    const std::string text = unit.rewritten.text + unit.added;
    std::vector<std::string> words = object_options();
    Digest digest;
    digest.add(text).add(version_);
    for (const std::string& word : words) digest.add(word);
    const std::string name = digest.text() + ".o";
    if (!cache_.find(name).empty()) return name;
    const fs::path input = cache_.scratch() / (digest.text() + ".ii");
    write_text(input, text);
    append(words, {"-x", "c++-cpp-output", "-c", input.string(), "-o", cache_.draft(name).string()});
    const ToolRun run = run_tool(words, longest_);
    if (!run.good()) {
        std::error_code ignored;
        fs::remove(cache_.draft(name), ignored);
        std::fputs(with_quotes(run.errors).c_str(), stderr);
        const std::string why = failure(run, longest_);
        throw Refused(unit.source + " does not compile" + (why.empty() ? "" : ": " + why));
    }
    // Before version 15 clang watches copies and fills (those of a float4, too) by calls of the C library's functions.
    if (is_clang_) {
        const ToolRun renamed =
            run_tool({"objcopy", "--redefine-sym", "memcpy=__tsan_memcpy", "--redefine-sym", "memmove=__tsan_memmove",
                      "--redefine-sym", "memset=__tsan_memset", cache_.draft(name).string()},
                     longest_);
        if (!renamed.good()) throw std::runtime_error("objcopy failed for " + unit.source + ": " + renamed.errors);
    }
    cache_.finish(name);
    return name;
}

fs::path Builder::program(const std::vector<SourceUnit>& units) const {
    std::vector<std::future<std::string>> works;
    for (const SourceUnit& unit : units)
        works.push_back(
            std::async(units.size() > 1 ? std::launch::async : std::launch::deferred, [this, &unit] { return compile(unit); }));
    for (std::future<std::string>& work : works) work.wait();
    std::vector<std::string> objects;
    for (std::future<std::string>& work : works) objects.push_back(work.get());

    Digest digest;
    digest.add(version_).add_file(settings_.toolkit.library);
    for (const std::string& object : objects) digest.add(object);
    for (const std::string& option : settings_.link_options) digest.add(option);
    const std::string name = digest.text() + ".program";
    if (const fs::path kept = cache_.find(name); !kept.empty() && settings_.link_options.empty()) return kept;
    std::vector<std::string> words = compiler_;
    // First: the linker keeps the first copy of a template's function, and the emulator must not run one that calls the checker.
    append(words, {"-Wl,--whole-archive", settings_.toolkit.library.string(), "-Wl,--no-whole-archive"});
    for (const std::string& object : objects) words.push_back(cache_.find(object).string());
    for (const std::string& option : settings_.link_options)
        if (!is_replaced(option)) words.push_back(option);
    append(words, words_in(HEDDLE_CHECK_LIBRARIES));
    append(words, {"-o", cache_.draft(name).string()});
    const ToolRun run = run_tool(words, longest_);
    if (!run.good()) {
        std::fputs(run.errors.c_str(), stderr);
        throw Refused(settings_.sources[0] + " does not link");
    }
    return cache_.finish(name);
}

}  // namespace heddle::emulator::frontend
