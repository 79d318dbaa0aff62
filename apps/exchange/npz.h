// NumPy's .npz: a ZIP archive whose entries NAME.npy are arrays.
//
// Source: NEP 1, "A simple file format for NumPy arrays": the bytes "\x93NUMPY", two bytes of version, the length of the header
// (two bytes, from version 2 on four), the header, a Python dict such as {'descr': '<f4', 'fortran_order': False,
// 'shape': (3, 4), }, then the elements, row-major.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/exchange/zip.h"
#include "core/tensor.h"

namespace heddle::app {

/// An array as its file describes it.
struct NpyArray {
    std::string dtype;                 ///< such as "<f4" or "<i1"
    std::vector<std::int64_t> shape;   ///< empty for a scalar
    std::span<const std::byte> bytes;  ///< the elements, row-major, unaligned
};

/// An npz file opened for reading, untrusted as ZipFile is. An array is read when it is asked for.
class NpzFile {
  public:
    /// Error as ZipFile, and for an entry that is not called NAME.npy.
    explicit NpzFile(const std::filesystem::path& path);

    const std::string& path() const { return zip_.path(); }
    /// The arrays' names, without ".npy", in the archive's order.
    const std::vector<std::string>& names() const { return names_; }
    bool contains(std::string_view name) const { return zip_.contains(std::string(name) + ".npy"); }
    /// Error, with file and name, when there is none, its check sum or header is wrong, its dtype is not a number of one to eight
    /// bytes, it is in Fortran's order, or its elements are not as many bytes as its shape says.
    NpyArray array(std::string_view name) const;
    /// A copy of an array of dtype <f4. Error as array(), for another dtype, and for a number that is not finite.
    Tensor load_f32(std::string_view name) const;

  private:
    ZipFile zip_;
    std::vector<std::string> names_;
};

/// Writes an npz file in memory.
class NpzWriter {
  public:
    /// `tensor`: f32 on the CPU.
    void add(const std::string& name, const Tensor& tensor);
    /// An array of dtype <i1 (so Marian calls it), one element per byte.
    void add(const std::string& name, std::string_view bytes);
    std::string take() { return zip_.take(); }

  private:
    ZipWriter zip_;
};

}  // namespace heddle::app
