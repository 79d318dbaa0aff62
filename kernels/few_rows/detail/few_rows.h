// The CUDA side of few_rows.h: arguments are checked by few_rows.cpp.
#pragma once

#include "kernels/device/declare.h"
#include "kernels/few_rows/few_rows.h"

namespace heddle::kernels {

HEDDLE_CUDA_FUNCTION(void few_rows_linear_cuda(const FewRowsLinear& call, FewRowsResult& result))

}  // namespace heddle::kernels
