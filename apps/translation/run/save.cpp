#include "apps/translation/run/save.h"

#include <fmt/format.h>
#include <utility>

#include "apps/translation/run/saves.h"
#include "core/file.h"
#include "core/format.h"
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
    constexpr std::size_t longest = 1 << 20;  // a save's state has about 1 KB
    try {
        return TrainingState::parse(read_regular_file(path, longest), path.string());
    } catch (const Error& error) {
        fail_with("{}; {}", error.what(), how_to_go_on_without(folder));
    }
}

void check_averaged(const fs::path& folder, std::int64_t count, const nn::NamedTensors& weights) {
    if (count == 0) return;
    const SafetensorsFile file(folder / "average.safetensors");
    std::int64_t held = 0, each = 0;  // elements of the file and of the model in memory: their sum cannot overflow
    for (const std::string& name : file.names()) held += file.shape(name).numel();
    for (const auto& [name, tensor] : weights) each += tensor.numel();
    check(held / each >= count, "{}: it holds {} elements, but the state of the save says {} weights of {}; {}", file.path(),
          held, count, each, how_to_go_on_without(folder));
}

void read_save(const fs::path& folder, const Save& into, const ModelIdentity& identity, const SafetensorsFile* weights) {
    const auto read = [&](const char* name, const nn::NamedTensors& tensors) {
        if (!tensors.empty()) nn::load(tensors, open_weights(folder / name, identity, into.state.updates));
    };
    if (weights != nullptr)
        nn::load(into.weights, *weights);
    else
        read("model.safetensors", into.weights);
    read("moments.safetensors", into.moments);
    read("average.safetensors", numbered(into.averaged));
    read("best.safetensors", into.best);
}

SaveWriter::~SaveWriter() {
    if (thread_.joinable()) thread_.join();
}

void SaveWriter::start(std::function<void()> job) {
    wait();
    ended_ = false;
    thread_ = std::thread([this, job = std::move(job)] {
        try {
            job();
        } catch (...) {
            error_ = std::current_exception();
        }
        ended_ = true;
    });
}

void SaveWriter::check_ended() {
    if (ended_) wait();
}

void SaveWriter::wait() {
    if (thread_.joinable()) thread_.join();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace heddle::app
