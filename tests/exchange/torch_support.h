// Writes files as torch.save does, whole or wrong on purpose.
#pragma once

#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "apps/exchange/elements.h"
#include "apps/exchange/zip.h"

namespace heddle::app {

inline std::string pickled_text(const std::string& text) {
    const auto length = static_cast<std::uint32_t>(text.size());
    std::string out = "X";
    out.append(reinterpret_cast<const char*>(&length), sizeof length);
    return out + text;
}
inline std::string pickled_number(std::int64_t number) {
    const auto narrow = static_cast<std::int32_t>(number);
    std::string out = "J";
    out.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
    return out;
}

/// The instructions for one tensor of a storage with as many elements.
inline std::string pickled_tensor(const std::string& storage, const Shape& shape, const std::string& type = "FloatStorage",
                                  std::int64_t elements = -1, std::int64_t begin = 0) {
    std::string sizes = "(", strides = "(";
    for (int axis = 0; axis < shape.rank(); ++axis) {
        std::int64_t stride = 1;
        for (int later = axis + 1; later < shape.rank(); ++later) stride *= shape[later];
        sizes += pickled_number(shape[axis]);
        strides += pickled_number(stride);
    }
    return "ctorch._utils\n_rebuild_tensor_v2\n((" + pickled_text("storage") + "ctorch\n" + type + "\n" + pickled_text(storage) +
           pickled_text("cpu") + pickled_number(elements < 0 ? shape.numel() : elements) + "tQ" + pickled_number(begin) + sizes +
           "t" + strides +
           "t\x89"
           "ccollections\nOrderedDict\n)RtR";
}

/// pytorch_model.bin with this pickle and these storages.
inline void write_torch_file(const std::filesystem::path& path, const std::string& pickle,
                             const std::map<std::string, std::string>& storages) {
    ZipWriter zip(path);
    zip.add("model/data.pkl", pickle);
    zip.add("model/byteorder", "little");
    for (const auto& [key, bytes] : storages) zip.add("model/data/" + key, bytes);
    zip.commit();
}

/// The same for whole tensors.
inline void write_torch_file(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors, ExportDType dtype) {
    std::string pickle = "\x80\x02}(";
    std::map<std::string, std::string> storages;
    for (const auto& [name, tensor] : tensors) {
        const std::string key = std::to_string(storages.size());
        pickle +=
            pickled_text(name) + pickled_tensor(key, tensor.shape(), dtype == ExportDType::f16 ? "HalfStorage" : "FloatStorage");
        const std::vector<std::byte> bytes = bytes_of(tensor, dtype);
        storages.emplace(key, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    write_torch_file(path, pickle + "u.", storages);
}

}  // namespace heddle::app
