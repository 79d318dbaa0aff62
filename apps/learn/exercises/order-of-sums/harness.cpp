#include "order-of-sums/exercise.h"

#include "apps/learn/grader/attempt.h"

namespace heddle::learn::order_of_sums_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto n = static_cast<unsigned>(sizes[0]);
    std::vector<float> x = numbers(n);
    const float before = 5;  // an answer must add to it
    double wanted = before;
    for (float& value : x) {
        value /= 3;  // sums must round
        wanted += value;
    }
    const float* const x_device = attempt.input("x", x);
    float* const sum = attempt.input("sum", std::vector<float>{before});
    attempt.launch<decltype(total)>("total", {.grid = 1, .block = 256, .shared = 1024}, x_device, sum, sizes[0]);
    attempt.expect(sum, {wanted}, 1e-5);
    attempt.allow({.sectors = n / 8 + 4});
}

const Exercise exercise("order-of-sums", {"n"}, {{1}, {1000}, {4096}}, run);

}  // namespace heddle::learn::order_of_sums_harness
