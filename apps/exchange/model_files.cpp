#include "apps/exchange/model_files.h"

#include <map>
#include <memory>

#include "core/file.h"
#include "core/format.h"

namespace heddle::app {

ModelFiles files_of_folder(const std::filesystem::path& folder) {
    const auto maps = std::make_shared<std::map<std::string, MemoryMap>>();
    return {folder.string(), [folder, maps](const std::string& file) -> std::optional<std::span<const std::byte>> {
                const auto known = maps->find(file);
                if (known != maps->end()) return known->second.bytes();
                std::error_code failed;
                if (!std::filesystem::exists(folder / file, failed)) return std::nullopt;
                return maps->emplace(file, MemoryMap(folder / file)).first->second.bytes();
            }};
}

std::string text_of(const ModelFiles& files, const std::string& file, std::size_t longest) {
    const auto bytes = files.bytes(file);
    check(bytes.has_value(), "{}: it has no {}", files.name, file);
    check(bytes->size() <= longest, "{}: {} has {} bytes; wanted at most {}", files.name, file, bytes->size(), longest);
    return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

}  // namespace heddle::app
