// CUDA arrays: memory for textures and surfaces. Here the rows simply lie behind each other.
#pragma once

#include <cstddef>

#include "kernels/emulator/include/driver_types.h"

/// Extents are elements; a height or depth of 0 means that the array has fewer dimensions.
struct cudaArray {
    std::byte* start;
    cudaChannelFormatDesc format;
    cudaExtent extent;
    unsigned flags;
    std::size_t element;  ///< bytes

    std::size_t rows() const { return extent.height == 0 ? 1 : extent.height; }
    std::size_t slices() const { return extent.depth == 0 ? 1 : extent.depth; }
    std::size_t pitch() const { return extent.width * element; }
};

namespace heddle::emulator {

/// Whether it is an array that was not freed.
bool is_array(const cudaArray* array);
/// Bytes of one element; 0 if there is no such format.
std::size_t element_bytes(const cudaChannelFormatDesc& format);

}  // namespace heddle::emulator
