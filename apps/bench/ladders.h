// The teaching ladders that `heddle bench ladder` runs: their steps, beside the library's own kernels, on inputs of a size.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace heddle::app {

struct LadderStep {
    std::string name;
    DType dtype = DType::f32;
    std::function<void()> run;
    std::function<int()> registers;  ///< per thread; empty: the library's kernel
    bool is_library() const { return !registers; }
};

struct Ladder {
    std::string what;       ///< "softmax of the rows of x [32, 256]"
    double operations = 0;  ///< two per multiply-add; 0: the op is limited by memory
    double elements = 0;    ///< of all inputs and the result: each must be moved once
    std::vector<LadderStep> steps;

    /// The least traffic: every element moved once.
    double least_bytes(DType dtype) const { return elements * static_cast<double>(size_of(dtype)); }
};

struct LadderOp {
    std::string_view op;  ///< "softmax"
    std::int64_t on_gpu, emulated;
    Ladder (*make)(std::int64_t size);

    std::int64_t default_size() const;
    /// The ladder of the wanted size, with its inputs on the device.
    Ladder of(std::optional<std::int64_t> wanted) const { return make(wanted.value_or(default_size())); }
};

/// All ladders, simple ops first.
std::span<const LadderOp> ladders();

}  // namespace heddle::app
