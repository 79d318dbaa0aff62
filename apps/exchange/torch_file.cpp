#include "apps/exchange/torch_file.h"

#include <algorithm>
#include <fstream>
#include <set>

#include "apps/exchange/elements.h"
#include "core/format.h"
#include "core/safetensors_header.h"

namespace heddle::app {
namespace {

// Before PyTorch 1.6 a file was several pickles, the first of which is a number with these bytes.
constexpr std::string_view older_magic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

ZipFile open_archive(const std::filesystem::path& path) {
    std::string start(older_magic.size(), '\0');
    std::ifstream(path, std::ios::binary).read(start.data(), static_cast<std::streamsize>(start.size()));
    check(start != older_magic,
          "{0}: it has PyTorch's form before 1.6; convert it with PyTorch: python3 -c \"import torch; "
          "torch.save(torch.load('{0}', weights_only=True), '{0}')\"",
          path.string());
    return ZipFile(path);
}

constexpr std::string_view index_name = "/data.pkl";

std::string folder_of_index(const ZipFile& zip) {
    std::string folder;
    for (const std::string& name : zip.names()) {
        if (!name.ends_with(index_name) || name.find('/') != name.size() - index_name.size()) continue;
        check(folder.empty(), "it has more than one data.pkl");
        folder = name.substr(0, name.size() - index_name.size() + 1);
    }
    check(!folder.empty(), "it has no data.pkl; wanted the weights that torch.save wrote");
    return folder;
}

}  // namespace

TorchFile::TorchFile(const std::filesystem::path& path) : zip_(open_archive(path)) {
    try {
        folder_ = folder_of_index(zip_);
        const std::string order = folder_ + "byteorder";
        if (zip_.contains(order)) {
            const std::span<const std::byte> word = zip_.bytes(order);
            check(std::string_view(reinterpret_cast<const char*>(word.data()), word.size()) == "little",
                  "its numbers are not little endian; save it again on another machine");
        }
        tensors_ = read_torch_pickle(zip_.bytes(folder_ + "data.pkl"));
        std::set<std::string_view> checked;
        for (const TorchTensor& tensor : tensors_) {
            elements_of(tensor);
            if (checked.insert(tensor.storage).second) zip_.bytes(folder_ + "data/" + tensor.storage);  // its check sum
        }
    } catch (const Error& error) {
        if (std::string_view(error.what()).starts_with(zip_.path())) throw;
        fail_with("{}: {}", zip_.path(), error.what());
    }
}

std::span<const std::byte> TorchFile::elements_of(const TorchTensor& tensor) const {
    const auto size = static_cast<std::size_t>(tensor.dtype == "F32" ? 4 : 2);
    const std::string entry = folder_ + "data/" + tensor.storage;
    check(zip_.contains(entry), "tensor {} lies in the storage {}, which the archive lacks", shown(tensor.name),
          shown(tensor.storage));
    const std::span<const std::byte> storage = zip_.bytes(entry, false);
    check(storage.size() / size == static_cast<std::size_t>(tensor.elements) && storage.size() % size == 0,
          "the storage {} has {} bytes, but its {} elements take {} each", shown(tensor.storage), storage.size(), tensor.elements,
          size);
    const std::int64_t count = tensor.shape.numel();
    check(tensor.begin <= tensor.elements && count <= tensor.elements - tensor.begin,
          "tensor {}, {} from element {}, reaches out of its storage of {}", shown(tensor.name), tensor.shape, tensor.begin,
          tensor.elements);
    return storage.subspan(static_cast<std::size_t>(tensor.begin) * size, static_cast<std::size_t>(count) * size);
}

Tensor TorchFile::load(const TorchTensor& tensor) const { return floats_from(elements_of(tensor), tensor.dtype, tensor.shape); }

}  // namespace heddle::app
