// Readable kernel names from mangled ones. Independent of the emulator: launches on a GPU use it, too.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace heddle::emulator {

/// "void heddle::(anonymous namespace)::rows_kernel<float>(float const*, int)"; a name that is not mangled is returned unchanged.
inline std::string demangled(const char* symbol) {
    int status = 0;
    char* const text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
    std::string result = status == 0 && text != nullptr ? text : symbol;
    std::free(text);
    return result;
}

inline void remove_all(std::string& text, std::string_view part) {
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) text.erase(at, part.size());
}

/// "void heddle::(anonymous namespace)::rows_kernel<float>(float const*, int)" -> "rows_kernel<float>".
inline std::string short_name(std::string text) {
    remove_all(text, "(anonymous namespace)::");
    int depth = 0;
    std::size_t begin = 0, end = text.size();
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '<') ++depth;
        if (c == '>') --depth;
        if (depth != 0) continue;
        if (c == ' ') begin = i + 1;
        if (c == ':') begin = i + 1;
        if (c == '(') {
            end = i;
            break;
        }
    }
    text = text.substr(begin, end - begin);
    remove_all(text, "heddle::");
    return text;
}

}  // namespace heddle::emulator
