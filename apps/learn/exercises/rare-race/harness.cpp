#include "rare-race/exercise.h"

#include "apps/learn/grader/attempt.h"

namespace heddle::learn::rare_race_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto rows = static_cast<unsigned>(sizes[0]), cols = static_cast<unsigned>(sizes[1]);
    const std::vector<float> x = numbers(rows * cols);
    std::vector<double> wanted;
    for (unsigned r = 0; r < rows; ++r) {
        double sum = 0;
        for (unsigned c = 0; c < cols; ++c) sum += x[r * cols + c];
        for (unsigned c = 0; c < cols; ++c) wanted.push_back(x[r * cols + c] - sum / cols);
    }
    const float* const x_device = attempt.input("x", x, sizes);
    float* const y = attempt.output<float>("y", sizes);
    attempt.launch<decltype(subtract_mean)>("subtract_mean", {.grid = 2, .block = 128, .shared = 512}, x_device, y, sizes[0],
                                            sizes[1]);
    attempt.expect(y, wanted, 1e-6);
    // Nine barriers for each of the 4 warps in each row, and one more for the repair; x may be read twice.
    attempt.allow({.sectors = 3 * rows * cols / 8, .barriers = 4 * 10 * rows});
}

const Exercise exercise("rare-race", {"rows", "cols"}, {{2, 100}, {5, 128}, {6, 64}}, run);

}  // namespace heddle::learn::rare_race_harness
