// The linear map of a layer.
//
//     forward    y = x W^T + b                         x [..., in], W [out, in] (PyTorch's layout), b [out], y [..., out]
//     backward   dx = dy W,  dW = dy^T x,  db = sum of dy over its rows
//
// f32 and f64 on the CPU, bf16 too on CUDA; there the gradients of a bf16 weight and bias may be f32 tensors.
// Saved for backward: x and W. dW and db are added to what their tensors hold: dW row by row in ascending order, db in sums of
// 128 rows each. Threads leave no trace in the bits.
#pragma once

#include <span>
#include <vector>

#include "core/tensor.h"
#include "kernels/device/declare.h"
#include "kernels/matmul/product.h"

namespace heddle::kernels {

/// y. `bias` may be undefined. `packed`, when given, keeps the weight's panels from one call to the next (decoding).
Tensor linear_forward(const Tensor& x, const Tensor& weight, const Tensor& bias, PackedWeight* packed = nullptr);
/// The same in f32 from bf16 x, weight and bias, on CUDA: the logits of a bf16 model, whose neighbours in rank are closer than
/// the next bf16 number.
Tensor linear_forward_f32(const Tensor& x, const Tensor& weight, const Tensor& bias);
/// dx [..., in].
Tensor linear_backward_x(const Tensor& dy, const Tensor& weight);
/// dweight += dy^T x.
void linear_backward_weight(const Tensor& dy, const Tensor& x, Tensor& dweight);
/// dbias += the sum of dy over its rows.
void linear_backward_bias(const Tensor& dy, Tensor& dbias);

/// One sum of linear_backward_bias.
struct BiasSum {
    Tensor dy, dbias;
};

/// While one exists, sums that this thread passes to add() may wait for others: on CUDA each is so little work that the launches
/// cost more than the sums, and one launch makes several. On the CPU none waits. If they are nested, the innermost one collects.
/// A gradient that also receives other terms in the meantime is summed in another order.
class BiasSums {
  public:
    BiasSums();
    /// Drops sums that still wait: this happens after exceptions.
    ~BiasSums();
    BiasSums(const BiasSums&) = delete;
    BiasSums& operator=(const BiasSums&) = delete;

    /// dbias += the sum of dy over its rows, now or, while a BiasSums exists, later. Until flush(), dy must not be changed, and
    /// dbias only by adding to it.
    static void add(const Tensor& dy, Tensor dbias);
    /// True if this thread has a BiasSums.
    static bool exists();
    /// True if a sum that will be added to the memory of `tensor` still waits.
    static bool pending(const Tensor& tensor);
    /// Must be called before `tensor` is read: makes the sums that wait, if one will be added to its memory.
    static void before_use_of(const Tensor& tensor);
    /// Makes the sums that wait.
    static void flush();

  private:
    BiasSums* outer_;
    std::vector<BiasSum> waiting_;
    std::int64_t bytes_ = 0;  // of the dy's that are kept for them
};

// ---- the CUDA side (linear.cu), beside the products of kernels/matmul/product_cuda.h

/// dbias [cols] += the sum of dy [rows, cols] over its rows, for each of them; no two of `sums` share a dbias. A dbias has its
/// dy's dtype, or is f32 for a bf16 dy. Same bits at each run, and in whatever company. A launch for up to 16.
HEDDLE_CUDA_FUNCTION(void linear_backward_biases_cuda(std::span<BiasSum> sums))

}  // namespace heddle::kernels
