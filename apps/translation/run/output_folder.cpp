#include "apps/translation/run/output_folder.h"

#include "core/format.h"

namespace heddle::app {

void make_folder(const std::filesystem::path& path, std::string_view option) {
    std::error_code failed;
    std::filesystem::create_directories(path, failed);
    check(!failed, "{} {}: the folder cannot be made: {}", option, path.string(), failed.message());
}

}  // namespace heddle::app
