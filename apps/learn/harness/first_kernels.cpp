// The exercises of the track "first kernels"; vector-loads is in shared_memory.cpp: its kernel has the name of map's.
#include "apps/learn/grader/attempt.h"
#include "grid-stride/exercise.h"
#include "guard/exercise.h"
#include "index-2d/exercise.h"
#include "map/exercise.h"
#include "strided-copy/exercise.h"

namespace heddle::learn {
namespace {

const Exercise map_exercise("map", {"n"}, {{256}, {128}, {1024}}, [](Attempt& attempt, const Sizes& sizes) {
    const auto [n] = extents<1>(sizes);
    const std::vector<float> x = numbers(n);
    const float a = 2.5f;
    std::vector<double> wanted;
    for (const float value : x) wanted.push_back(a * value);
    const auto* const x_device = attempt.input("x", x);
    auto* const y = attempt.output<float>("y", {sizes[0]});
    attempt.launch<decltype(scale)>("scale", {.grid = n / 128, .block = 128}, x_device, y, a);
    attempt.expect(y, wanted);
    attempt.allow({.sectors = 2 * n / 8});
});

const Exercise guard_exercise("guard", {"n"}, {{128}, {1}, {31}, {300}, {1000}}, [](Attempt& attempt, const Sizes& sizes) {
    const auto [n] = extents<1>(sizes);
    const std::vector<float> x = numbers(n);
    std::vector<double> wanted;
    for (const float value : x) wanted.push_back(value * value);
    const auto* const x_device = attempt.input("x", x);
    auto* const y = attempt.output<float>("y", {sizes[0]});
    attempt.launch<decltype(square)>("square", {.grid = (n + 127) / 128, .block = 128}, x_device, y, sizes[0]);
    attempt.expect(y, wanted);
    attempt.allow({.sectors = 2 * n / 8});
});

void index_2d(Attempt& attempt, const Sizes& sizes) {
    const auto [rows, cols] = extents<2>(sizes);
    const std::vector<float> x = numbers(rows * cols), bias = numbers(cols, 2);
    std::vector<double> wanted;
    for (unsigned i = 0; i < rows * cols; ++i) wanted.push_back(x[i] + bias[i % cols]);
    const auto* const x_device = attempt.input("x", x, sizes);
    const auto* const bias_device = attempt.input("bias", bias);
    auto* const y = attempt.output<float>("y", sizes);
    attempt.launch<decltype(add_bias)>("add_bias", {.grid = {(cols + 31) / 32, (rows + 7) / 8}, .block = {32, 8}}, x_device,
                                       bias_device, y, sizes[0], sizes[1]);
    attempt.expect(y, wanted);
    attempt.allow({.sectors = 3 * rows * cols / 8});
}
const Exercise index_2d_exercise("index-2d", {"rows", "cols"}, {{8, 32}, {5, 40}, {33, 7}, {64, 32}, {32, 64}}, index_2d);

const Exercise grid_stride_exercise("grid-stride", {"n"}, {{256}, {100}, {1000}, {2048}},
                                    [](Attempt& attempt, const Sizes& sizes) {
                                        const auto [n] = extents<1>(sizes);
                                        const std::vector<float> x = numbers(n), y = numbers(n, 2);
                                        std::vector<double> wanted;
                                        for (unsigned i = 0; i < n; ++i) wanted.push_back(x[i] + y[i]);
                                        auto* const x_device = attempt.input("x", x);
                                        const auto* const y_device = attempt.input("y", y);
                                        attempt.launch<decltype(add_residual)>("add_residual", {.grid = 4, .block = 64}, x_device,
                                                                               y_device, sizes[0]);
                                        attempt.expect(x_device, wanted);
                                        attempt.allow({.sectors = 3 * n / 8});
                                    });

void strided_copy(Attempt& attempt, const Sizes& sizes) {
    const auto [rows, pitch, first, cols] = extents<4>(sizes);
    const std::vector<float> x = numbers(rows * pitch);
    std::vector<double> wanted;
    for (unsigned i = 0; i < rows * cols; ++i) wanted.push_back(x[i / cols * pitch + first + i % cols]);
    const auto* const x_device = attempt.input("x", x, {sizes[0], sizes[1]});
    auto* const y = attempt.output<float>("y", {sizes[0], sizes[3]});
    attempt.launch<decltype(take_columns)>("take_columns", {.grid = rows, .block = 64}, x_device, y, sizes[1], sizes[2],
                                           sizes[3]);
    attempt.expect(y, wanted);
    attempt.allow({.sectors = 2 * rows * cols / 8});
}
const Exercise strided_copy_exercise("strided-copy", {"rows", "pitch", "first", "cols"},
                                     {{1, 96, 0, 64}, {4, 96, 32, 32}, {7, 100, 3, 50}, {8, 384, 128, 128}}, strided_copy);

}  // namespace
}  // namespace heddle::learn
