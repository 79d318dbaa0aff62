#include "kernels/emulator/frontend/cache.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace heddle::emulator::frontend {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = 256u << 20;

// The folder for kept files; empty: there is none.
fs::path kept_folder() {
    fs::path folder;
    if (const char* const own = std::getenv("HEDDLE_CHECK_CACHE")) {
        folder = own;
    } else if (const char* const caches = std::getenv("XDG_CACHE_HOME"); caches != nullptr && *caches == '/') {
        folder = fs::path(caches) / "heddle" / "check";
    } else if (const char* const home = std::getenv("HOME"); home != nullptr && *home == '/') {
        folder = fs::path(home) / ".cache" / "heddle" / "check";
    }
    if (folder.empty()) return folder;
    std::error_code error;
    fs::create_directories(folder, error);
    return ::access(folder.c_str(), W_OK | X_OK) == 0 ? fs::absolute(folder) : fs::path();
}

fs::path new_scratch() {
    std::string path = (fs::temp_directory_path() / "heddle-check-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr)
        throw std::runtime_error("a temporary folder cannot be made in " + fs::temp_directory_path().string() +
                                 "; make room there");
    return path;
}

}  // namespace

void Digest::mix(std::string_view bytes) {
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        a_ = (a_ ^ byte) * 0x100000001b3u;
        b_ = (b_ + byte) * 0xff51afd7ed558ccdu;
        b_ ^= b_ >> 29;
    }
}

Digest& Digest::add(std::string_view text) {
    mix(std::to_string(text.size()) + ":");
    mix(text);
    return *this;
}

Digest& Digest::add_file(const fs::path& file) {
    std::error_code error;
    add(file.string());
    add(std::to_string(fs::file_size(file, error)));
    return add(std::to_string(fs::last_write_time(file, error).time_since_epoch().count()));
}

std::string Digest::text() const {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const std::uint64_t half : {a_, b_})
        for (int shift = 60; shift >= 0; shift -= 4) text += digits[half >> shift & 15];
    return text;
}

Cache::Cache() : folder_(kept_folder()), scratch_(new_scratch()) {
    if (folder_.empty()) folder_ = scratch_;
}

Cache::~Cache() {
    std::error_code ignored;
    fs::remove_all(scratch_, ignored);
}

fs::path Cache::find(const std::string& name) const {
    const fs::path file = folder_ / name;
    std::error_code error;
    fs::last_write_time(file, fs::file_time_type::clock::now(), error);
    return error ? fs::path() : file;
}

fs::path Cache::draft(const std::string& name) const { return folder_ / (name + "." + std::to_string(::getpid()) + ".part"); }

fs::path Cache::finish(const std::string& name) const {
    fs::rename(draft(name), folder_ / name);
    make_room();
    return folder_ / name;
}

// Removes the files that were not used for the longest time until the rest fits. A file of the last minute may be in use.
void Cache::make_room() const {
    struct File {
        fs::file_time_type time;
        std::uintmax_t bytes;
        fs::path path;
    };
    std::vector<File> files;
    std::uintmax_t total = 0;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
        std::error_code gone;
        const File file{entry.last_write_time(gone), entry.file_size(gone), entry.path()};
        if (gone) continue;
        total += file.bytes;
        files.push_back(file);
    }
    std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.time < b.time; });
    const auto newest = fs::file_time_type::clock::now() - std::chrono::minutes(1);
    for (const File& file : files) {
        if (total <= kMostBytes || file.time > newest) return;
        if (fs::remove(file.path, error)) total -= file.bytes;
    }
}

}  // namespace heddle::emulator::frontend
