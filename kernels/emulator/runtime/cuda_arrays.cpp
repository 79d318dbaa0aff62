// CUDA arrays: allocation, and what is known of them.
#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/runtime/runtime.h"
#include "kernels/emulator/runtime/textures.h"

using namespace heddle::emulator;

namespace {

struct Arrays {
    std::mutex mutex;
    std::vector<std::unique_ptr<cudaArray>> live;
};
Arrays& arrays() {
    static auto* const arrays = new Arrays;
    return *arrays;
}

cudaError_t take_array(const char* call, cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                       unsigned flags, Place place) {
    const auto wrong = [&](cudaError_t error, const std::string& why) { return refuse(error, std::string(call) + ": " + why); };
    if (array == nullptr || format == nullptr) return wrong(cudaErrorInvalidValue, "a null pointer");
    *array = nullptr;
    const std::size_t element = element_bytes(*format);
    if (element == 0)
        return wrong(cudaErrorInvalidChannelDescriptor, "an element has 1, 2 or 4 components of one size: 8, 16 or 32 bits");
    if (extent.width == 0 || (extent.depth > 0 && extent.height == 0))
        return wrong(cudaErrorInvalidValue, "the extents begin with the width; none before the last one is 0");
    if ((flags & (cudaArrayLayered | cudaArrayCubemap)) != 0)
        return wrong(cudaErrorNotSupported, "layers and cube maps are not emulated; use one array for each");
    if ((flags & ~(cudaArraySurfaceLoadStore | cudaArrayTextureGather)) != 0)
        return wrong(cudaErrorInvalidValue, "no such flags: " + std::to_string(flags));
    auto made = std::make_unique<cudaArray>(cudaArray{nullptr, *format, extent, flags, element});
    void* start = nullptr;
    if (const cudaError_t error = cudaMalloc(&start, made->pitch() * made->rows() * made->slices(), place); error != cudaSuccess)
        return error;
    made->start = static_cast<std::byte*>(start);
    const std::lock_guard lock(arrays().mutex);
    arrays().live.push_back(std::move(made));
    *array = arrays().live.back().get();
    return cudaSuccess;
}

cudaError_t no_array(const char* call) {
    return refuse(cudaErrorInvalidResourceHandle, std::string(call) + ": not an array, or one that was freed");
}

}  // namespace

namespace heddle::emulator {

bool is_array(const cudaArray* array) {
    const std::lock_guard lock(arrays().mutex);
    return std::any_of(arrays().live.begin(), arrays().live.end(), [&](const auto& each) { return each.get() == array; });
}

std::size_t element_bytes(const cudaChannelFormatDesc& format) {
    const int bits = format.x;
    if (bits != 8 && bits != 16 && bits != 32) return 0;
    if (format.f == cudaChannelFormatKindFloat ? bits == 8 : format.f > cudaChannelFormatKindFloat) return 0;
    const int count = format.w != 0 ? 4 : format.z != 0 ? 3 : format.y != 0 ? 2 : 1;
    const auto same = [&](int component, int number) { return component == (number < count ? bits : 0); };
    if (count == 3 || !same(format.y, 1) || !same(format.z, 2) || !same(format.w, 3)) return 0;
    return static_cast<std::size_t>(bits) / 8 * static_cast<std::size_t>(count);
}

}  // namespace heddle::emulator

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, std::size_t width, std::size_t height,
                            unsigned flags, Place place) {
    return take_array("cudaMallocArray", array, format, {width, height, 0}, flags, place);
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent, unsigned flags,
                              Place place) {
    return take_array("cudaMalloc3DArray", array, format, extent, flags, place);
}

cudaError_t cudaFreeArray(cudaArray_t array) {
    if (array == nullptr) return cudaSuccess;
    if (!is_array(array)) return no_array("cudaFreeArray");
    const cudaError_t error = cudaFree(array->start);
    const std::lock_guard lock(arrays().mutex);
    std::erase_if(arrays().live, [&](const auto& each) { return each.get() == array; });
    return error;
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags, cudaArray_t array) {
    if (!is_array(array)) return no_array("cudaArrayGetInfo");
    if (format != nullptr) *format = array->format;
    if (extent != nullptr) *extent = array->extent;
    if (flags != nullptr) *flags = array->flags;
    return cudaSuccess;
}
