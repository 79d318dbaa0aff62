// The kernels of CUDA C++ that the program has, by their addresses, and their names.
#include "kernels/emulator/run/kernels.h"

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "kernels/emulator/kernel_name.h"

namespace heddle::emulator {
namespace {

struct KnownKernels {
    std::mutex mutex;
    std::map<const void*, cuda::Registration*> registered;
    std::map<const void*, std::string> named;  // those that cannot be registered
};
/// Never destroyed: kernels register themselves before main, and names are needed when the process ends.
KnownKernels& known_kernels() {
    static KnownKernels& known = *new KnownKernels;
    return known;
}

/// "... [with auto F = a::{anonymous}::rows<float>; unsigned int MostThreads = 0]" -> "rows<float>". clang writes "F = &rows",
/// without the template's arguments.
std::string name_in(std::string_view signature) {
    const std::size_t start = signature.find("F = ");
    if (start == std::string_view::npos || signature.substr(start + 4, 1) == "&") return "";
    signature.remove_prefix(start + 4);
    int depth = 0;
    std::size_t begin = 0, end = 0;
    for (; end < signature.size(); ++end) {
        const char c = signature[end];
        if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
        if (depth == 0 && (c == ';' || c == ',' || c == ']')) break;
        if (c == '>' || c == ')' || c == '}' || c == ']') --depth;
        if (depth == 0 && (c == ':' || c == ' ')) begin = end + 1;
    }
    std::string name(signature.substr(begin, end - begin));
    remove_all(name, "(anonymous namespace)::");
    remove_all(name, "{anonymous}::");
    return name;
}

}  // namespace

bool cuda::enlist(Registration& kernel) {
    const std::lock_guard lock(known_kernels().mutex);
    known_kernels().registered[kernel.address] = &kernel;
    return true;
}

cuda::Registration* cuda::find_kernel(const void* address) {
    const std::lock_guard lock(known_kernels().mutex);
    const auto found = known_kernels().registered.find(address);
    return found == known_kernels().registered.end() ? nullptr : found->second;
}

void name_kernel(const void* address, const std::string& name) {
    const std::lock_guard lock(known_kernels().mutex);
    known_kernels().named.try_emplace(address, name);
}

std::string given_name(const void* kernel) {
    const std::lock_guard lock(known_kernels().mutex);
    if (const auto found = known_kernels().registered.find(kernel); found != known_kernels().registered.end())
        return name_in(found->second->signature);
    const auto found = known_kernels().named.find(kernel);
    return found == known_kernels().named.end() ? "" : found->second;
}

}  // namespace heddle::emulator
