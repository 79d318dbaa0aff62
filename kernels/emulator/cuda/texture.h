// Textures in kernels: CUDA's functions that read them. Objects are made by cudaCreateTextureObject (runtime/texture_reads.cpp
// computes what is read).
#pragma once

#include "kernels/emulator/include/cuda_runtime_api.h"
#include "kernels/emulator/place.h"

namespace heddle::emulator::cuda {

/// The value of a texture read: up to four components of 32 bits each, integers or floats.
struct Texel {
    unsigned bits[4];
};
/// How the kernel takes it: the texture must have such elements.
struct TexelType {
    bool is_float;
    int bits, components;
};
/// The texture at (x, y, z), of which `dimensions` count.
Texel sample_texture(cudaTextureObject_t texture, int dimensions, const float (&at)[3], TexelType type, Place place);
/// An element of linear memory.
Texel fetch_texture(cudaTextureObject_t texture, int x, TexelType type, Place place);

template <class T>
constexpr TexelType texel_type() {
    using Component = typename Channels<T>::Of;
    return {Channel<Component>::kind == cudaChannelFormatKindFloat, Channel<Component>::bits, Channels<T>::count};
}
template <class T>
T from_texel(const Texel& texel) {
    using Component = typename Channels<T>::Of;
    static_assert(sizeof(T) <= 16 && sizeof(Component) <= 4, "a texture's element has up to 4 components of up to 32 bits");
    T value;
    for (unsigned i = 0; i < sizeof(T) / sizeof(Component); ++i)  // the lowest bytes come first
        __builtin_memcpy(reinterpret_cast<char*>(&value) + i * sizeof(Component), &texel.bits[i], sizeof(Component));
    return value;
}

}  // namespace heddle::emulator::cuda

#define HEDDLE_PLACE ::heddle::emulator::Place place = ::heddle::emulator::Place::current()

template <class T>
T tex1Dfetch(cudaTextureObject_t texture, int x, HEDDLE_PLACE) {
    using namespace heddle::emulator::cuda;
    return from_texel<T>(fetch_texture(texture, x, texel_type<T>(), place));
}
template <class T>
T tex1D(cudaTextureObject_t texture, float x, HEDDLE_PLACE) {
    using namespace heddle::emulator::cuda;
    return from_texel<T>(sample_texture(texture, 1, {x, 0, 0}, texel_type<T>(), place));
}
template <class T>
T tex2D(cudaTextureObject_t texture, float x, float y, HEDDLE_PLACE) {
    using namespace heddle::emulator::cuda;
    return from_texel<T>(sample_texture(texture, 2, {x, y, 0}, texel_type<T>(), place));
}
template <class T>
T tex3D(cudaTextureObject_t texture, float x, float y, float z, HEDDLE_PLACE) {
    using namespace heddle::emulator::cuda;
    return from_texel<T>(sample_texture(texture, 3, {x, y, z}, texel_type<T>(), place));
}
// The forms that write the result through a pointer.
template <class T>
void tex1Dfetch(T* value, cudaTextureObject_t texture, int x, HEDDLE_PLACE) {
    *value = tex1Dfetch<T>(texture, x, place);
}
template <class T>
void tex1D(T* value, cudaTextureObject_t texture, float x, HEDDLE_PLACE) {
    *value = tex1D<T>(texture, x, place);
}
template <class T>
void tex2D(T* value, cudaTextureObject_t texture, float x, float y, HEDDLE_PLACE) {
    *value = tex2D<T>(texture, x, y, place);
}
template <class T>
void tex3D(T* value, cudaTextureObject_t texture, float x, float y, float z, HEDDLE_PLACE) {
    *value = tex3D<T>(texture, x, y, z, place);
}

#undef HEDDLE_PLACE
