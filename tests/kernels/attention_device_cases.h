// The cases of attention_cases.h on any device and in any dtype.
#pragma once

#include "tests/devices.h"
#include "tests/kernels/attention_cases.h"

namespace heddle::kernels {

/// The case in these numbers, where they live. The mask goes along; spans stay with the host.
inline AttentionCase on(const Numbers& numbers, const AttentionCase& at) {
    AttentionCase other = at;
    other.query_base = in(numbers, at.query_base);
    other.key_base = at.query_base.shares_storage(at.key_base) ? other.query_base : in(numbers, at.key_base);
    other.d_output = in(numbers, at.d_output);
    other.rules.mask = in(numbers, at.rules.mask);
    other.rules.bias = in(numbers, at.rules.bias);
    return other;
}

/// The case after rounding to these numbers, for the reference.
inline AttentionCase reference_of(const Numbers& numbers, const AttentionCase& at) {
    AttentionCase other = at;
    other.query_base = rounded(numbers, at.query_base);
    other.key_base = rounded(numbers, at.key_base);
    other.d_output = rounded(numbers, at.d_output);
    other.rules.bias = rounded(numbers, at.rules.bias);
    return other;
}

struct Gradients {
    Tensor query, key, value;
    Tensor bias = {};  // where there is one
};

/// All gradients, into tensors that hold NaN before.
inline Gradients backward_of(const AttentionCase& at, const AttentionResult& forward) {
    const auto poisoned = [](const Columns& like) {
        return Tensor::full({like.rows(), like.count}, NAN, like.base.dtype(), like.base.device());
    };
    Gradients g{poisoned(at.query()), poisoned(at.key()), poisoned(at.value())};
    const Tensor& bias = at.rules.bias;
    if (bias.defined()) g.bias = Tensor::full(bias.shape(), NAN, forward.log_sum.dtype(), bias.device());
    attention_backward(at.query(), at.key(), at.value(), at.rules, forward, at.d_output, {g.query, g.key, g.value, g.bias});
    return g;
}

}  // namespace heddle::kernels
