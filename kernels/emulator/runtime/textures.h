// Texture and surface objects, and the arithmetic of reading them.
#pragma once

#include <cstddef>

#include "kernels/emulator/include/cuda_runtime_api.h"

namespace heddle::emulator {

/// Memory that a texture or surface shows, and how it is read.
struct TextureObject {
    cudaResourceDesc resource = {};
    cudaTextureDesc reading = {};
    bool is_surface = false;
    std::byte* start = nullptr;
    cudaChannelFormatDesc format = {};
    std::size_t element = 0;  ///< bytes
    int dimensions = 1;
    int size[3] = {1, 1, 1};  ///< elements
    std::size_t pitch = 0, slice = 0;

    /// Whether reading gives floats.
    bool gives_floats() const {
        return format.f == cudaChannelFormatKindFloat || (!is_surface && reading.readMode == cudaReadModeNormalizedFloat);
    }
    std::byte* at(int x, int y, int z) const {
        return start + static_cast<std::size_t>(z) * slice + static_cast<std::size_t>(y) * pitch +
               static_cast<std::size_t>(x) * element;
    }
};

/// The object with this handle; null if there is none.
const TextureObject* texture_object(unsigned long long handle);

}  // namespace heddle::emulator
