// Beside cuBLASLt: rows that a product starts from, and rows copied to where an algorithm takes them.
#include "kernels/matmul/product_cuda.h"

#include <algorithm>

#include "kernels/device/dispatch.h"
#include "kernels/device/launch.h"
#include "kernels/device/number.h"

namespace heddle::kernels {
namespace {

// c[i, j] = bias[j], or 0 without a bias. A thread an element; neighbours write neighbours.
// c [batch][rows, cols] with a pitch and a stride, bias [cols] or null
template <class T>
__global__ void start_rows_kernel(T* c, const T* bias, std::int64_t rows, std::int64_t cols, std::int64_t pitch,
                                  std::int64_t stride, std::int64_t total) {
    const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < total; at += step) {
        const std::int64_t row = at / cols, col = at % cols;
        c[row / rows * stride + row % rows * pitch + col] = bias == nullptr ? device::store<T>(0) : bias[col];
    }
}

// rows x cols elements, or a batch of them.
template <class T>
struct Piece {
    T* data;
    std::int64_t rows, cols, pitch, stride;
};

// `to` receives `from`, which may be smaller: zeros outside. A thread an element.
template <class T>
__global__ void copy_piece_kernel(Piece<T> to, Piece<const T> from, std::int64_t total) {
    const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < total; at += step) {
        const std::int64_t col = at % to.cols, row = at / to.cols % to.rows, batch = at / to.cols / to.rows;
        to.data[batch * to.stride + row * to.pitch + col] =
            row < from.rows && col < from.cols ? from.data[batch * from.stride + row * from.pitch + col] : device::store<T>(0);
    }
}

}  // namespace

void start_rows(const DeviceProduct& product) {
    const std::int64_t total = product.batch * product.m * product.n;
    if (total == 0) return;
    device::dispatch(product.op, product.c.dtype, [&]<class T>(TypeTag<T>) {
        const T* bias = product.bias.defined() ? product.bias.data<T>() : nullptr;
        const unsigned blocks = device::blocks_for(std::min<std::int64_t>(total, std::int64_t{1} << 24), 256);
        device::launch({.grid = dim3(blocks), .block = dim3(256)}, start_rows_kernel<T>, static_cast<T*>(product.c.data), bias,
                       product.m, product.n, product.c.pitch, product.c.batch_stride, total);
    });
}

void copy_rows(const DeviceProduct& product, const DeviceResult& to, Extents to_extents, const DeviceMatrix& from,
               Extents from_extents) {
    const std::int64_t total = product.batch * to_extents.rows * to_extents.cols;
    device::dispatch(product.op, to.dtype, [&]<class T>(TypeTag<T>) {
        const unsigned blocks = device::blocks_for(std::min<std::int64_t>(total, std::int64_t{1} << 24), 256);
        device::launch(
            {.grid = dim3(blocks), .block = dim3(256)}, copy_piece_kernel<T>,
            Piece<T>{static_cast<T*>(to.data), to_extents.rows, to_extents.cols, to.pitch, to.batch_stride},
            Piece<const T>{static_cast<const T*>(from.data), from_extents.rows, from_extents.cols, from.pitch, from.batch_stride},
            total);
    });
}

}  // namespace heddle::kernels
