// CUDA arrays, where the rows simply lie behind each other; texture objects, and the arithmetic of reading them.
#pragma once

#include <cstddef>

#include "kernels/emulator/include/cuda_runtime_api.h"

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

/// Memory that a texture shows, and how it is read.
struct TextureObject {
    cudaResourceDesc resource = {};
    cudaTextureDesc reading = {};
    std::byte* start = nullptr;
    cudaChannelFormatDesc format = {};
    std::size_t element = 0;  ///< bytes
    int dimensions = 1;
    int size[3] = {1, 1, 1};  ///< elements
    std::size_t pitch = 0, slice = 0;

    /// Whether reading gives floats.
    bool gives_floats() const {
        return format.f == cudaChannelFormatKindFloat || reading.readMode == cudaReadModeNormalizedFloat;
    }
    std::byte* at(int x, int y, int z) const {
        return start + static_cast<std::size_t>(z) * slice + static_cast<std::size_t>(y) * pitch +
               static_cast<std::size_t>(x) * element;
    }
};

/// The object with this handle; null if there is none.
const TextureObject* texture_object(unsigned long long handle);

}  // namespace heddle::emulator
