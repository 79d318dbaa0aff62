// Reads of textures in kernels (CUDA C++ programming guide, "Texture fetching").
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "kernels/emulator/cuda/texture.h"
#include "kernels/emulator/float_formats.h"
#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/run/verdict.h"
#include "kernels/emulator/runtime/textures.h"

namespace heddle::emulator {
namespace {

/// Four components, as floats or as integers.
struct Components {
    float floats[4];
    std::uint32_t integers[4];
};

/// One component of `bits` bits. Normalised integers lie in [0, 1] or [-1, 1].
void read_component(const TextureObject& texture, const std::byte* from, int i, Components& to) {
    const int bits = texture.format.x;
    std::uint32_t value = 0;
    std::memcpy(&value, from, static_cast<std::size_t>(bits / 8));
    const bool is_signed = texture.format.f == cudaChannelFormatKindSigned;
    if (is_signed && bits < 32 && (value >> (bits - 1) & 1) != 0) value |= ~std::uint32_t{0} << bits;
    to.integers[i] = value;
    if (texture.format.f == cudaChannelFormatKindFloat) {
        if (bits == 16)
            to.floats[i] = half_to_float(static_cast<std::uint16_t>(value));
        else
            std::memcpy(&to.floats[i], &value, sizeof value);
    } else if (texture.gives_floats()) {
        const auto most = static_cast<float>((std::uint32_t{1} << (is_signed ? bits - 1 : bits)) - 1);
        to.floats[i] = is_signed ? std::max(-1.0f, static_cast<float>(static_cast<std::int32_t>(value)) / most)
                                 : static_cast<float>(value) / most;
    }
}

/// The element's index on one axis; -1: outside, where the border's colour is read.
int address(std::int64_t i, int size, cudaTextureAddressMode mode, bool normalised) {
    if (i >= 0 && i < size) return static_cast<int>(i);
    // Without normalised coordinates a texture neither wraps nor mirrors: it clamps.
    if (!normalised && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror)) mode = cudaAddressModeClamp;
    switch (mode) {
        case cudaAddressModeWrap: return static_cast<int>((i % size + size) % size);
        case cudaAddressModeMirror: {
            const std::int64_t twice = (i % (2 * size) + 2 * size) % (2 * size);
            return static_cast<int>(twice < size ? twice : 2 * size - 1 - twice);
        }
        case cudaAddressModeBorder: return -1;
        default: return i < 0 ? 0 : size - 1;
    }
}

Components read_element(const TextureObject& texture, const std::int64_t (&index)[3], Place place) {
    int at[3] = {0, 0, 0};
    Components element = {};
    for (int axis = 0; axis < texture.dimensions; ++axis) {
        at[axis] =
            address(index[axis], texture.size[axis], texture.reading.addressMode[axis], texture.reading.normalizedCoords != 0);
        if (at[axis] >= 0) continue;
        for (int i = 0; i < 4; ++i) {
            element.floats[i] = texture.reading.borderColor[i];
            std::memcpy(&element.integers[i], &texture.reading.borderColor[i], sizeof(float));
        }
        return element;
    }
    const std::byte* const from = texture.at(at[0], at[1], at[2]);
    checker::read(from, texture.element, place);
    const int width = texture.format.x / 8;
    for (int i = 0; i < static_cast<int>(texture.element) / width; ++i) read_component(texture, from + i * width, i, element);
    return element;
}

cuda::Texel texel_of(const TextureObject& texture, const Components& components) {
    cuda::Texel texel;
    if (texture.gives_floats())
        std::memcpy(texel.bits, components.floats, sizeof texel.bits);
    else
        std::memcpy(texel.bits, components.integers, sizeof texel.bits);
    return texel;
}

/// The texture, if the kernel may read it so. Otherwise the launch ends.
const TextureObject& readable(unsigned long long handle, int dimensions, cuda::TexelType type, const char* call, Place place) {
    const TextureObject* const texture = texture_object(handle);
    const std::string where = std::string("calls ") + call + " at " + text_of(place);
    const auto refuse = [&](const std::string& why) { violate(mistake("fault", place, where + why)); };
    if (texture == nullptr) refuse(" for a texture that does not exist, or was destroyed");
    if (dimensions != texture->dimensions) refuse(" for a texture of " + std::to_string(texture->dimensions) + " dimensions");
    if (type.is_float != texture->gives_floats())
        refuse((type.is_float ? " as floats, but the texture has integers (cudaReadModeElementType)"
                              : " as integers, but the texture gives floats"));
    if (!type.is_float && type.bits != texture->format.x)
        refuse(" with components of " + std::to_string(type.bits) + " bits, but the texture's have " +
               std::to_string(texture->format.x));
    return *texture;
}

/// The weight of the second neighbour, in 9 bits of which 8 are a fraction.
float weight_of(float x, float below) { return std::floor((x - below) * 256.0f + 0.5f) / 256.0f; }

Components sample_linearly(const TextureObject& texture, const float (&x)[3], Place place) {
    std::int64_t first[3] = {0, 0, 0};
    float weight[3] = {0, 0, 0};
    for (int axis = 0; axis < texture.dimensions; ++axis) {
        const float shifted = x[axis] - 0.5f, below = std::floor(shifted);
        first[axis] = static_cast<std::int64_t>(below);
        weight[axis] = weight_of(shifted, below);
    }
    Components sum = {};
    for (int corner = 0; corner < 1 << texture.dimensions; ++corner) {
        std::int64_t index[3] = {0, 0, 0};
        float part = 1;
        for (int axis = 0; axis < texture.dimensions; ++axis) {
            const bool second = (corner >> axis & 1) != 0;
            index[axis] = first[axis] + (second ? 1 : 0);
            part *= second ? weight[axis] : 1.0f - weight[axis];
        }
        if (part == 0) continue;
        const Components element = read_element(texture, index, place);
        for (int i = 0; i < 4; ++i) sum.floats[i] += part * element.floats[i];
    }
    return sum;
}

}  // namespace

