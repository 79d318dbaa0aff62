#include "tests/fuzz/support.h"

#include <sys/mman.h>
#include <unistd.h>

#include <system_error>

namespace heddle::fuzz {

InputFile::InputFile(std::string_view bytes) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
    bool good = descriptor_ >= 0;
    while (good && !bytes.empty()) {
        const ssize_t wrote = write(descriptor_, bytes.data(), bytes.size());
        good = wrote > 0;
        if (good) bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    must(good, "a file in memory can be made");
}

InputFile::~InputFile() { close(descriptor_); }

std::filesystem::path output_file(const char* name) {
    struct Folder {
        std::filesystem::path path = std::filesystem::temp_directory_path() / ("heddle-fuzz-" + std::to_string(getpid()));
        Folder() { std::filesystem::create_directories(path); }
        ~Folder() {
            std::error_code ignored;
            std::filesystem::remove_all(path, ignored);
        }
    };
    static const Folder folder;
    return folder.path / name;
}

}  // namespace heddle::fuzz
