// Activation checkpointing: the same bits as the plain run, with less memory between forward and backward.
#include "autograd/checkpoint.h"

#include <gtest/gtest.h>

#include "autograd/gradcheck.h"
#include "core/random.h"
#include "tests/autograd/tape_ops.h"
#include "tests/support.h"

namespace heddle {
namespace {

using Inputs = std::span<const Variable>;

// Dropout with a key from the generator, as in the module.
Variable random_dropout(const Variable& x) {
    const DropoutMask dropout(0.4, generator().next_key("checkpoint.dropout"));
    const auto apply = [dropout](const Tensor& from) {
        Tensor to = from.clone();
        for (std::int64_t i = 0; i < to.numel(); ++i)
            to.mutable_data<double>()[i] *= dropout.keeps_row(i / to.cols(), i % to.cols()) ? dropout.scale() : 0;
        return to;
    };
    return record(apply(x.value()),
                  {.op = "dropout", .where = Where::current(), .inputs = {x}, .backward = [apply](Gradients& g) {
                       g.give(0, apply(g.output()));
                   }});
}

// A residual block with parameters: x + dropout(softmax(norm(x) w^T)).
struct Block {
    Variable gamma{random_input({6}, 11), true};
    Variable weight{random_input({6, 6}, 12), true};

    Variable operator()(const Variable& x) const {
        return plus(x, random_dropout(ops::softmax(product(ops::rms_norm(x, gamma), weight))));
    }
};

struct Outcome {
    std::vector<double> value, dx, dgamma, dweight;
    std::uint64_t next_key;
    bool operator==(const Outcome&) const = default;
};

// A network of two blocks, each run by `run`, inside a larger graph: x is used before, between and after the blocks.
template <class Run>
Outcome train(Run run) {
    generator().start(7, 0);
    const Block first, second;
    Variable x(random_input({4, 6}, 13), true);
    const Variable before = ops::softmax(x);
    const Variable middle = run(first, plus(before, x));
    const Variable last = run(second, plus(middle, before));
    const Variable output = plus(last, x);
    backward(output, random_input({4, 6}, 14));
    std::vector<double> dgamma = first.gamma.grad().to_vector();
    const std::vector<double> more = second.gamma.grad().to_vector();
    dgamma.insert(dgamma.end(), more.begin(), more.end());
    return {output.value().to_vector(), x.grad().to_vector(), dgamma, first.weight.grad().to_vector(),
            generator().next_key("checkpoint.dropout")};
}

Variable plain(const Block& block, const Variable& x) { return block(x); }
Variable checkpointed(const Block& block, const Variable& x) {
    return checkpoint([&block](Inputs in) { return block(in[0]); }, {x});
}
Variable nested(const Block& block, const Variable& x) {
    return checkpoint([&block](Inputs in) { return checkpointed(block, in[0]); }, {x});
}

TEST(Checkpoint, GivesTheBitsOfThePlainRunWithTheSameDropoutMasks) { EXPECT_EQ(train(checkpointed), train(plain)); }

TEST(Checkpoint, NestsInItself) { EXPECT_EQ(train(nested), train(plain)); }

TEST(Checkpoint, LeavesTheRandomStateWhereThePlainRunLeavesIt) { EXPECT_EQ(train(checkpointed).next_key, train(plain).next_key); }

TEST(Checkpoint, KeepsOnlyItsInputs) {
    const Block block;
    const Variable x(random_input({4, 6}, 1), true);
    const auto kept = [] {
        std::int64_t bytes = 0;
        for (const SavedMemory& entry : saved_memory()) bytes += entry.bytes;
        return bytes;
    };
    {
        const Variable y = checkpointed(block, x);
        EXPECT_EQ(tape_size(), 1);
        EXPECT_EQ(kept(), x.value().bytes());
    }
    const Variable y = block(x);
    EXPECT_GT(kept(), 3 * x.value().bytes());
}

TEST(Checkpoint, ProvesItsGradient) {
    const auto block = [](Inputs in) {
        return checkpoint([](Inputs inner) { return random_dropout(ops::softmax(ops::rms_norm(inner[0], inner[1]))); },
                          {in[0], in[1]});
    };
    const GradcheckReport report = gradcheck(block, {random_input({3, 5}, 1), random_input({5}, 2)});
    EXPECT_TRUE(report.passed) << report.message;
}

TEST(Checkpoint, GivesParametersInsideTheirGradientsWhenNoInputNeedsOne) {
    const Block block;
    backward(checkpointed(block, Variable(random_input({4, 6}, 1))), random_input({4, 6}, 2));
    EXPECT_TRUE(block.gamma.grad().defined());
    EXPECT_TRUE(block.weight.grad().defined());
}

TEST(Checkpoint, AddsIntoFlatGradientMemoryInPlace) {
    const Block block;
    Variable x(random_input({4, 6}, 1), true);
    Tensor flat_value = Tensor::zeros({4, 6}, DType::f64);
    const Tensor flat_gradient = Tensor::zeros({4, 6}, DType::f64);
    x.rebind(flat_value, flat_gradient);
    backward(checkpointed(block, x), random_input({4, 6}, 2));
    EXPECT_TRUE(x.grad().shares_storage(flat_gradient));
    EXPECT_NE(flat_gradient.data<double>()[0], 0);
}

TEST(Checkpoint, TakesAbsentInputsAndFrozenInsides) {
    const auto function = [](Inputs in) {
        EXPECT_FALSE(in[1].defined());
        return ops::softmax(in[0]);
    };
    const Variable frozen(random_input({2, 3}, 1));
    const Variable y = checkpoint(function, {frozen, Variable()});
    backward(y, random_input({2, 3}, 2));
    EXPECT_FALSE(frozen.grad().defined());
}

TEST(Checkpoint, RecordsNothingUnderNoGrad) {
    const NoGrad no_grad;
    const Block block;
    EXPECT_FALSE(checkpointed(block, Variable(random_input({4, 6}, 1), true)).requires_grad());
    EXPECT_EQ(tape_size(), 0);
}

TEST(Checkpoint, MayBeGoneBackThroughTwiceWhenRetained) {
    const Block block;
    const Variable x(random_input({4, 6}, 1), true);
    const Variable y = checkpointed(block, x);
    const Tensor cotangent = random_input({4, 6}, 2);
    backward(y, cotangent, true);
    const std::vector<double> once = x.grad().to_vector();
    backward(y, cotangent);
    for (std::size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(x.grad().to_vector()[i], 2 * once[i], 1e-14);
}

TEST(Checkpoint, RefusesAParameterThatChangedBetweenForwardAndBackward) {
    Block block;
    const Variable y = checkpointed(block, Variable(random_input({4, 6}, 1), true));
    Tensor weight = block.weight.value();
    weight.fill_(0.5);
    expect_error([&] { backward(y, random_input({4, 6}, 2)); }, "the second run gave another value than the first");
}

// Sizes that are not a multiple of 8 bytes: the last element is compared, and the bytes after it are not.
TEST(Checkpoint, ComparesEveryElementOfBothRunsAndNothingBehindThem) {
    for (const DType dtype : {DType::f32, DType::bf16})
        for (std::int64_t count = 1; count <= 9; ++count) {
            int run = 0;
            double last = 0, behind = 0;
            const auto function = [&](Inputs in) {
                ++run;
                Tensor values = Tensor::full({count + 8}, 1, DType::f64);
                values.mutable_data<double>()[count - 1] += run * last;
                for (std::int64_t i = count; i < count + 8; ++i) values.mutable_data<double>()[i] += run * behind;
                return record(values.to(dtype).slice(0, count),
                              {.op = "ones", .where = Where::current(), .inputs = {in[0]}, .backward = [](Gradients& g) {
                                   g.give(0, g.take_output());
                               }});
            };
            const auto go_back = [&] {
                const Variable x(Tensor::full({count}, 2, dtype), true);
                backward(checkpoint(function, {x}), Tensor::full({count}, 3, dtype));
                return x.grad().to_vector();
            };
            behind = 1;
            EXPECT_EQ(go_back(), std::vector<double>(static_cast<std::size_t>(count), 3)) << count << " elements";
            last = 1;
            expect_error(go_back, "the second run gave another value than the first");
        }
}

TEST(Checkpoint, RefusesAnInputThatChangedBetweenForwardAndBackward) {
    const Block block;
    const Variable x(random_input({4, 6}, 1), true);
    const Variable y = checkpointed(block, x);
    Tensor value = x.value();
    value.fill_(0.5);
    expect_error([&] { backward(y, random_input({4, 6}, 2)); }, "checkpoint at ");
}

TEST(Checkpoint, TellsToPassARecordedValueAsAnInput) {
    const Variable x(random_input({4, 6}, 1), true);
    const Variable captured = ops::softmax(x);
    const Variable y = checkpoint([&](Inputs in) { return plus(in[0], captured); }, {x});
    expect_error([&] { backward(y, random_input({4, 6}, 2)); }, "what a checkpointed function reads must be among its inputs");
}

TEST(Checkpoint, RefusesAFunctionThatReturnsItsInput) {
    const Variable x(random_input({4, 6}, 1), true);
    const Variable y = checkpoint([](Inputs in) { return in[0]; }, {x});
    expect_error([&] { backward(y, random_input({4, 6}, 2)); }, "returns one of its inputs");
}

}  // namespace
}  // namespace heddle
