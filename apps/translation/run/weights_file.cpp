#include "apps/translation/run/weights_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <sstream>

#include "apps/translation/run/saves.h"
#include "apps/translation/run/toml.h"
#include "core/digest.h"
#include "core/format.h"

namespace heddle::app {
namespace {

using Metadata = std::map<std::string, std::string>;

constexpr const char* model_key = "heddle.model";
constexpr const char* vocabulary_key = "heddle.vocabulary";
constexpr const char* digest_key = "heddle.digest";
constexpr const char* update_key = "heddle.update";

// Digest of a file's elements and of the identity recorded with them.
class FileDigest {
  public:
    explicit FileDigest(const Metadata& metadata) {
        for (const char* key : {model_key, vocabulary_key, update_key})
            if (const auto found = metadata.find(key); found != metadata.end()) digest_.add(found->second + "\n");
    }
    void add(const std::string& name, std::string_view dtype, const Shape& shape, std::span<const std::byte> elements) {
        digest_.add(fmt::format("{}\n{} {}\n", name, dtype, shape)).add(elements);
    }
    std::string text() const { return digest_.text(); }

  private:
    Digest digest_;
};

std::string digest_of(const SafetensorsFile& file) {
    FileDigest digest(file.metadata());
    for (const std::string& name : file.names()) {
        std::string dtype(file.dtype(name));  // "F32", where Tensor says "f32"
        std::ranges::transform(dtype, dtype.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        digest.add(name, dtype, file.shape(name), file.bytes(name));
    }
    return digest.text();
}

// `of_save`: the file is part of a save (the run may have others), not at the run's top level.
[[noreturn]] void fail_damaged(const std::string& path, const std::string& reason, bool of_save) {
    fail_with("{}: the file is damaged: {}; {}", path, reason,
              of_save ? how_to_go_on_without(std::filesystem::path(path).parent_path()) : "restore a copy of it, or train again");
}

const std::string& metadata_of(const SafetensorsFile& file, const char* key, bool of_save) {
    const auto found = file.metadata().find(key);
    if (found == file.metadata().end()) fail_damaged(file.path(), fmt::format("its metadata has no {}", key), of_save);
    return found->second;
}

std::map<std::string, std::string> options_of(const std::string& toml, const std::string& name) {
    std::istringstream stream(toml);
    std::map<std::string, std::string> options;
    for (const TomlItem& item : read_toml(stream, name)) {
        check(item.values.size() == 1, "{}: the option {} has {} values, wanted one", name, item.key, item.values.size());
        options[item.key] = item.values[0];
    }
    return options;
}

void check_options(const std::string& kept, const ModelIdentity& identity, const std::string& path) {
    const auto now = options_of(identity.options, "the model's options");
    const auto then = options_of(kept, path);
    for (const auto& [key, value] : then) {
        const auto found = now.find(key);
        check(found != now.end(), "{} holds a model of another version of heddle: this one has no option {}", path, key);
        check(found->second == value,
              "{} holds a model with {} = {}, but the configuration says {} = {}; put the run's own config.toml back", path, key,
              value, key, found->second);
    }
    for (const auto& [key, value] : now)
        check(then.contains(key), "{} holds a model of another version of heddle: its metadata has no option {}", path, key);
}

bool is_finite(const SafetensorsFile& file, const std::string& name) {
    const std::string_view dtype = file.dtype(name);
    if (dtype != "F32" && dtype != "F64" && dtype != "F16" && dtype != "BF16") return true;  // nn::load refuses it
    if (dtype != "F32") {
        const std::vector<double> values = file.load(name).to_vector();
        return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
    }
    constexpr std::uint32_t exponent = 0x7f800000;  // all ones in NaN and infinity
    const std::span<const std::byte> bytes = file.bytes(name);
    bool finite = true;
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint32_t)) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, bytes.data() + at, sizeof bits);
        finite &= (bits & exponent) != exponent;
    }
    return finite;
}

}  // namespace

void save_weights(const std::filesystem::path& path, const nn::NamedTensors& tensors, const ModelIdentity& identity,
                  std::optional<std::int64_t> update) {
    Metadata metadata = {{model_key, identity.options}, {vocabulary_key, identity.vocabulary}};
    if (update) metadata[update_key] = std::to_string(*update);
    FileDigest digest(metadata);
    for (const auto& [name, tensor] : tensors)
        digest.add(name, heddle::name(tensor.dtype()), tensor.shape(),
                   {tensor.bytes_data(), static_cast<std::size_t>(tensor.bytes())});
    metadata[digest_key] = digest.text();
    save_safetensors(path, tensors, metadata);
}

SafetensorsFile open_weights(const std::filesystem::path& path, const ModelIdentity& identity,
                             std::optional<std::int64_t> update) {
    SafetensorsFile file(path);
    const Metadata& metadata = file.metadata();
    const auto ours = metadata.lower_bound("heddle.");
    const bool known = ours != metadata.end() && ours->first.starts_with("heddle.");
    if (!known && !update) return file;
    const auto value = [&](const char* key) -> const std::string& { return metadata_of(file, key, update.has_value()); };
    if (value(digest_key) != digest_of(file)) fail_damaged(file.path(), "it is not what was written", update.has_value());
    check_options(value(model_key), identity, file.path());
    check(value(vocabulary_key) == identity.vocabulary,
          "{} was trained with another vocabulary than the one beside it; put the run's own vocab file back", file.path());
    if (update) {
        const std::string& kept = value(update_key);
        check(kept == std::to_string(*update), "{} is of update {}, but the save is of update {}; files of two saves were mixed",
              file.path(), kept, *update);
    }
    return file;
}

void check_finite(const SafetensorsFile& file) {
    for (const std::string& name : file.names())
        check(is_finite(file, name), "{}: the weights {} hold NaN or infinity; restore a copy of the file, or train again",
              file.path(), name);
}

}  // namespace heddle::app
