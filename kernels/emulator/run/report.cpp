#include "kernels/emulator/run/report.h"

#include <dlfcn.h>
#include <unistd.h>
#include <unwind.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#if defined(HEDDLE_HAS_BACKTRACE)
#include <backtrace.h>
#endif

#include "kernels/emulator/foreign.h"
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

// With a slash behind it; "" if it is unknown.
std::string working_folder() {
    char name[4096];
    return getcwd(name, sizeof name) != nullptr ? std::string(name) + "/" : "";
}

std::string_view inside_project(std::string_view file) {
    if (is_foreign_program()) {  // such a program names its own folder in the same way
        static const std::string& own = *new std::string(working_folder());
        if (!own.empty() && file.starts_with(own)) file.remove_prefix(own.size());
        while (file.starts_with("./")) file.remove_prefix(2);
        return file;
    }
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
template <class Work>
auto on_another_stack(const Work& work) {
    decltype(work()) result;
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

std::string text_of(Place place) {
    return std::string(inside_project(place.file)) + (place.line == 0 ? "" : ":" + std::to_string(place.line));
}

namespace {
bool is_layer(const std::string& place) {
    return place.find("kernels/device/") != std::string::npos || place.find("kernels/emulator/") != std::string::npos ||
           place.starts_with("/usr/");
}

// The line of the code before this return address, and those that it is inlined in: innermost first.
std::vector<SourceLine> lines_before([[maybe_unused]] const void* address) {
    std::vector<SourceLine> places;
#if defined(HEDDLE_HAS_BACKTRACE)
    {
        const std::lock_guard lock(backtrace_mutex());
        if (state() != nullptr)
            backtrace_pcinfo(
                state(), reinterpret_cast<std::uintptr_t>(address) - 1,  // inside the call, not after it
                [](void* result, std::uintptr_t, const char* file, int line, const char*) {
                    if (file != nullptr)
                        static_cast<std::vector<SourceLine>*>(result)->push_back({text_of(Place{file, line}), file, line});
                    return 0;
                },
                ignore_error, &places);
    }
#endif
    return places;
}

SourceLine find_line(const void* address) {
    std::vector<SourceLine> places = lines_before(address);
    if (places.empty()) return {};
    std::string below;
    for (SourceLine& place : places) {
        if (!is_layer(place.text)) {
            if (!below.empty()) place.text += " (in " + below + ")";
            return place;
        }
        below += (below.empty() ? "" : ", in ") + place.text;
    }
    return places.front();
}
}  // namespace

std::string line_of_code(const void* address) {
    return on_another_stack([address] { return find_line(address).text; });
}

SourceLine source_line_of(const void* address) {
    return on_another_stack([address] {
        SourceLine line = find_line(address);
        if (!line.text.empty()) return line;
        const std::string symbol = symbol_of(address);
        line.text = symbol.empty() ? address_text(address) : short_name(symbol);
        return line;
    });
}

SourceLine line_near(const void* address) {
    SourceLine line = source_line_of(address);
    if (line.line != 0 && !is_layer(line.text)) return line;
    return on_another_stack([&line, address] {
        for (int back = 1; back <= 128; ++back)
            if (SourceLine before = find_line(static_cast<const std::byte*>(address) - back);
                before.line != 0 && !is_layer(before.text))
                return before;
        return line;
    });
}

SourceLine line_of_caller(int outer) {
    struct Trail {
        const void* code[64];
        int count = 0;
    } trail;
    _Unwind_Backtrace(
        [](_Unwind_Context* context, void* out) {
            auto& all = *static_cast<Trail*>(out);
            all.code[all.count++] = reinterpret_cast<const void*>(_Unwind_GetIP(context));
            return all.count < 64 ? _URC_NO_REASON : _URC_END_OF_STACK;
        },
        &trail);
    return on_another_stack([&trail, outer]() -> SourceLine {
        int left = outer;
        for (int i = 0; i < trail.count; ++i)
            for (SourceLine& line : lines_before(trail.code[i]))
                if (line.line != 0 && !is_layer(line.text) && left-- == 0) return line;
        return {};
    });
}

std::string place_of_code(const void* address) { return source_line_of(address).text; }

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
