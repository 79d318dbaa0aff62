#include "apps/terminal/error_text.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace heddle::app {

std::string error_text(const std::exception& error) {
    if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
        const std::string reason = file->code().message();
        if (file->path1().empty()) return fmt::format("the working folder cannot be used: {}; change to another one", reason);
        const std::string to = file->path2().empty() ? "" : fmt::format(" (for {})", file->path2().string());
        return fmt::format("{}{}: cannot be used: {}", file->path1().string(), to, reason);
    }
    const auto* system = dynamic_cast<const std::system_error*>(&error);
    if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) return no_further_thread;
    return error.what();
}

}  // namespace heddle::app
