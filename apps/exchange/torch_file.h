// Reads PyTorch's files of weights, torch.save(model.state_dict(), "pytorch_model.bin"), and executes nothing.
//
// Source: the documentation of torch.save and Python's pickletools. Since PyTorch 1.6 such a file is a ZIP archive: NAME/data.pkl
// is a pickle of names and tensors, and NAME/data/KEY has the elements of a storage. A pickle is a program for a stack machine
// that may call any function of Python. This reader knows the instructions that weights need and the five names that they refer
// to; any other one is an Error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/exchange/zip.h"
#include "core/tensor.h"

namespace heddle::app {

/// A tensor of a pickle: a part of a storage, row-major.
struct TorchTensor {
    std::string name;
    std::string storage;  ///< the storage's key
    std::string dtype;    ///< "F32", "F16" or "BF16"
    Shape shape;
    std::int64_t begin = 0;     ///< of the tensor in the storage, in elements
    std::int64_t elements = 0;  ///< of the whole storage
};

/// The tensors that a pickled dictionary names, in its order. Error, without the file's name, for any other content: it names the
/// instruction, function or tensor. Time and memory are linear in the pickle, which may have 1 MiB.
std::vector<TorchTensor> read_torch_pickle(std::span<const std::byte> pickle);

/// A file of weights opened for reading. It is treated as untrusted: any defect is an Error that names the file and the defect.
class TorchFile {
  public:
    explicit TorchFile(const std::filesystem::path& path);

    const std::vector<TorchTensor>& tensors() const { return tensors_; }
    /// The elements as f32, which holds all three dtypes exactly.
    Tensor load(const TorchTensor& tensor) const;

  private:
    std::span<const std::byte> elements_of(const TorchTensor& tensor) const;

    ZipFile zip_;
    std::string folder_;  ///< in the archive, with its slash
    std::vector<TorchTensor> tensors_;
};

}  // namespace heddle::app
