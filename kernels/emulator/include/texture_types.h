// How textures are read, and the format of an array's elements. Names and values are CUDA's.
#pragma once

#include "kernels/emulator/include/driver_types.h"

enum cudaTextureAddressMode {
    cudaAddressModeWrap = 0,
    cudaAddressModeClamp = 1,
    cudaAddressModeMirror = 2,
    cudaAddressModeBorder = 3,
};
enum cudaTextureFilterMode {
    cudaFilterModePoint = 0,
    cudaFilterModeLinear = 1,
};
enum cudaTextureReadMode {
    cudaReadModeElementType = 0,
    cudaReadModeNormalizedFloat = 1,
};
struct cudaTextureDesc {
    cudaTextureAddressMode addressMode[3];
    cudaTextureFilterMode filterMode;
    cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
};
typedef unsigned long long cudaTextureObject_t;

inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
    return {x, y, z, w, kind};
}

namespace heddle::emulator {

template <class T>
struct Channel {
    static constexpr cudaChannelFormatKind kind =
        T(0.5f) == T(0) ? T(-1) < T(0) ? cudaChannelFormatKindSigned : cudaChannelFormatKindUnsigned : cudaChannelFormatKindFloat;
    static constexpr int bits = 8 * sizeof(T);
};

/// The number and type of a vector type's components, by its members; a scalar has one.
template <class T, class = void>
struct Channels {
    using Of = T;
    static constexpr int count = 1;
};
template <class T>
struct Channels<T, decltype(void(T::x))> {
    using Of = decltype(T::x);
    static constexpr int count = sizeof(T) / sizeof(Of);
};

}  // namespace heddle::emulator

/// For float, int, char and their kin, and vectors of 1, 2 and 4 of them. Vectors of three are no format on a GPU either.
template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc() {
    using Channels = heddle::emulator::Channels<T>;
    using Channel = heddle::emulator::Channel<typename Channels::Of>;
    constexpr int bits = Channel::bits, count = Channels::count;
    static_assert(count != 3 && sizeof(T) <= 16, "a texture's element has 1, 2 or 4 components, of at most 16 bytes together");
    return {bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 2 ? bits : 0, Channel::kind};
}
