// The ops whose tables have calls of their kernels.
#pragma once

#include <ostream>

#include "autograd/cases/op_cases.h"
#include "tests/devices.h"

namespace heddle {

/// Tests are named after it.
inline void PrintTo(const OpCases& op, std::ostream* out) { *out << op.name; }

namespace kernels {

using cases::clones;
using cases::KernelCase;
using cases::NanSpreads;
using cases::RunsOn;
using cases::Tensors;

/// All of them, by name. Attention and what steps through a search or a training run have tests of their own.
inline const std::vector<OpCases>& every_op() {
    static const std::vector<OpCases> all = [] {
        std::vector<OpCases> found = op_cases();
        std::erase_if(found, [](const OpCases& op) { return op.kernels == nullptr; });
        return found;
    }();
    return all;
}

}  // namespace kernels
}  // namespace heddle
