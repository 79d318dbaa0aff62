#include "apps/bench/bench.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "apps/translation/run/clock.h"
#include "core/cpu.h"
#include "core/parallel.h"
#include "core/tensor.h"

namespace heddle::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int chains = 12;  // latency 4 x 2 units needs 8 independent sums; twelve fit the registers of every level
constexpr std::int64_t rounds = 1 << 14;

// Vectors as wide as each level's registers.
using Vector4 [[gnu::vector_size(16)]] = float;
using Vector8 [[gnu::vector_size(32)]] = float;
using Vector16 [[gnu::vector_size(64)]] = float;

// `rounds` multiply-adds in each of `chains` sums; returns their sum so that the compiler keeps them.
template <class Vector>
[[gnu::always_inline]] inline float multiply_add_in(float seed) {
    const Vector a = Vector{} + 0.999f, b = Vector{} + seed;
    Vector sums[chains];
    for (Vector& sum : sums) sum = b;
    for (std::int64_t i = 0; i < rounds; ++i)
#pragma GCC unroll 12
        for (Vector& sum : sums) sum = sum * a + b;
    float total = 0;
    for (const Vector& sum : sums) total += sum[0];
    return total;
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] float multiply_add_v4(float seed) { return multiply_add_in<Vector16>(seed); }
[[gnu::target("avx2,fma")]] float multiply_add_v3(float seed) { return multiply_add_in<Vector8>(seed); }

float multiply_add(float seed) {
    if (cpu_level() == CpuLevel::v4) return multiply_add_v4(seed);
    return cpu_level() == CpuLevel::v3 ? multiply_add_v3(seed) : multiply_add_in<Vector4>(seed);
}

std::int64_t lanes() { return cpu_level() == CpuLevel::v4 ? 16 : cpu_level() == CpuLevel::v3 ? 8 : 4; }
#else
float multiply_add(float seed) { return multiply_add_in<Vector4>(seed); }

std::int64_t lanes() { return 4; }
#endif

double measure_gflops() {
    const std::int64_t pieces = 16 * threads();
    std::vector<float> results(static_cast<std::size_t>(pieces));
    double best = 0;
    for (int repeat = 0; repeat < 8; ++repeat) {
        const auto start = Clock::now();
        parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
                results[static_cast<std::size_t>(i)] = multiply_add(static_cast<float>(i + repeat));
        });
        const auto operations = static_cast<double>(2 * pieces * rounds * chains * lanes());
        best = std::max(best, operations / seconds_since(start) / 1e9);
    }
    return best;
}

double measure_copy() {
    constexpr std::int64_t bytes = 128 << 20, piece = 1 << 20;
    const Tensor from = Tensor::zeros({bytes}, DType::u8);
    Tensor to = Tensor::zeros({bytes}, DType::u8);
    double best = 0;
    for (int repeat = 0; repeat < 5; ++repeat) {
        const auto start = Clock::now();
        parallel_for(bytes, piece, [&](std::int64_t begin, std::int64_t end) {
            std::memcpy(to.mutable_bytes_data() + begin, from.bytes_data() + begin, static_cast<std::size_t>(end - begin));
        });
        best = std::max(best, 2.0 * static_cast<double>(bytes) / seconds_since(start) / 1e9);
    }
    return best;
}

}  // namespace

MachineRates measure_machine() { return {.gflops = measure_gflops(), .copy_gb_second = measure_copy()}; }

}  // namespace heddle::app
