// The three products of a linear layer on the shapes of the translator, by Heddle's tile product or by a library: the figures in
// cpu.md. Not part of the build. From the project's root, after building it:
//
//     build="g++ -std=c++20 -O2 -I. docs/measured/products.cpp"
//     heddle="build/release/libheddle_kernels.a build/release/libheddle_core.a -lfmt"
//     $build -o products $heddle                                       # Heddle
//     $build -o products_dnnl -DWITH_ONEDNN $heddle -ldnnl             # oneDNN
//     $build -o products_cblas -DWITH_CBLAS $heddle -lopenblas         # the CBLAS that -lopenblas finds
//
// All take the number of threads (OMP_NUM_THREADS for the libraries, the argument for Heddle).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <vector>

#include "core/parallel.h"
#include "kernels/matmul/product.h"
#if defined(WITH_ONEDNN)
#include <dnnl.h>
#elif defined(WITH_CBLAS)
#include <cblas.h>
#endif

using Matrix = std::vector<float>;

// c [m, n] = a b, or += with `add`; a is [m, k], or [k, m] when transposed, b likewise.
void multiply(bool a_transposed, bool b_transposed, std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a,
              const Matrix& b, Matrix& c, bool add) {
#if defined(WITH_ONEDNN)
    dnnl_sgemm(a_transposed ? 'T' : 'N', b_transposed ? 'T' : 'N', m, n, k, 1, a.data(), a_transposed ? m : k, b.data(),
               b_transposed ? k : n, add ? 1 : 0, c.data(), n);
#elif defined(WITH_CBLAS)
    cblas_sgemm(CblasRowMajor, a_transposed ? CblasTrans : CblasNoTrans, b_transposed ? CblasTrans : CblasNoTrans,
                static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), 1, a.data(),
                static_cast<int>(a_transposed ? m : k), b.data(), static_cast<int>(b_transposed ? k : n), add ? 1 : 0, c.data(),
                static_cast<int>(n));
#else
    using heddle::kernels::MatrixRef;
    const MatrixRef<const float> left =
        a_transposed ? MatrixRef<const float>{a.data(), 1, m} : MatrixRef<const float>{a.data(), k, 1};
    const MatrixRef<const float> right =
        b_transposed ? MatrixRef<const float>{b.data(), 1, k} : MatrixRef<const float>{b.data(), n, 1};
    heddle::kernels::product<float>(m, n, k, left, right, {c.data(), n, 1}, {.accumulate = add});
#endif
}

// GFLOP/s, the median of at least 9 calls after one that is not counted.
double rate(double operations, const std::function<void()>& call) {
    call();
    std::vector<double> seconds;
    for (double total = 0; seconds.size() < 9 || total < 0.3; total += seconds.back()) {
        const auto start = std::chrono::steady_clock::now();
        call();
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
    return operations / seconds[seconds.size() / 2] / 1e9;
}

Matrix numbers(std::int64_t count) {
    Matrix matrix(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = std::sin(static_cast<float>(i % 1000));
    return matrix;
}

int main(int argc, char** argv) {
    heddle::set_threads(argc > 1 ? std::atoi(argv[1]) : 2);
    struct Layer {
        std::int64_t rows, in, out;
    };
    double logs = 0;
    int count = 0;
    fmt::print("rows   in    out    forward  dx      dweight   GFLOP/s\n");
    for (const Layer& at : {Layer{2800, 128, 384}, Layer{2800, 128, 128}, Layer{2800, 128, 512}, Layer{2800, 512, 128},
                            Layer{256, 128, 6000}, Layer{2800, 256, 768}, Layer{2800, 256, 1024}, Layer{2800, 1024, 256}}) {
        const Matrix x = numbers(at.rows * at.in), weight = numbers(at.out * at.in);
        Matrix y = numbers(at.rows * at.out), dx = x, d_weight = weight;
        const double operations = 2.0 * static_cast<double>(at.rows * at.in * at.out);
        const double rates[] = {
            rate(operations, [&] { multiply(false, true, at.rows, at.out, at.in, x, weight, y, false); }),
            rate(operations, [&] { multiply(false, false, at.rows, at.in, at.out, y, weight, dx, false); }),
            rate(operations, [&] { multiply(true, false, at.out, at.in, at.rows, y, x, d_weight, true); }),
        };
        for (const double r : rates) logs += std::log(r), ++count;
        fmt::print("{:<6} {:<5} {:<6} {:<8.1f} {:<7.1f} {:<7.1f}\n", at.rows, at.in, at.out, rates[0], rates[1], rates[2]);
    }
    fmt::print("geometric mean {:.1f}\n", std::exp(logs / count));
}
