#include "apps/bench/ladders.h"

#include <fmt/format.h>

#include <array>

#include "autograd/cases/bench_case.h"
#include "core/device.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/ladder/attention_ladder.h"
#include "kernels/feed_forward/feed_forward.h"
#include "kernels/feed_forward/feed_forward_ladder.h"
#include "kernels/layer_norm/layer_norm.h"
#include "kernels/layer_norm/layer_norm_ladder.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/matmul_ladder.h"
#include "kernels/permute/permute.h"
#include "kernels/permute/permute_ladder.h"
#include "kernels/softmax/softmax.h"
#include "kernels/softmax/softmax_ladder.h"

namespace heddle::app {
namespace {

using namespace kernels;

Tensor numbers(const Shape& shape, DType dtype = DType::f32) {
    return cases::numbers(shape, {.device = Device::cuda, .dtype = dtype});
}

// Extents that do not depend on --size are smaller on the emulated device.
std::int64_t extent(std::int64_t on_gpu, std::int64_t emulated) { return device::emulated() ? emulated : on_gpu; }

// One step per name, each an enumerator of Step, and then the library's kernel. Uses run(step) and registers(step).
template <class Step, std::size_t Count, class Run, class Registers>
std::vector<LadderStep> steps_of(const char* const (&names)[Count], const Run& run, const Registers& registers,
                                 std::function<void()> library) {
    std::vector<LadderStep> steps;
    for (std::size_t i = 0; i < Count; ++i) {
        const auto step = static_cast<Step>(i);
        steps.push_back({.name = names[i],
                         .dtype = DType::f32,
                         .run = [run, step] { run(step); },
                         .registers = [registers, step] { return registers(step); }});
    }
    steps.push_back({.name = "library", .dtype = DType::f32, .run = std::move(library), .registers = {}});
    return steps;
}

Ladder transpose(std::int64_t size) {
    const Tensor x = numbers({size, size});
    return {.what = fmt::format("transposed copy of x [{}, {}]", size, size),
            .elements = 2.0 * static_cast<double>(x.numel()),
            .steps = steps_of<TransposeStep>(
                {"naive", "tile", "padding", "swizzle"}, [x](TransposeStep step) { transpose_ladder(step, x); },
                transpose_ladder_registers,
                [x] {
                    permute_forward(x, std::array{1, 0});
                })};
}

Ladder softmax(std::int64_t rows) {
    const Tensor x = numbers({rows, extent(1024, 256)});
    return {.what = fmt::format("softmax of the rows of x [{}, {}]", rows, x.cols()),
            .elements = 2.0 * static_cast<double>(x.numel()),
            .steps = steps_of<SoftmaxStep>(
                {"naive", "block", "warp", "online", "registers", "vectors"}, [x](SoftmaxStep step) { softmax_ladder(step, x); },
                softmax_ladder_registers, [x] { softmax_forward(x); })};
}

Ladder layer_norm(std::int64_t rows) {
    const Tensor x = numbers({rows, extent(1024, 256)}), gamma = numbers({x.cols()}), beta = numbers({x.cols()});
    return {.what = fmt::format("layer norm of the rows of x [{}, {}]", rows, x.cols()),
            .elements = 2.0 * static_cast<double>(x.numel() + x.cols()),
            .steps = steps_of<LayerNormStep>(
                {"naive", "warp", "one_pass", "registers", "vectors"},
                [=](LayerNormStep step) { layer_norm_ladder(step, x, gamma, beta, 1e-5); }, layer_norm_ladder_registers,
                [=] { layer_norm_forward(x, gamma, beta, 1e-5); })};
}

Ladder attention(std::int64_t sentences) {
    const std::int64_t time = extent(128, 64), dim = extent(64, 32);
    const Tensor query = numbers({sentences * time, dim}), key = numbers(query.shape()), value = numbers(query.shape());
    const Spans spans = Spans::equal(sentences, time);
    const AttentionRules rules{.query_spans = spans, .key_spans = spans};
    return {.what = fmt::format("attention over sentences of {} tokens, {} of them, a head of {} columns", time, sentences, dim),
            .operations = 4.0 * static_cast<double>(sentences * time * time * dim),
            .elements = 4.0 * static_cast<double>(query.numel()),
            .steps = steps_of<AttentionStep>(
                {"naive", "fused", "online", "tiles", "padding", "rows"},
                [=](AttentionStep step) { attention_ladder(step, query, key, value, time); }, attention_ladder_registers,
                [=] { attention_forward(query, key, value, rules, false); })};
}

Ladder feed_forward(std::int64_t rows) {
    const std::int64_t d_model = extent(128, 32), d_ff = 4 * d_model;
    const Tensor x = numbers({rows, d_model});
    const FeedForwardWeights weights{numbers({d_ff, d_model}), numbers({d_ff}), numbers({d_model, d_ff}), numbers({d_model})};
    return {.what = fmt::format("feed-forward with ReLU of {} rows, d_model {}, d_ff {}", rows, d_model, d_ff),
            .operations = 4.0 * static_cast<double>(rows * d_model * d_ff),
            .elements = static_cast<double>(2 * x.numel() + 2 * d_model * d_ff + d_model + d_ff),
            .steps = steps_of<FeedForwardStep>(
                {"naive", "epilogue", "tiles", "fused", "rows", "copies_ahead"},
                [=](FeedForwardStep step) { feed_forward_ladder(step, x, weights); }, feed_forward_ladder_registers,
                [=] { feed_forward_forward(x, weights, Activation::relu, {}, false); })};
}

Ladder matmul(std::int64_t size) {
    const Tensor a = numbers({size, size}), b = numbers({size, size});
    const Tensor a16 = numbers({size, size}, DType::bf16), b16 = numbers({size, size}, DType::bf16);
    using Step = MatmulStep;
    const auto one = [](const char* name, Step step, const Tensor& left, const Tensor& right) {
        return LadderStep{.name = name,
                          .dtype = left.dtype(),
                          .run = [=] { matmul_ladder(step, left, right); },
                          .registers = [=] { return matmul_ladder_registers(step); }};
    };
    const auto library = [](const Tensor& left, const Tensor& right) {
        return LadderStep{
            .name = "cuBLASLt", .dtype = left.dtype(), .run = [=] { matmul_forward(left, right); }, .registers = {}};
    };
    const auto extents = static_cast<double>(size);
    return {.what = fmt::format("matmul, C = A B with {} rows and columns each", size),
            .operations = 2 * extents * extents * extents,
            .elements = 3 * extents * extents,
            .steps = {one("naive", Step::naive, a, b), one("shared_tile", Step::shared_tile, a, b),
                      one("register_tile", Step::register_tile, a, b), one("vector_loads", Step::vector_loads, a, b),
                      one("warp_tile", Step::warp_tile, a, b), library(a, b), one("tensor_cores", Step::tensor_cores, a16, b16),
                      one("copies_ahead", Step::copies_ahead, a16, b16), one("swizzle", Step::swizzle, a16, b16),
                      one("whole_lines", Step::whole_lines, a16, b16), library(a16, b16)}};
}

constexpr std::array all = {
    LadderOp{"permute", 8192, 64, transpose},      LadderOp{"softmax", 65536, 32, softmax},
    LadderOp{"layer_norm", 65536, 32, layer_norm}, LadderOp{"matmul", 4096, 128, matmul},
    LadderOp{"attention", 1024, 1, attention},     LadderOp{"feed_forward", 65536, 32, feed_forward},
};

}  // namespace

std::int64_t LadderOp::default_size() const { return extent(on_gpu, emulated); }
std::span<const LadderOp> ladders() { return all; }

}  // namespace heddle::app
