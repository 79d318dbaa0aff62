#include "kernels/emulator/run/report.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#if defined(HEDDLE_HAS_BACKTRACE)
#include <backtrace.h>
#endif

#include "kernels/emulator/kernel_name.h"
#include "kernels/emulator/run/kernels.h"

namespace heddle::emulator {
namespace {

// The project folder with a trailing slash, from this file's path at compile time. Reports omit it.
std::string_view project_folder() {
    static const std::string_view folder = [] {
        constexpr std::string_view own = "kernels/emulator/run/report.cpp";
        const std::string_view file = __FILE__;
        return file.ends_with(own) ? file.substr(0, file.size() - own.size()) : std::string_view();
    }();
    return folder;
}

std::string_view inside_project(std::string_view file) {
    const std::string_view folder = project_folder();
    if (!folder.empty() && file.starts_with(folder)) return file.substr(folder.size());
    while (file.starts_with("../")) file.remove_prefix(3);  // ccache's base_dir makes paths relative to the build folder
    return file;
}

std::string address_text(const void* address) {
    char text[32];
    snprintf(text, sizeof text, "%p", address);
    return text;
}

#if defined(HEDDLE_HAS_BACKTRACE)
// libbacktrace reads the program's symbols, including local ones, and line numbers.
std::mutex& backtrace_mutex() {
    static std::mutex& made = *new std::mutex;
    return made;
}
void ignore_error(void*, const char*, int) {}
backtrace_state* state() {
    static backtrace_state* const made = backtrace_create_state(nullptr, 0, ignore_error, nullptr);
    return made;
}
#endif

/// Runs it on a separate stack: those of kernel threads are too small for libbacktrace, which recurses, and for the demangler.
std::string on_another_stack(const std::function<std::string()>& work) {
    std::string result;
    std::thread([&] { result = work(); }).join();
    return result;
}

std::string symbol_of(const void* address) {
#if defined(HEDDLE_HAS_BACKTRACE)
    const std::lock_guard lock(backtrace_mutex());
    std::string found;
    if (state() != nullptr)
        backtrace_syminfo(
            state(), reinterpret_cast<std::uintptr_t>(address),
            [](void* result, std::uintptr_t, const char* symbol, std::uintptr_t, std::uintptr_t) {
                if (symbol != nullptr) *static_cast<std::string*>(result) = symbol;
            },
            ignore_error, &found);
    if (!found.empty()) return demangled(found.c_str());
#endif
    Dl_info info;
    if (dladdr(address, &info) != 0 && info.dli_sname != nullptr && info.dli_saddr == address) return demangled(info.dli_sname);
    return "";
}

}  // namespace

std::string text_of(Place place) { return std::string(inside_project(place.file)) + ":" + std::to_string(place.line); }

namespace {
std::string find_line([[maybe_unused]] const void* address) {
    std::vector<std::string> places;
#if defined(HEDDLE_HAS_BACKTRACE)
    {
        const std::lock_guard lock(backtrace_mutex());
        if (state() != nullptr)
            backtrace_pcinfo(
                state(), reinterpret_cast<std::uintptr_t>(address) - 1,  // inside the call, not after it
                [](void* result, std::uintptr_t, const char* file, int line, const char*) {
                    if (file != nullptr) static_cast<std::vector<std::string>*>(result)->push_back(text_of(Place{file, line}));
                    return 0;
                },
                ignore_error, &places);
    }
#endif
    if (places.empty()) return "";
    const auto is_layer = [](const std::string& place) {
        return place.find("kernels/device/") != std::string::npos || place.find("kernels/emulator/") != std::string::npos ||
               place.starts_with("/usr/");
    };
    std::string below;  // innermost first
    for (const std::string& place : places) {
        if (!is_layer(place)) return below.empty() ? place : place + " (in " + below + ")";
        below += (below.empty() ? "" : ", in ") + place;
    }
    return places.front();
}
}  // namespace

std::string line_of_code(const void* address) {
    return on_another_stack([address] { return find_line(address); });
}

std::string place_of_code(const void* address) {
    return on_another_stack([address] {
        if (std::string line = find_line(address); !line.empty()) return line;
        const std::string symbol = symbol_of(address);
        return symbol.empty() ? address_text(address) : short_name(symbol);
    });
}

std::string kernel_name(const void* kernel) {
    // Never destroyed, because names are also needed when the process ends.
    static std::mutex& mutex = *new std::mutex;
    static auto& names = *new std::map<const void*, std::string>;
    const std::lock_guard lock(mutex);
    auto [entry, is_new] = names.try_emplace(kernel);
    if (is_new && !(entry->second = given_name(kernel)).empty()) return entry->second;
    if (is_new) {
        const std::string symbol = on_another_stack([kernel] { return symbol_of(kernel); });
        entry->second = symbol.empty() ? "at " + address_text(kernel) : short_name(symbol);
    }
    return entry->second;
}

}  // namespace heddle::emulator
