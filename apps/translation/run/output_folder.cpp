#include "apps/translation/run/output_folder.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/format.h"

namespace heddle::app {

void make_folder(const std::filesystem::path& path, std::string_view option) {
    std::error_code failed;
    std::filesystem::create_directories(path, failed);
    check(!failed, "{} {}: the folder cannot be made: {}", option, path.string(), failed.message());
}

std::filesystem::path replace_folder(const std::filesystem::path& fresh, const std::filesystem::path& target,
                                     const std::filesystem::path& aside) {
    // By its number: not every C library has a function for it.
    if (::syscall(SYS_renameat2, AT_FDCWD, fresh.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) return fresh;
    std::error_code failed, lost;
    std::filesystem::rename(target, aside, failed);
    check(!failed, "{}: cannot be replaced: {}", target.string(), failed.message());
    std::filesystem::rename(fresh, target, failed);
    if (failed) std::filesystem::rename(aside, target, lost);
    check(!failed, "{}: cannot be replaced: {}{}", target.string(), failed.message(),
          lost ? fmt::format("; what was there is {} now", aside.string()) : "");
    return aside;
}

}  // namespace heddle::app
