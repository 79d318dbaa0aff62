// Arithmetic with i32 and u8: in f64, which holds all of them, and back.
#pragma once

#include "autograd/variable.h"

namespace heddle {

inline bool is_whole(DType dtype) { return dtype == DType::i32 || dtype == DType::u8; }

/// Whole numbers f64 as i32. Error on the CPU when one does not fit; on CUDA it becomes the nearest that does.
Tensor narrowed(const char* op, const Tensor& result);

}  // namespace heddle
