#include "kernels/emulator/frontend/answer.h"

#include <stdexcept>

#include "kernels/emulator/frontend/compiler.h"
#include "kernels/emulator/frontend/rewrite.h"
#include "kernels/emulator/frontend/scratch.h"

namespace heddle::emulator::frontend {
namespace {

namespace fs = std::filesystem;

// For preprocessing and for compiling.
std::vector<std::string> language_options(const Compiler& compiler) {
    std::vector<std::string> words = compiler.message_options();
    append(words, {"-std=c++20", below_current_folder("-fdebug-prefix-map"), "-Wno-unknown-pragmas", "-Wuninitialized"});
    words.emplace_back(compiler.is_clang() ? "-Wconditional-uninitialized" : "-Wmaybe-uninitialized");
    return words;
}

// C++ for the host compiles fast, and each call has its own frame. g++ finds variables that may be uninitialised only when it
// optimises; clang finds them anyway.
std::vector<std::string> code_options(const Answer& answer, const Compiler& compiler) {
    std::vector<std::string> words;
    if (answer.on_device)
        words = compiler.watch_options();
    else if (compiler.is_clang())
        words = {"-g1", "-fno-finite-loops"};
    else
        words = {"-g1", "-O1", "-fno-inline"};
    append(words, {"-fPIC", "-ffp-contract=off", "-fvisibility-inlines-hidden"});
    // clang must not remove unused memory, as g++ does not: it is a mistake to find.
    if (compiler.is_clang()) words.emplace_back("-fno-builtin-malloc");
    return words;
}

std::vector<std::string> preprocessor_options(const Answer& answer, const Compiler& compiler) {
    std::vector<std::string> words = {"-E"};
    if (!compiler.is_clang()) words.emplace_back("-fno-working-directory");
    for (const fs::path& folder : answer.includes) words.push_back("-I" + folder.string());
    if (answer.on_device)
        append(words, {"-include", (answer.includes.back() / "kernels/emulator/cuda/answer.h").string()});
    else
        words.emplace_back("-D_GLIBCXX_ASSERTIONS");  // indices of vectors and spans are checked
    append(words, {"-x", "c++", "-"});
    return words;
}

}  // namespace

BuiltAnswer build_answer(const Answer& answer, const fs::path& folder) {
    ToolOptions options{.longest = answer.longest,
                        .temporary = folder.string(),
                        .processor_seconds = 30,
                        .memory = std::uint64_t{4'000'000} * 1024};
    const Compiler compiler(options);
    const std::vector<std::string> language = language_options(compiler);
    // The compiler reads stdin, and #line gives the file's name alone, which reports and messages then show.
    options.input = (folder / "answer.cpp").string();
    write_text(options.input, "#line 1 \"" + answer.name + "\"\n" + answer.text);
    std::vector<std::string> words = language;
    append(words, preprocessor_options(answer, compiler));
    ToolRun run = compiler.run(words, options);
    if (!run.good()) return {.messages = run.errors, .ended = run.ended};
    const std::string warnings = run.errors;

    std::string text = std::move(run.output);
    try {
        if (answer.on_device) text = rewrite(text, {.is_answer = true}).text;
    } catch (const RewriteError& error) {
        return {.messages = error.file + ":" + std::to_string(error.line) + ": error: " + error.message + "\n"};
    }
    words = language;
    append(words, code_options(answer, compiler));
    const fs::path input = folder / "answer.ii", object = folder / "answer.o", library = folder / "answer.so";
    write_text(input, text);
    append(words, {"-x", "c++-cpp-output", "-c", input.string(), "-o", object.string()});
    options.input.clear();
    run = compiler.run(words, options);
    if (!run.good()) return {.messages = warnings + run.errors, .ended = run.ended};
    // Without the options above: -fsanitize=thread would link ThreadSanitizer's library.
    const ToolRun linked = compiler.run({"-shared", object.string(), "-o", library.string()}, options);
    if (!linked.good()) throw std::runtime_error("the compiler cannot link a shared library: " + linked.errors);
    return {.library = library, .messages = warnings + run.errors};
}

}  // namespace heddle::emulator::frontend
