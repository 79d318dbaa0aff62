// Reads and writes named tensors in the safetensors file format.
//
// Source: https://github.com/huggingface/safetensors (README, "Format"): eight bytes with the header's length n (unsigned, little
// endian), n bytes of JSON {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [BEGIN, END]}, ...} with optional
// "__metadata__": {"KEY": "TEXT"}, then the elements, row-major, little endian, without holes. Offsets count from the end of the
// header.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/file.h"
#include "core/tensor.h"

namespace heddle {

/// A safetensors file opened for reading. It is memory-mapped: opening reads the header only, loading reads that tensor only.
/// The file is treated as untrusted: any defect is an Error that names the file and the defect.
class SafetensorsFile {
  public:
    /// Reads and checks the header. Error when the file cannot be read or breaks any rule of the format.
    explicit SafetensorsFile(const std::filesystem::path& path);

    /// The path as it was given.
    const std::string& path() const { return path_; }
    /// All tensors, in the order of the header.
    const std::vector<std::string>& names() const { return names_; }
    bool contains(std::string_view name) const;
    /// Error if there is no such tensor; also in the functions below.
    const Shape& shape(std::string_view name) const;
    /// The dtype as written in the file. "F64", "F32", "F16", "BF16", "I64", "I32", "U8" and "BOOL" can be loaded.
    std::string_view dtype(std::string_view name) const;

    /// A copy of the tensor: F64 F32 BF16 I32 U8 unchanged, F16 as f32, I64 as i32, BOOL as u8 (0 or 1). Error for any other
    /// dtype, and for an I64 number that does not fit into i32.
    Tensor load(std::string_view name) const;
    /// A copy of the tensor, converted to `wanted`.
    Tensor load(std::string_view name, DType wanted) const;
    /// Fills `into`, on any device, with the elements, converted to its dtype. Error when the shapes differ.
    void load_into(std::string_view name, Tensor& into, Where where = Where::current()) const;
    /// The elements as in the file, unaligned; valid as long as this object.
    std::span<const std::byte> bytes(std::string_view name) const;

    /// The texts of "__metadata__".
    const std::map<std::string, std::string>& metadata() const { return metadata_; }

  private:
    struct Entry {
        std::string dtype;
        Shape shape;
        std::size_t begin = 0;  ///< from the start of the file
        std::size_t end = 0;
    };
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    const Entry& entry(std::string_view name) const;

    std::string path_;
    MemoryMap map_;
    std::vector<std::string> names_;
    std::unordered_map<std::string, Entry, Hash, std::equal_to<>> entries_;
    std::map<std::string, std::string> metadata_;
};

/// Writes the tensors and the metadata, atomically. The header lists the tensors in the given order and is padded to eight bytes;
/// the elements follow in that order too, wider dtypes first, so that each tensor is aligned to its element. The same arguments
/// give the same bytes. Error when a tensor is undefined, a name occurs twice, is "__metadata__" or not UTF-8, or
/// the file cannot be written.
void save_safetensors(const std::filesystem::path& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace heddle
