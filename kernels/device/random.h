// Dropout in kernels: the same decisions as on the CPU (core/random.h), eight neighbours with one Philox call.
#pragma once

#include "core/random.h"
#include "kernels/device/number.h"

namespace heddle::device {

/// Ten rounds of Philox4x32 (Salmon et al. 2011), as philox4x32 of core/random.h.
__device__ __forceinline__ uint4 philox(std::uint64_t key, uint4 counter) {
    auto k0 = static_cast<std::uint32_t>(key);
    auto k1 = static_cast<std::uint32_t>(key >> 32);
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter.x;
        const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter.z;
        counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter.y ^ k0, static_cast<std::uint32_t>(p1),
                   static_cast<std::uint32_t>(p0 >> 32) ^ counter.w ^ k1, static_cast<std::uint32_t>(p0)};
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return counter;
}

/// A kernel's dropout: key, threshold and the scale of what is kept.
struct DropoutRule {
    std::uint64_t key = 0;
    const std::uint64_t* step_key = nullptr;  ///< null, or what the key is to be combined with (core/random.h)
    std::uint32_t threshold = 0;              ///< 0: off
    std::uint32_t zero = 0;                   ///< no padding: with half of an old pointer there, the emulator saw a stale one
    double scale = 1;

    DropoutRule() = default;
    explicit DropoutRule(const DropoutMask& dropout)
        : key(dropout.key), step_key(dropout.step_key), threshold(dropout.threshold), scale(dropout.scale()) {}
    __host__ __device__ bool active() const { return threshold != 0; }
};

/// The decisions for eight neighbours [8 group, 8 group + 8): bit j says whether element j is kept. Rows of a matrix: (row, row
/// >> 32, 0); attention weights: (query, head, sentence), `group` being key / 8, both counted from the start of their sentence.
__device__ __forceinline__ unsigned kept_of_eight(const DropoutRule& rule, std::uint32_t group, std::uint32_t c1,
                                                  std::uint32_t c2, std::uint32_t c3) {
    if (rule.threshold == 0) return 0xffu;
    // Read anew for each group: all threads read one address that is not written meanwhile, so it stays in the nearest cache.
    const std::uint64_t key = rule.step_key == nullptr ? rule.key : rule.key ^ *rule.step_key;
    const uint4 bits = philox(key, {group, c1, c2, c3});
    const std::uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
    unsigned kept = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j) kept |= ((words[j / 2] >> (16 * (j % 2))) & 0xffffu) >= rule.threshold ? 1u << j : 0u;
    return kept;
}
/// For the elements [8 group, 8 group + 8) of a row of a matrix.
__device__ __forceinline__ unsigned kept_in_row(const DropoutRule& rule, std::int64_t row, std::int64_t group) {
    return kept_of_eight(rule, static_cast<std::uint32_t>(group), static_cast<std::uint32_t>(row),
                         static_cast<std::uint32_t>(row >> 32), 0);
}

}  // namespace heddle::device
