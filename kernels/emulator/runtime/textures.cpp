// Texture objects.
#include "kernels/emulator/runtime/textures.h"

#include <array>
#include <atomic>
#include <deque>
#include <mutex>

#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/runtime/runtime.h"

namespace heddle::emulator {
namespace {

/// Kernels look objects up without a lock, so that the table has a fixed size. A handle is an index plus one; it is never used
/// again.
struct TextureTable {
    static constexpr std::size_t kMost = 1 << 16;
    std::mutex mutex;
    std::size_t count = 0;
    std::deque<TextureObject> kept;  ///< the destroyed ones, too: a kernel may read them
    std::array<std::atomic<const TextureObject*>, kMost> objects{};
};
TextureTable& texture_table() {
    static auto* const table = new TextureTable;
    return *table;
}

/// Fills in the memory that the resource names. "" or why it cannot.
std::string show(TextureObject& object) {
    const cudaResourceDesc& resource = object.resource;
    const auto linear = [&](void* start, const cudaChannelFormatDesc& format) -> std::string {
        object.start = static_cast<std::byte*>(start);
        object.format = format;
        object.element = element_bytes(format);
        return object.element == 0 ? "no such format of elements" : start == nullptr ? "a null pointer for the memory" : "";
    };
    switch (resource.resType) {
        case cudaResourceTypeArray: {
            const cudaArray* const array = resource.res.array.array;
            if (!is_array(array)) return "not an array, or one that was freed";
            object.start = array->start;
            object.format = array->format;
            object.element = array->element;
            object.dimensions = array->extent.depth > 0 ? 3 : array->extent.height > 0 ? 2 : 1;
            object.size[0] = static_cast<int>(array->extent.width);
            object.size[1] = static_cast<int>(array->rows());
            object.size[2] = static_cast<int>(array->slices());
            object.pitch = array->pitch();
            object.slice = array->pitch() * array->rows();
            return "";
        }
        case cudaResourceTypeLinear: {
            const auto& memory = resource.res.linear;
            if (std::string why = linear(memory.devPtr, memory.desc); !why.empty()) return why;
            object.size[0] = static_cast<int>(memory.sizeInBytes / object.element);
            return lives(memory.devPtr, memory.sizeInBytes) ? "" : "not so much memory: " + describe(memory.devPtr);
        }
        case cudaResourceTypePitch2D: {
            const auto& memory = resource.res.pitch2D;
            if (std::string why = linear(memory.devPtr, memory.desc); !why.empty()) return why;
            object.dimensions = 2;
            object.size[0] = static_cast<int>(memory.width);
            object.size[1] = static_cast<int>(memory.height);
            object.pitch = memory.pitchInBytes;
            if (memory.width * object.element > object.pitch || object.pitch % 32 != 0)
                return "the pitch is a multiple of 32 bytes (texturePitchAlignment) that holds a row";
            const std::size_t bytes = memory.height == 0 ? 0 : (memory.height - 1) * object.pitch + memory.width * object.element;
            return lives(memory.devPtr, bytes) ? "" : "not so much memory: " + describe(memory.devPtr);
        }
        default: return "mipmapped arrays are not emulated";
    }
}

/// Why the texture cannot be read as wanted, and CUDA's code for it; success if it can.
cudaError_t check_reading(const TextureObject& object) {
    const bool is_linear = object.resource.resType == cudaResourceTypeLinear;
    const cudaTextureDesc& reading = object.reading;
    if (reading.sRGB != 0) return refuse(cudaErrorNotSupported, "cudaCreateTextureObject: sRGB is not emulated");
    if (reading.maxAnisotropy > 1)
        return refuse(cudaErrorNotSupported, "cudaCreateTextureObject: anisotropic filtering is not emulated");
    if (reading.readMode == cudaReadModeNormalizedFloat &&
        (object.format.x == 32 || object.format.f == cudaChannelFormatKindFloat))
        return refuse(cudaErrorInvalidNormSetting,
                      "cudaCreateTextureObject: only integers of 8 and 16 bits are read as normalised floats");
    if (reading.filterMode == cudaFilterModeLinear && !object.gives_floats())
        return refuse(cudaErrorInvalidFilterSetting,
                      "cudaCreateTextureObject: linear filtering wants floats, or integers read as normalised floats");
    if (is_linear && (reading.filterMode == cudaFilterModeLinear || reading.normalizedCoords != 0))
        return refuse(cudaErrorInvalidValue,
                      "cudaCreateTextureObject: linear memory is read by whole numbers: no filter, no normalised coordinates");
    return cudaSuccess;
}

}  // namespace

const TextureObject* texture_object(unsigned long long handle) {
    return handle == 0 || handle > TextureTable::kMost ? nullptr : texture_table().objects[handle - 1].load();
}

}  // namespace heddle::emulator

using namespace heddle::emulator;

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* reading, const cudaResourceViewDesc* view) {
    if (const cudaError_t error = check_caller("cudaCreateTextureObject"); error != cudaSuccess) return error;
    if (texture == nullptr || resource == nullptr || reading == nullptr)
        return refuse(cudaErrorInvalidValue, "cudaCreateTextureObject: a null pointer");
    if (view != nullptr && view->format != cudaResViewFormatNone)
        return refuse(cudaErrorNotSupported,
                      "cudaCreateTextureObject: views of another format are not emulated; pass a null pointer");
    TextureObject object;
    object.resource = *resource;
    object.reading = *reading;
    if (const std::string why = show(object); !why.empty())
        return refuse(cudaErrorInvalidValue, "cudaCreateTextureObject: " + why);
    if (const cudaError_t error = check_reading(object); error != cudaSuccess) return error;
    TextureTable& table = texture_table();
    const std::lock_guard lock(table.mutex);
    if (table.count == TextureTable::kMost)
        return refuse(cudaErrorMemoryAllocation,
                      "cudaCreateTextureObject: the emulator has room for 65,536 textures in a program");
    table.objects[table.count] = &table.kept.emplace_back(object);
    *texture = ++table.count;
    return cudaSuccess;
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
    if (const cudaError_t error = check_caller("cudaDestroyTextureObject"); error != cudaSuccess) return error;
    const Failure failure = streams().wait_for_all(true);  // queued kernels may read it
    if (texture_object(texture) == nullptr)
        return refuse(cudaErrorInvalidValue, "cudaDestroyTextureObject: not a texture, or one that was destroyed");
    texture_table().objects[texture - 1] = nullptr;
    return outcome(failure);
}
