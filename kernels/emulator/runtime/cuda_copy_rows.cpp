// Copies and fills of two and three dimensions, with arrays on either side.
#include <algorithm>

#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/runtime/runtime.h"
#include "kernels/emulator/runtime/textures.h"

using namespace heddle::emulator;

namespace {

/// One side of a copy: rows, and how far the slices are apart.
struct Side {
    Rows rows;
    std::size_t slice = 0;
};

Rows rows_of(const void* start, std::size_t pitch, std::size_t width, std::size_t height) {
    return {static_cast<std::byte*>(const_cast<void*>(start)), pitch, width, height};
}

/// A part of an array; x and width are bytes. Empty and the thread's last error, if it is not all in the array.
bool part_of(Side& side, const char* call, const cudaArray* array, cudaPos at, cudaExtent extent) {
    if (!is_array(array)) {
        refuse(cudaErrorInvalidResourceHandle, std::string(call) + ": not an array, or one that was freed");
        return false;
    }
    if (at.x + extent.width > array->pitch() || at.y + extent.height > array->rows() || at.z + extent.depth > array->slices()) {
        refuse(cudaErrorInvalidValue, std::string(call) + ": the copy leaves the array of " + std::to_string(array->pitch()) +
                                          " bytes by " + std::to_string(array->rows()) + " rows by " +
                                          std::to_string(array->slices()) + " slices (x and width are bytes)");
        return false;
    }
    side.slice = array->pitch() * array->rows();
    side.rows =
        rows_of(array->start + at.z * side.slice + at.y * array->pitch() + at.x, array->pitch(), extent.width, extent.height);
    return true;
}

bool pitches_fit(const char* call, std::size_t width, std::size_t to, std::size_t from) {
    if (width <= to && width <= from) return true;
    refuse(cudaErrorInvalidPitchValue, std::string(call) + ": rows of " + std::to_string(width) + " bytes, but pitches of " +
                                           std::to_string(to) + " and " + std::to_string(from));
    return false;
}

cudaError_t copy_2d(const char* call, void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                    std::size_t height, cudaMemcpyKind kind, cudaStream_t stream, bool waits, Place place) {
    if (!pitches_fit(call, width, to_pitch, from_pitch)) return cudaErrorInvalidPitchValue;
    return copy_rows(call, rows_of(to, to_pitch, width, height), rows_of(from, from_pitch, width, height), kind, stream, waits,
                     place);
}

/// The slices one after the other, or as one copy if they lie behind each other on both sides.
cudaError_t copy_slices(const char* call, Side to, Side from, std::size_t depth, cudaMemcpyKind kind, cudaStream_t stream,
                        bool waits, Place place) {
    const auto is_whole = [](const Side& side) { return side.slice == side.rows.pitch * side.rows.height; };
    if (depth > 1 && is_whole(to) && is_whole(from)) {
        to.rows.height *= depth;
        from.rows.height *= depth;
        depth = 1;
    }
    for (; depth > 0; --depth) {
        const cudaError_t error = copy_rows(call, to.rows, from.rows, kind, stream, waits, place);
        if (error != cudaSuccess) return error;
        to.rows.start += to.slice;
        from.rows.start += from.slice;
    }
    return cudaSuccess;
}

/// A side of cudaMemcpy3D: an array, whose x counts elements, or pitched memory, whose x counts bytes.
bool side_of(Side& side, const char* call, cudaArray_t array, cudaPos at, const cudaPitchedPtr& memory, cudaExtent bytes) {
    if ((array != nullptr) == (memory.ptr != nullptr)) {
        refuse(cudaErrorInvalidValue, std::string(call) + ": each side is either an array or a pointer");
        return false;
    }
    if (array != nullptr) {
        if (is_array(array)) at.x *= array->element;
        return part_of(side, call, array, at, bytes);
    }
    if (bytes.width + at.x > memory.pitch || (bytes.depth > 1 && bytes.height + at.y > memory.ysize)) {
        refuse(cudaErrorInvalidPitchValue, std::string(call) + ": the copy's rows leave the pitch of " +
                                               std::to_string(memory.pitch) + " bytes or the " + std::to_string(memory.ysize) +
                                               " rows of a slice");
        return false;
    }
    side.slice = memory.pitch * memory.ysize;
    side.rows = rows_of(static_cast<const std::byte*>(memory.ptr) + at.z * side.slice + at.y * memory.pitch + at.x, memory.pitch,
                        bytes.width, bytes.height);
    return true;
}

cudaError_t copy_3d(const char* call, const cudaMemcpy3DParms* p, cudaStream_t stream, bool waits, Place place) {
    if (p == nullptr) return refuse(cudaErrorInvalidValue, std::string(call) + ": a null pointer for the parameters");
    cudaExtent bytes = p->extent;
    if (bytes.width == 0 || bytes.height == 0 || bytes.depth == 0) return cudaSuccess;
    // The width counts elements if an array takes part, else bytes.
    const cudaArray* const array = p->srcArray != nullptr ? p->srcArray : p->dstArray;
    if (array != nullptr && is_array(array)) bytes.width *= array->element;
    if (p->srcArray != nullptr && p->dstArray != nullptr && is_array(p->srcArray) && is_array(p->dstArray) &&
        p->srcArray->element != p->dstArray->element)
        return refuse(cudaErrorInvalidValue, std::string(call) + ": the arrays' elements have different sizes");
    Side to, from;
    if (!side_of(to, call, p->dstArray, p->dstPos, p->dstPtr, bytes)) return cudaPeekAtLastError();
    if (!side_of(from, call, p->srcArray, p->srcPos, p->srcPtr, bytes)) return cudaPeekAtLastError();
    return copy_slices(call, to, from, bytes.depth, p->kind, stream, waits, place);
}

/// `bytes` of an array from (x, y) on. The rows lie behind each other, so that they are one piece.
bool linear_part(Rows& part, const char* call, const cudaArray* array, std::size_t x, std::size_t y, std::size_t bytes) {
    Side side;
    if (!part_of(side, call, array, {x, y, 0}, {0, 0, 1})) return false;
    if (y * array->pitch() + x + bytes > array->pitch() * array->rows()) {
        refuse(cudaErrorInvalidValue, std::string(call) + ": the copy leaves the array");
        return false;
    }
    part = Rows::of(side.rows.start, bytes);
    return true;
}

cudaError_t fill_3d(const char* call, const cudaPitchedPtr& pitched, int byte, cudaExtent extent, cudaStream_t stream,
                    Place place) {
    if (!pitches_fit(call, extent.width, pitched.pitch, pitched.pitch)) return cudaErrorInvalidPitchValue;
    Rows rows = rows_of(pitched.ptr, pitched.pitch, extent.width, extent.height);
    if (extent.depth > 1 && extent.height == pitched.ysize) {
        rows.height *= extent.depth;
        extent.depth = 1;
    }
    for (; extent.depth > 0; --extent.depth) {
        if (const cudaError_t error = fill_rows(call, rows, byte, stream, place); error != cudaSuccess) return error;
        rows.start += pitched.pitch * pitched.ysize;
    }
    return cudaSuccess;
}

}  // namespace

cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind, Place place) {
    return copy_2d("cudaMemcpy2D", to, to_pitch, from, from_pitch, width, height, kind, nullptr, true, place);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                              std::size_t height, cudaMemcpyKind kind, cudaStream_t stream, Place place) {
    return copy_2d("cudaMemcpy2DAsync", to, to_pitch, from, from_pitch, width, height, kind, stream, false, place);
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters, Place place) {
    return copy_3d("cudaMemcpy3D", parameters, nullptr, true, place);
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream, Place place) {
    return copy_3d("cudaMemcpy3DAsync", parameters, stream, false, place);
}

cudaError_t cudaMemset2D(void* pointer, std::size_t pitch, int byte, std::size_t width, std::size_t height, Place place) {
    return cudaMemset2DAsync(pointer, pitch, byte, width, height, nullptr, place);
}
cudaError_t cudaMemset2DAsync(void* pointer, std::size_t pitch, int byte, std::size_t width, std::size_t height,
                              cudaStream_t stream, Place place) {
    return fill_3d("cudaMemset2D", {pointer, pitch, width, height}, byte, {width, height, 1}, stream, place);
}
cudaError_t cudaMemset3D(cudaPitchedPtr pitched, int byte, cudaExtent extent, Place place) {
    return fill_3d("cudaMemset3D", pitched, byte, extent, nullptr, place);
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                                std::size_t width, std::size_t height, cudaMemcpyKind kind, Place place) {
    const char* const call = "cudaMemcpy2DToArray";
    Side side;
    if (!part_of(side, call, to, {x, y, 0}, {width, height, 1})) return cudaPeekAtLastError();
    if (!pitches_fit(call, width, width, pitch)) return cudaErrorInvalidPitchValue;
    return copy_rows(call, side.rows, rows_of(from, pitch, width, height), kind, nullptr, true, place);
}
cudaError_t cudaMemcpy2DFromArray(void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x, std::size_t y,
                                  std::size_t width, std::size_t height, cudaMemcpyKind kind, Place place) {
    const char* const call = "cudaMemcpy2DFromArray";
    Side side;
    if (!part_of(side, call, from, {x, y, 0}, {width, height, 1})) return cudaPeekAtLastError();
    if (!pitches_fit(call, width, pitch, width)) return cudaErrorInvalidPitchValue;
    return copy_rows(call, rows_of(to, pitch, width, height), side.rows, kind, nullptr, true, place);
}
cudaError_t cudaMemcpyToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                              cudaMemcpyKind kind, Place place) {
    Rows part;
    if (!linear_part(part, "cudaMemcpyToArray", to, x, y, bytes)) return cudaPeekAtLastError();
    return copy_rows("cudaMemcpyToArray", part, Rows::of(from, bytes), kind, nullptr, true, place);
}
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, std::size_t x, std::size_t y, std::size_t bytes,
                                cudaMemcpyKind kind, Place place) {
    Rows part;
    if (!linear_part(part, "cudaMemcpyFromArray", from, x, y, bytes)) return cudaPeekAtLastError();
    return copy_rows("cudaMemcpyFromArray", Rows::of(to, bytes), part, kind, nullptr, true, place);
}
