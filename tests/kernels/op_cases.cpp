#include "tests/kernels/op_cases.h"

namespace heddle::kernels {

const std::vector<Op>& every_op() {
    static const std::vector<Op> all = {
        {"activation", activation_cases},
        {"adam", adam_cases},
        {"concat", concat_cases},
        {"cross_entropy", cross_entropy_cases, true},
        {"dropout", dropout_cases},
        {"elementwise", elementwise_cases},
        {"embedding", embedding_cases},
        {"feed_forward", feed_forward_cases},
        {"gather", gather_cases},
        {"gradient_norm", gradient_norm_cases, true},
        {"layer_norm", layer_norm_cases, true},
        {"linear", linear_cases, true},
        {"linear_cross_entropy", linear_cross_entropy_cases},
        {"log_softmax", log_softmax_cases, true},
        {"matmul", matmul_cases},
        {"mean_probability", mean_probability_cases},
        {"permute", permute_cases},
        {"reduce", reduce_cases},
        {"residual", residual_cases},
        {"slice", slice_cases},
        {"softmax", softmax_cases, true},
        {"target_log_probability", target_log_probability_cases, true},
        {"top_k", top_k_cases, true},
    };
    return all;
}

}  // namespace heddle::kernels
