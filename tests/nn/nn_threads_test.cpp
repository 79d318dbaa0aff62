// One model, evaluated by several threads at once.
#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "autograd/tape.h"
#include "kernels/linear/linear.h"
#include "tests/nn/nn_support.h"

namespace heddle::nn {
namespace {

constexpr std::size_t kThreads = 4;

// Each thread calls body(its number), all at nearly the same moment. They compute without the pool, so that nobody waits for it.
template <class Body>
void on_threads(const Body& body) {
    const WithThreads alone(1);
    std::barrier start(static_cast<std::ptrdiff_t>(kThreads));
    std::vector<std::jthread> threads;
    for (std::size_t number = 0; number < kThreads; ++number)
        threads.emplace_back([&, number] {
            start.arrive_and_wait();
            body(number);
        });
}

std::vector<double> logits(const Transformer& model, const Tokens& sentence) {
    const NoGrad no_grad;
    const Sentences both = packed({sentence});
    const Variable memory = model.encode(both.tokens, both.spans);
    return model.logits(model.decode(both.tokens, both.spans, memory, both.spans).value()).to_vector();
}

// The first evaluation after a change packs the weights, and a longer sentence extends the table of positions: here all threads
// do both at once.
TEST(Threads, EvaluateOneModelWithTheBitsOfEachAlone) {
    TransformerOptions options = tiny_options();
    options.d_model = 64;
    options.d_ff = 128;
    options.tie = Tie::all;
    options.source_vocabulary = options.target_vocabulary;
    options.position_table = 2;
    std::vector<Tokens> sentences;
    for (std::size_t i = 0; i < kThreads; ++i)
        sentences.push_back(random_tokens(3 + 20 * static_cast<std::int64_t>(i), options.target_vocabulary, i));
    for (std::uint64_t round = 0; round < 8; ++round) {
        Transformer alone(options, round), shared(options, round);
        alone.eval();
        shared.eval();
        for (int change = 0; change < 2; ++change) {
            std::vector<std::vector<double>> wanted, got(kThreads);
            for (const Tokens& sentence : sentences) wanted.push_back(logits(alone, sentence));
            on_threads([&](std::size_t number) { got[number] = logits(shared, sentences[number]); });
            for (std::size_t i = 0; i < kThreads; ++i) ASSERT_EQ(got[i], wanted[i]) << "round " << round << ", thread " << i;
            disturb(alone, round);
            disturb(shared, round);
        }
    }
}

TEST(Threads, PackAWeightOnce) {
    Tensor weight = Tensor::empty({700, 500}, DType::f32);
    const Tensor x = normal({3, 500}, DType::f32, 1);
    kernels::PackedWeight packed;
    for (std::uint64_t round = 0; round < 40; ++round) {
        fill_normal(weight, 0, 1, round);
        const std::vector<double> wanted = kernels::linear_forward(x, weight, {}).to_vector();
        std::vector<const float*> panels(kThreads);
        std::vector<std::vector<double>> got(kThreads);
        on_threads([&](std::size_t number) {
            panels[number] = packed.panels<float>(weight);
            got[number] = kernels::linear_forward(x, weight, {}, &packed).to_vector();
        });
        for (std::size_t i = 0; i < kThreads; ++i) {
            ASSERT_EQ(got[i], wanted) << "round " << round << ", thread " << i;
            ASSERT_EQ(panels[i], panels[0]) << "round " << round;
        }
    }
}

}  // namespace
}  // namespace heddle::nn
