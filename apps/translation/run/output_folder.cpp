#include "apps/translation/run/output_folder.h"

#include <unistd.h>
#if defined(__linux__)
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#endif

#include "apps/translation/text/byte_source.h"
#include "core/file.h"
#include "core/format.h"

namespace heddle::app {

namespace {

void check_made(const std::error_code& failed, std::string_view option, const std::filesystem::path& path) {
    check(!failed, "{} {}: the folder cannot be made: {}", option, path.string(), failed.message());
}

}  // namespace

void make_folder(const std::filesystem::path& path, std::string_view option) {
    std::error_code failed;
    std::filesystem::create_directories(path, failed);
    check_made(failed, option, path);
}

// Tests by making a folder of another name, because others may already look for the wanted one.
void check_can_make_folder(const std::filesystem::path& path, std::string_view option) {
    namespace fs = std::filesystem;
    std::error_code failed;
    fs::path above = fs::absolute(path);  // becomes the nearest existing folder
    while (fs::symlink_status(above, failed).type() == fs::file_type::not_found && above.has_relative_path())
        above = above.parent_path();
    const fs::file_status status = fs::status(above, failed);
    if (status.type() == fs::file_type::none) check_made(failed, option, path);
    if (!fs::is_directory(status)) check_made(std::make_error_code(std::errc::not_a_directory), option, path);
    const fs::path probe = above / fmt::format(".heddle-{}.part", ::getpid());
    fs::create_directory(probe, failed);
    check_made(failed, option, path);
    fs::remove(probe, failed);
}

void check_spares_inputs(const std::vector<std::filesystem::path>& replaced, std::string_view option,
                         const std::vector<std::filesystem::path>& inputs) {
    namespace fs = std::filesystem;
    std::error_code failed;
    for (const fs::path& path : replaced) {
        if (!fs::is_regular_file(path, failed)) continue;
        for (const fs::path& input : inputs) {
            const bool piped = input == standard_input;
            check(!fs::equivalent(path, piped ? "/dev/stdin" : input, failed) || failed,
                  "{} {}: this would replace {}, which the command reads; give another name", option, path.string(),
                  piped ? "standard input" : input.string());
        }
    }
}

bool is_there(const std::filesystem::path& path) {
    std::error_code failed;
    return std::filesystem::exists(path, failed);
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    std::error_code failed;
    for (std::filesystem::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
        files.push_back(entry->path());
    return files;
}

void check_can_write_file(const std::filesystem::path& path, std::string_view option,
                          const std::vector<std::filesystem::path>& inputs) {
    std::error_code failed;
    // /dev/stdout is a link, perhaps to a regular file, and the link would be replaced.
    const bool to_process = std::filesystem::read_symlink(path, failed).string().starts_with("/proc/");
    check(!to_process && !std::filesystem::is_other(std::filesystem::status(path, failed)),
          "{} {}: it is a named pipe, a device or a socket; wanted the name of a file", option, path.string());
    check_spares_inputs({path}, option, inputs);
    const AtomicFile probe(path);
}

void check_done(const std::error_code& failed, std::string_view what, const std::filesystem::path& path) {
    check(!failed, "{}: cannot be {}: {}", path.string(), what, failed.message());
}

void rename_onto(const std::filesystem::path& from, const std::filesystem::path& to) {
    std::error_code failed;
    std::filesystem::rename(from, to, failed);
    check_done(failed, "written", to);
}

bool exchange_folders([[maybe_unused]] const std::filesystem::path& one, [[maybe_unused]] const std::filesystem::path& other) {
#if defined(__linux__)
    // Called by number: not every C library has a wrapper.
    return ::syscall(SYS_renameat2, AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0;
#else
    return false;
#endif
}

}  // namespace heddle::app
