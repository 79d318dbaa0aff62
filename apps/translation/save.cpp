#include "apps/translation/save.h"

#include <fmt/format.h>

#include "core/file.h"
#include "nn/serialize.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

std::string prefix(std::size_t i) { return fmt::format("{}.", i); }

nn::NamedTensors numbered(const std::vector<nn::NamedTensors>& averaged) {
    nn::NamedTensors all;
    for (std::size_t i = 0; i < averaged.size(); ++i)
        for (const auto& [name, tensor] : averaged[i]) all.emplace_back(prefix(i) + name, tensor);
    return all;
}

}  // namespace

void write_save(const fs::path& folder, const Save& save, const ModelIdentity& identity) {
    const auto write = [&](const char* name, const nn::NamedTensors& tensors) {
        if (!tensors.empty()) save_weights(folder / name, tensors, identity, save.state.updates);
    };
    write("model.safetensors", save.weights);
    write("moments.safetensors", save.moments);
    write("average.safetensors", numbered(save.averaged));
    write("best.safetensors", save.best);
    write_file_atomically(folder / "state.json", save.state.serialized());
}

TrainingState read_state(const fs::path& folder) {
    const fs::path path = folder / "state.json";
    constexpr std::size_t longest = 1 << 20;  // a save's has about 1 KB
    return TrainingState::parse(read_regular_file(path, longest), path.string());
}

void read_save(const fs::path& folder, const Save& into, const ModelIdentity& identity) {
    const auto read = [&](const char* name, const nn::NamedTensors& tensors) {
        if (!tensors.empty()) nn::load(tensors, open_weights(folder / name, identity, into.state.updates));
    };
    read("model.safetensors", into.weights);
    read("moments.safetensors", into.moments);
    read("average.safetensors", numbered(into.averaged));
    read("best.safetensors", into.best);
}

}  // namespace heddle::app
