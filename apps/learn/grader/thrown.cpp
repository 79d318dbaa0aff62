#include "apps/learn/grader/thrown.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <array>
#include <cstdlib>

#include "apps/learn/grader/verdict.h"
#include "kernels/emulator/run/report.h"

namespace {

thread_local std::array<void*, 48> frames;
thread_local int count = 0;

}  // namespace

// Called by every throw in this program and in the libraries that it loads: the dynamic linker finds it before the one of the
// standard library, which it calls. The name is set here because compilers declare __cxa_throw themselves, and differ in it.
extern "C" [[noreturn]] void remember_and_throw(void* exception, void* type, void (*destroy)(void*)) __asm__("__cxa_throw");
extern "C" void remember_and_throw(void* exception, void* type, void (*destroy)(void*)) {
    count = backtrace(frames.data(), static_cast<int>(frames.size()));
    using Throw = void (*)(void*, void*, void (*)(void*));
    static const auto standard = reinterpret_cast<Throw>(dlsym(RTLD_NEXT, "__cxa_throw"));
    standard(exception, type, destroy);
    std::abort();
}

namespace heddle::learn {

int innermost_line(std::span<void* const> places, const std::string& source) {
    for (void* const place : places)
        if (const int line = line_in(emulator::line_of_code(place), source); line != 0) return line;
    return 0;
}

int line_of_last_throw(const std::string& source) {
    return innermost_line({frames.data(), static_cast<std::size_t>(count)}, source);
}

std::string text_of(const std::exception_ptr& thrown) {
    std::string what = "one that is no std::exception";
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
        what = error.what();
    } catch (...) {
    }
    return "the program throws an exception: " + on_one_line(what);
}

}  // namespace heddle::learn
