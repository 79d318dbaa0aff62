#include "nn/serialize.h"

#include <fmt/format.h>

#include <unordered_set>

#include "core/format.h"
#include "core/safetensors.h"

namespace heddle::nn {
namespace {

bool is_float(std::string_view dtype) { return dtype == "F64" || dtype == "F32" || dtype == "F16" || dtype == "BF16"; }

/// Reasons why `file` cannot fill `targets`, one per line; empty if it can.
std::string complaints(const NamedTensors& targets, const SafetensorsFile& file, std::string_view prefix) {
    std::string text;
    std::unordered_set<std::string> wanted;
    for (const auto& [name, tensor] : targets) {
        const std::string full = std::string(prefix) + name;
        wanted.insert(full);
        if (!file.contains(full))
            text += fmt::format("\n  missing: {} {}", full, tensor.shape());
        else if (file.shape(full) != tensor.shape())
            text += fmt::format("\n  misshapen: {} is {} in the file, wanted {}", full, file.shape(full), tensor.shape());
        else if (!is_float(file.dtype(full)))
            text += fmt::format("\n  wrong type: {} is {} in the file, wanted a float type", full, file.dtype(full));
    }
    for (const std::string& name : file.names())
        if (name.starts_with(prefix) && !wanted.contains(name)) text += fmt::format("\n  extra: {} {}", name, file.shape(name));
    return text;
}

}  // namespace

void save(const Module& module, const std::filesystem::path& path, const std::map<std::string, std::string>& metadata) {
    save_safetensors(path, module.named_tensors(), metadata);
}

void load(const NamedTensors& targets, const SafetensorsFile& file, std::string_view prefix) {
    const std::string wrong = complaints(targets, file, prefix);
    check(wrong.empty(), "load: the file {} is of another model than the one it should fill:{}", file.path(), wrong);
    for (const auto& [name, tensor] : targets) {
        Tensor target = tensor;
        file.load_into(std::string(prefix) + name, target);
    }
}

void load(Module& module, const std::filesystem::path& path) { load(module.named_tensors(), SafetensorsFile(path)); }

}  // namespace heddle::nn
