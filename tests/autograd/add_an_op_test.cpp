// The worked example of docs/add-an-op.md, compiled and proven. The page shows parts of this file word for word.
#include <gtest/gtest.h>

#include <cmath>

#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "core/check.h"
#include "core/dispatch.h"
#include "core/parallel.h"
#include "tests/documents.h"
#include "tests/support.h"

namespace heddle {
namespace kernels {

Tensor swish_forward(const Tensor& x, const Tensor& beta) {
    check_shape("swish", "beta", beta, {x.cols()});
    check_dtype("swish", "beta", beta, x.dtype());
    Tensor y = Tensor::empty(x.shape(), x.dtype());
    dispatch_float("swish", x, [&]<class T>(TypeTag<T>) {
        const std::int64_t cols = x.cols();
        parallel_for(x.rows(), grain_for(20 * cols), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
                for (std::int64_t j = 0; j < cols; ++j) {
                    const T value = x.data<T>()[i * cols + j];
                    y.data<T>()[i * cols + j] = value / (1 + std::exp(-beta.data<T>()[j] * value));
                }
        });
    });
    return y;
}

// dbeta [cols] is added to; undefined when it is not wanted.
Tensor swish_backward(const Tensor& dy, const Tensor& x, const Tensor& beta, const Tensor& dbeta) {
    Tensor dx = Tensor::empty(x.shape(), x.dtype());
    dispatch_float("swish", x, [&]<class T>(TypeTag<T>) {
        const std::int64_t cols = x.cols();
        // Columns are parallel, rows are summed in order: the bits do not depend on the number of threads.
        parallel_for(cols, grain_for(20 * x.rows()), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t j = begin; j < end; ++j)
                for (std::int64_t i = 0; i < x.rows(); ++i) {
                    const T value = x.data<T>()[i * cols + j];
                    const T d = dy.data<T>()[i * cols + j];
                    const T b = beta.data<T>()[j];
                    const T s = 1 / (1 + std::exp(-b * value));
                    dx.data<T>()[i * cols + j] = d * (s + b * value * s * (1 - s));
                    if (dbeta.defined()) dbeta.data<T>()[j] += d * value * value * s * (1 - s);
                }
        });
    });
    return dx;
}

}  // namespace kernels

namespace ops {

Variable swish(const Variable& x, const Variable& beta, Where where = Where::current()) {
    Tensor y = kernels::swish_forward(x.value(), beta.value());
    return record(
        y, {.op = "swish", .where = where, .inputs = {x, beta}, .saved = {x.value(), beta.value()}, .backward = [](Gradients& g) {
                const Tensor dbeta = g.needs(1) ? g.accumulate_into(1) : Tensor();
                Tensor dx = kernels::swish_backward(g.output(), g.saved(0), g.saved(1), dbeta);
                g.give(0, std::move(dx));
            }});
}

}  // namespace ops

namespace {

// What a beginner writes first: beta's gradient is overwritten by each row instead of being added up.
Variable forgetful_swish(const Variable& x, const Variable& beta) {
    Tensor y = kernels::swish_forward(x.value(), beta.value());
    return record(y, {.op = "swish",
                      .where = Where::current(),
                      .inputs = {x, beta},
                      .saved = {x.value(), beta.value()},
                      .backward = [](Gradients& g) {
                          Tensor dbeta = Tensor::zeros(g.saved(1).shape(), g.saved(1).dtype());
                          Tensor dx = Tensor::empty(g.saved(0).shape(), g.saved(0).dtype());
                          const std::int64_t rows = dx.rows();
                          for (std::int64_t i = 0; i < rows; ++i) {
                              dbeta.fill_(0);
                              const Tensor row = kernels::swish_backward(g.output().slice(i, i + 1), g.saved(0).slice(i, i + 1),
                                                                         g.saved(1), dbeta);
                              dx.slice(i, i + 1).copy_(row);
                          }
                          g.give(0, dx);
                          g.give(1, dbeta);
                      }});
}

TEST(AddAnOp, ThePageShowsWhatIsCompiledHere) { expect_compiled("docs/add-an-op.md", "tests/autograd/add_an_op_test.cpp"); }

TEST(AddAnOp, TheOpOfThePageIsProven) {
    const Tensor x = random_input({4, 3}, 1);
    const Tensor beta = random_input({3}, 2);
    const auto report = gradcheck([](auto in) { return ops::swish(in[0], in[1]); }, {x, beta});
    EXPECT_TRUE(report.passed) << report.message;
}

TEST(AddAnOp, TheMistakeOfThePageIsExplainedAsThePageSays) {
    const Tensor x = random_input({4, 3}, 1);
    const Tensor beta = random_input({3}, 2);
    const auto report = gradcheck([](auto in) { return forgetful_swish(in[0], in[1]); }, {x, beta});
    EXPECT_FALSE(report.passed);
    EXPECT_EQ(report.message + "\n", fenced_blocks("docs/add-an-op.md", "text").at(0));
}

TEST(AddAnOp, TheErrorOfThePageIsWhatAWrongShapeGives) {
    EXPECT_EQ(error_of([] {
                  ops::swish(Variable(random_input({4, 3}, 1)), Variable(random_input({4}, 2)));
              }) + "\n",
              fenced_blocks("docs/add-an-op.md", "text").at(1));
}

}  // namespace
}  // namespace heddle
