#include <cstring>

#include "core/safetensors.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace heddle::fuzz {
namespace {

void must_be_equal(const SafetensorsFile& file, const std::vector<std::pair<std::string, Tensor>>& tensors) {
    must(file.names().size() == tensors.size(), "as many tensors");
    for (const auto& [name, tensor] : tensors) {
        const Tensor again = file.load(name);
        must(again.dtype() == tensor.dtype() && again.shape() == tensor.shape(), "the same dtype and shape");
        const auto bytes = static_cast<std::size_t>(tensor.bytes());
        must(bytes == 0 || std::memcmp(again.bytes_data(), tensor.bytes_data(), bytes) == 0, "the same elements");
    }
}

}  // namespace

// A file whose tensors can all be loaded is written, and read again as it was.
void safetensors(std::string_view bytes) {
    const InputFile input(bytes);
    std::vector<std::pair<std::string, Tensor>> tensors;
    std::map<std::string, std::string> metadata;
    const bool whole = accepted([&] {
        const SafetensorsFile file(input.path());
        metadata = file.metadata();
        for (const std::string& name : file.names()) {
            must(file.contains(name) && !file.dtype(name).empty(), "a listed tensor is there");
            accepted([&] { tensors.emplace_back(name, file.load(name)); });  // some dtypes can only be skipped
        }
        if (tensors.size() != file.names().size()) fail("some cannot be loaded");
    });
    if (!whole) return;
    const std::filesystem::path path = output_file("again.safetensors");
    save_safetensors(path, tensors, metadata);
    const SafetensorsFile again(path);
    must(again.metadata() == metadata, "the same metadata");
    must_be_equal(again, tensors);
}

}  // namespace heddle::fuzz
