// Textures and surfaces in kernels: CUDA's functions that read and write them. Objects are made by cudaCreateTextureObject and
// cudaCreateSurfaceObject (runtime/textures.cpp computes what is read).
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
/// Bytes of a surface; x counts bytes. False: outside, where zeros are read and nothing is written.
void read_surface(cudaSurfaceObject_t surface, void* to, unsigned long bytes, int dimensions, const int (&at)[3],
                  cudaSurfaceBoundaryMode mode, Place place);
void write_surface(cudaSurfaceObject_t surface, const void* from, unsigned long bytes, int dimensions, const int (&at)[3],
                   cudaSurfaceBoundaryMode mode, Place place);
/// Ends the launch: the kernel calls a function that is not emulated.
[[noreturn]] void refuse_in_kernel(const char* call, const char* why, Place place);

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

// Surfaces: x counts bytes.
template <class T>
T surf1Dread(cudaSurfaceObject_t surface, int x, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, HEDDLE_PLACE) {
    T value;
    heddle::emulator::cuda::read_surface(surface, &value, sizeof value, 1, {x, 0, 0}, mode, place);
    return value;
}
template <class T>
T surf2Dread(cudaSurfaceObject_t surface, int x, int y, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, HEDDLE_PLACE) {
    T value;
    heddle::emulator::cuda::read_surface(surface, &value, sizeof value, 2, {x, y, 0}, mode, place);
    return value;
}
template <class T>
T surf3Dread(cudaSurfaceObject_t surface, int x, int y, int z, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,
             HEDDLE_PLACE) {
    T value;
    heddle::emulator::cuda::read_surface(surface, &value, sizeof value, 3, {x, y, z}, mode, place);
    return value;
}
template <class T>
void surf1Dread(T* value, cudaSurfaceObject_t surface, int x, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, HEDDLE_PLACE) {
    *value = surf1Dread<T>(surface, x, mode, place);
}
template <class T>
void surf2Dread(T* value, cudaSurfaceObject_t surface, int x, int y, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,
                HEDDLE_PLACE) {
    *value = surf2Dread<T>(surface, x, y, mode, place);
}
template <class T>
void surf1Dwrite(T value, cudaSurfaceObject_t surface, int x, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, HEDDLE_PLACE) {
    heddle::emulator::cuda::write_surface(surface, &value, sizeof value, 1, {x, 0, 0}, mode, place);
}
template <class T>
void surf2Dwrite(T value, cudaSurfaceObject_t surface, int x, int y, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,
                 HEDDLE_PLACE) {
    heddle::emulator::cuda::write_surface(surface, &value, sizeof value, 2, {x, y, 0}, mode, place);
}
template <class T>
void surf3Dwrite(T value, cudaSurfaceObject_t surface, int x, int y, int z, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,
                 HEDDLE_PLACE) {
    heddle::emulator::cuda::write_surface(surface, &value, sizeof value, 3, {x, y, z}, mode, place);
}

#undef HEDDLE_PLACE

// Refused where a kernel calls them.
#define HEDDLE_REFUSED(name, why)                                                                 \
    template <class T, class... Coordinates>                                                      \
    T name(unsigned long long, Coordinates...) {                                                  \
        heddle::emulator::cuda::refuse_in_kernel(#name, why, heddle::emulator::Place::current()); \
    }
#define HEDDLE_WHY "mipmapped arrays are not emulated; use one texture for each level"
HEDDLE_REFUSED(tex1DLod, HEDDLE_WHY)
HEDDLE_REFUSED(tex1DGrad, HEDDLE_WHY)
HEDDLE_REFUSED(tex2DLod, HEDDLE_WHY)
HEDDLE_REFUSED(tex2DGrad, HEDDLE_WHY)
HEDDLE_REFUSED(tex3DLod, HEDDLE_WHY)
HEDDLE_REFUSED(tex3DGrad, HEDDLE_WHY)
#undef HEDDLE_WHY
#define HEDDLE_WHY "layers, cube maps and gathers are not emulated; use one texture for each layer"
HEDDLE_REFUSED(tex1DLayered, HEDDLE_WHY)
HEDDLE_REFUSED(tex2DLayered, HEDDLE_WHY)
HEDDLE_REFUSED(tex2Dgather, HEDDLE_WHY)
HEDDLE_REFUSED(texCubemap, HEDDLE_WHY)
HEDDLE_REFUSED(texCubemapLayered, HEDDLE_WHY)
HEDDLE_REFUSED(surf1DLayeredread, HEDDLE_WHY)
HEDDLE_REFUSED(surf2DLayeredread, HEDDLE_WHY)
HEDDLE_REFUSED(surfCubemapread, HEDDLE_WHY)
#undef HEDDLE_WHY
#undef HEDDLE_REFUSED
