// Which kernel a call of attention gets. README.md has the same table ("Which kernel do I get?"), and a test compares the two.
#pragma once

#include "core/tensor.h"

namespace heddle::kernels {

enum class AttentionVariant {
    reference,        ///< attention.cpp: plain loops that sum in double
    fast,             ///< attention_fast.cpp, attention_backward_fast.cpp: the CPU's f32 path
    plain,            ///< plain/: CUDA, multiply-adds
    mma,              ///< mma/: CUDA, bf16 on tensor cores
    short_sentences,  ///< short/: CUDA, short sentences in bf16 or f32
};

enum class AttentionPass { forward, backward };

/// What the choice depends on: all of it is known on the host.
struct AttentionCall {
    Device device = Device::cpu;
    DType dtype = DType::f32;
    std::int64_t head_width = 0;        ///< the larger of dk and dv
    std::int64_t longest_sentence = 0;  ///< in queries or keys, over the whole batch
    double scale = 1;                   ///< of the scores
};

inline constexpr int kShortSentence = 64;    ///< the longest sentence that short/ takes
inline constexpr int kShortHead = 64;        ///< the widest head of its f32 kernels and of its bf16 backward kernel
inline constexpr int kTensorCoreHead = 128;  ///< the widest head whose rows fit into a warp's registers

constexpr AttentionVariant attention_variant(AttentionPass pass, const AttentionCall& call) {
    if (call.device == Device::cpu) return call.dtype == DType::f32 ? AttentionVariant::fast : AttentionVariant::reference;
    const bool short_sentences = call.longest_sentence <= kShortSentence, narrow_heads = call.head_width <= kShortHead;
    if (call.dtype == DType::f32)
        return short_sentences && narrow_heads ? AttentionVariant::short_sentences : AttentionVariant::plain;
    if (call.dtype != DType::bf16 || call.head_width > kTensorCoreHead) return AttentionVariant::plain;
    // The tensor-core kernels look for the largest product of a query and a key; a scale below 0 would make it the smallest
    // score.
    if (!(static_cast<float>(call.scale) > 0)) return AttentionVariant::plain;
    if (!short_sentences) return AttentionVariant::mma;
    return pass == AttentionPass::forward || narrow_heads ? AttentionVariant::short_sentences : AttentionVariant::mma;
}

}  // namespace heddle::kernels
