// The tile product: the one matrix product of the CPU, under every op that multiplies.
//
//     C(i, j) = start(i, j) + A(i, 0) B(0, j) + A(i, 1) B(1, j) + ...          start = 0, the bias, or what C holds
//
// The sum runs over k in ascending order, in one chain of multiply-adds per element, whatever the tile, the number of rows or the
// number of threads: a row of C has the same bits alone and in any batch. (A BLAS called whole does not promise this.)
//
// Data flow: B is packed into panels of `panel columns` x k, so that the inner loop reads it as one stream; A is read in
// place where its rows are contiguous, and packed tile by tile where it is a transposed matrix. A tile of C stays in registers
// while k runs. After Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (ACM TOMS 34(3), 2008), without
// the packing of A that small matrices do not repay.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "core/tensor.h"
#include "kernels/level.h"

namespace heddle::kernels {

/// A matrix in memory, element (i, j) at data[i * row + j * col]; one of the two strides is 1.
template <class T>
struct MatrixRef {
    T* data = nullptr;
    std::int64_t row = 0;
    std::int64_t col = 1;

    MatrixRef transposed() const { return {data, col, row}; }
};

/// All of a tensor, its last axis as columns.
template <class T>
MatrixRef<const T> whole(const Tensor& matrix) {
    return {matrix.data<T>(), matrix.cols(), 1};
}

/// B packed into panels: panel p holds columns [p * width, (p + 1) * width), k-major, the last one filled up with zeros.
template <class T>
struct Panels {
    const T* data = nullptr;
    std::int64_t k = 0;
    std::int64_t n = 0;
};

/// One product over some rows and panels, as the level's tile kernel sees it.
template <class T>
struct TileJob {
    std::int64_t m = 0;  ///< rows of C in this job
    std::int64_t n = 0;  ///< columns of C, from the first panel on
    std::int64_t k = 0;
    MatrixRef<const T> a;
    const T* panels = nullptr;  ///< the first panel
    std::int64_t panel_row =
        0;  ///< from one step of k to the next: the width when packed, the pitch of a B that is read in place
    std::int64_t panel_next = 0;  ///< from one panel to the next: k * width, or the width
    MatrixRef<T> c;               ///< col == 1
    const T* bias = nullptr;      ///< [n]: C starts from it
    bool accumulate = false;      ///< C starts from what it holds
    bool relu = false;            ///< max(C, 0) at the end
};

HEDDLE_DECLARE_LEVELS(void run_tiles(const TileJob<float>& job))
HEDDLE_DECLARE_LEVELS(void run_tiles(const TileJob<double>& job))
HEDDLE_DECLARE_LEVELS(void pack_panels(MatrixRef<const float> b, std::int64_t k, std::int64_t n, std::int64_t first,
                                       std::int64_t last, float* panels))
HEDDLE_DECLARE_LEVELS(void pack_panels(MatrixRef<const double> b, std::int64_t k, std::int64_t n, std::int64_t first,
                                       std::int64_t last, double* panels))
HEDDLE_DECLARE_LEVELS(int tile_rows())
HEDDLE_DECLARE_LEVELS(int panel_columns(float))
HEDDLE_DECLARE_LEVELS(int panel_columns(double))

/// Work of a product besides multiplication.
template <class T>
struct Epilogue {
    const T* bias = nullptr;  ///< [n], C starts from it
    bool accumulate = false;  ///< C starts from what it holds
    bool relu = false;        ///< max(C, 0) at the end
};

/// Memory that panels of a [k, n] matrix need; a 1-D tensor of T.
template <class T>
Tensor make_panels(MatrixRef<const T> b, std::int64_t k, std::int64_t n);

/// C [m, n] = A [m, k] B [k, n], B packed by make_panels.
template <class T>
void product(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef<const T> a, const T* panels, MatrixRef<T> c,
             const Epilogue<T>& epilogue = {});

/// C [m, n] = A [m, k] B [k, n]; packs B itself.
template <class T>
void product(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef<const T> a, MatrixRef<const T> b, MatrixRef<T> c,
             const Epilogue<T>& epilogue = {});

/// The same by three plain loops: what the tests hold the tile product against, and what dual numbers take.
template <class T>
void reference_product(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef<const T> a, MatrixRef<const T> b, MatrixRef<T> c,
                       const Epilogue<T>& epilogue = {});

/// The panels of a weight [out, in] that are kept between calls, for decoding: packed again only when the weight has changed.
/// Several threads may ask for one weight at once, as long as none of them changes it: one packs it, the others wait.
class PackedWeight {
  public:
    /// Panels of weight^T: what x weight^T reads. They stay until the next call with another weight or a changed one.
    template <class T>
    const T* panels(const Tensor& weight);

  private:
    struct Kept {
        bool are_of(const Tensor& weight) const;

        std::uint64_t storage = 0;
        std::uint64_t version = 0;
        const void* data = nullptr;
        Shape shape;
        DType dtype = DType::f32;
        Tensor panels;
    };
    template <class T>
    const Kept& pack(const Tensor& weight);

    // In turns: a thread may still be finding out that the ones before are out of date.
    Kept kept_[2];
    std::atomic<const Kept*> newest_{nullptr};
    std::mutex packing_;
};

}  // namespace heddle::kernels