cuda::Texel cuda::sample_texture(cudaTextureObject_t handle, int dimensions, const float (&at)[3], TexelType type, Place place) {
    const char* const call = dimensions == 1 ? "tex1D" : dimensions == 2 ? "tex2D" : "tex3D";
    const TextureObject& texture = readable(handle, dimensions, type, call, place);
    if (texture.resource.resType == cudaResourceTypeLinear)
        violate(mistake("fault", place, "calls tex1D at " + text_of(place) + " for linear memory, which only tex1Dfetch reads"));
    float x[3];
    for (int axis = 0; axis < 3; ++axis) {
        x[axis] = texture.reading.normalizedCoords != 0 ? at[axis] * static_cast<float>(texture.size[axis]) : at[axis];
        constexpr float far = 1e9f;  // farther than any texture reaches
        x[axis] = std::isnan(x[axis]) ? 0.0f : std::clamp(x[axis], -far, far);
    }
    if (texture.reading.filterMode == cudaFilterModeLinear) return texel_of(texture, sample_linearly(texture, x, place));
    std::int64_t index[3];
    for (int axis = 0; axis < 3; ++axis) index[axis] = static_cast<std::int64_t>(std::floor(x[axis]));
    return texel_of(texture, read_element(texture, index, place));
}

cuda::Texel cuda::fetch_texture(cudaTextureObject_t handle, int x, TexelType type, Place place) {
    const TextureObject& texture = readable(handle, 1, type, "tex1Dfetch", place);
    if (texture.resource.resType != cudaResourceTypeLinear)
        violate(mistake("fault", place, "calls tex1Dfetch at " + text_of(place) + " for an array, which tex1D reads"));
    if (x < 0 || x >= texture.size[0]) return {};  // as documented
    return texel_of(texture, read_element(texture, {x, 0, 0}, place));
}

}  // namespace heddle::emulator
