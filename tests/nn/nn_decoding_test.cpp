// Step-by-step decoding compared with decoding the whole prefix.
#include <gtest/gtest.h>

#include "autograd/tape.h"
#include "core/device.h"
#include "tests/nn/nn_support.h"

namespace heddle::nn {
namespace {

// The post-norm models have one key head for all heads.
std::unique_ptr<Transformer> make(NormPlace norm, DType dtype, ops::Activation activation = ops::Activation::relu,
                                  MemoryFrom memory = MemoryFrom::last) {
    TransformerOptions options = tiny_options();
    options.memory = memory;
    options.norm = norm;
    options.d_model = 24;
    options.heads = 3;
    options.key_heads = norm == NormPlace::post ? 1 : 3;
    options.d_ff = 40;
    options.dropout = 0.3;  // evaluation mode must not drop
    options.activation = activation;
    options.positions = norm == NormPlace::pre ? Positions::sinusoidal : Positions::learned;
    options.position_table = 96;
    auto model = std::make_unique<Transformer>(options, 2, dtype);
    disturb(*model);
    model->eval();
    return model;
}

const std::vector<Tokens>& sources() {
    static const std::vector<Tokens> all{random_tokens(7, 11, 1), random_tokens(1, 11, 2), random_tokens(70, 11, 3)};
    return all;
}

/// The logits at the last position of `prefix` as a translation of source `sentence`, computed without a cache.
Tensor whole_prefix(const Transformer& model, std::size_t sentence, const Tokens& prefix) {
    const NoGrad no_grad;
    const Sentences source = packed({sources()[sentence]});
    const Sentences target = packed({prefix});
    const Variable memory = model.encode(source.tokens, source.spans);
    const Tensor hidden = model.decode(target.tokens, target.spans, memory, source.spans).value();
    const auto last = static_cast<std::int64_t>(prefix.size()) - 1;
    return model.logits(hidden.slice(last, last + 1));
}

DecoderCache start(const Transformer& model, std::int64_t hypotheses, std::int64_t length) {
    const NoGrad no_grad;
    const Sentences source = packed(sources());
    return model.start_decoding(model.encode(source.tokens, source.spans).value(), source.spans, hypotheses, length);
}

TEST(Decoding, StepWithCacheGivesTheBitsOfTheWholePrefix) {
    for (const NormPlace norm : {NormPlace::pre, NormPlace::post})
        for (const auto& [dtype, activation, from] : {std::tuple{DType::f32, ops::Activation::gelu, MemoryFrom::last},
                                                      {DType::f64, ops::Activation::relu, MemoryFrom::last},
                                                      {DType::f32, ops::Activation::relu, MemoryFrom::layer}}) {
            const auto model = make(norm, dtype, activation, from);
            std::vector<Tokens> prefixes(3);
            DecoderCache cache = start(*model, 3, 70);
            for (std::uint64_t place = 0; place < 70; ++place) {
                const Tokens next = random_tokens(3, 13, 100 + place);
                for (std::size_t i = 0; i < 3; ++i) prefixes[i].push_back(next[i]);
                const Tensor logits = model->step(tokens_of(next), cache);
                ASSERT_EQ(logits.shape(), Shape({3, 13}));
                if (place % 7 != 0 && place < 60) continue;  // every position would be slow
                for (std::int64_t i = 0; i < 3; ++i) {
                    const auto sentence = static_cast<std::size_t>(i);
                    EXPECT_TRUE(same_bits(logits.slice(i, i + 1), whole_prefix(*model, sentence, prefixes[sentence])))
                        << "sentence " << i << " place " << place;
                }
            }
        }
}

TEST(Decoding, BranchingSwappingAndEndingHypothesesKeepTheirOwnPrefixes) {
    const auto model = make(NormPlace::pre, DType::f32);
    DecoderCache cache = start(*model, 9, 40);
    std::vector<Tokens> prefixes(3);
    Sequence random(4);
    for (std::uint64_t place = 0; place < 40; ++place) {
        const Tokens next = random_tokens(cache.hypotheses(), 13, 200 + place);
        for (std::size_t i = 0; i < next.size(); ++i) prefixes[i].push_back(next[i]);
        const Tensor logits = model->step(tokens_of(next), cache);
        for (std::int64_t i = 0; i < cache.hypotheses(); i += 2) {
            const auto at = static_cast<std::size_t>(i);
            const auto sentence = static_cast<std::size_t>(cache.sentences()[at]);
            ASSERT_TRUE(same_bits(logits.slice(i, i + 1), whole_prefix(*model, sentence, prefixes[at]))) << i << " " << place;
        }
        // Up to three hypotheses per sentence continue random ones of the same sentence; sentence 1 ends at position 20.
        std::vector<std::int32_t> parents;
        std::vector<Tokens> kept;
        for (std::int32_t sentence = 0; sentence < 3; ++sentence) {
            std::vector<std::int32_t> open;
            for (std::size_t i = 0; i < prefixes.size(); ++i)
                if (cache.sentences()[i] == sentence) open.push_back(static_cast<std::int32_t>(i));
            if (open.empty() || (sentence == 1 && place == 20)) continue;
            const std::uint64_t count = 1 + random.below(3);
            for (std::uint64_t i = 0; i < count; ++i) parents.push_back(open[random.below(open.size())]);
        }
        for (const std::int32_t parent : parents) kept.push_back(prefixes[static_cast<std::size_t>(parent)]);
        cache.reorder(parents);
        prefixes = kept;
        ASSERT_EQ(cache.hypotheses(), static_cast<std::int64_t>(parents.size()));
    }
}

// Parents of parents: two orders without a step between are one order.
TEST(Decoding, TwoOrdersWithoutAStepBetweenAreTheirComposition) {
    const auto model = make(NormPlace::pre, DType::f32);
    std::vector<Tensor> logits;
    for (const bool at_once : {false, true}) {
        DecoderCache cache = start(*model, 9, 10);
        cache.reorder(std::vector<std::int32_t>{0, 0, 1, 1, 2, 2});
        for (std::uint64_t place = 0; place < 3; ++place) model->step(tokens_of(random_tokens(6, 13, place)), cache);
        const std::vector<std::int32_t> swap = {1, 0, 3, 5, 4}, pick = {0, 2, 4}, composed = {1, 3, 4};
        if (at_once) {
            cache.reorder(composed);
        } else {
            cache.reorder(swap);
            cache.reorder(pick);
        }
        logits.push_back(model->step(tokens_of(random_tokens(3, 13, 9)), cache));
    }
    EXPECT_TRUE(same_bits(logits[0], logits[1]));
}

// The cache's table and the reorderings are on the device, so the host only queues work and never waits.
TEST(Decoding, OnTheDeviceNeedsNoHostThatKnowsTheParents) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    for (const NormPlace norm : {NormPlace::pre, NormPlace::post}) {
        const auto on_cpu = make(norm, DType::f32), on_device = make(norm, DType::f32);
        DecoderCache cpu = start(*on_cpu, 9, 30);
        on_device->to(Device::cuda);
        DecoderCache cuda = start(*on_device, 9, 30);
        Sequence random(4);
        std::vector<Tensor> wanted, given;
        std::int64_t waits = 0;
        for (std::uint64_t place = 0; place < 30; ++place) {
            const Tensor next = tokens_of(random_tokens(cpu.hypotheses(), 13, 300 + place));
            wanted.push_back(on_cpu->step(next, cpu));
            const Tensor there = next.to(Device::cuda);
            const std::int64_t before = device::statistics().synchronisations;
            given.push_back(on_device->step(there, cuda));
            std::vector<std::int32_t> parents, sentences;
            for (std::int32_t sentence = 0; sentence < 3; ++sentence)
                for (std::uint64_t i = 0; i < 3; ++i) {
                    const auto first = static_cast<std::int32_t>(place == 0 ? sentence : 3 * sentence);
                    parents.push_back(first + static_cast<std::int32_t>(place == 0 ? 0 : random.below(3)));
                    sentences.push_back(sentence);
                }
            cpu.reorder(parents);
            cuda.reorder(tokens_of(parents).to(Device::cuda), sentences);
            if (place % 4 == 3) {  // two reorderings in a row
                const Tokens swapped{2, 1, 0, 3, 3, 5, 8, 7, 6};
                cpu.reorder(swapped);
                cuda.reorder(swapped);
            }
            waits += device::statistics().synchronisations - before;
        }
        EXPECT_EQ(waits, 0);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const std::vector<double> a = wanted[i].to_vector(), b = given[i].to_vector();
            ASSERT_EQ(a.size(), b.size());
            for (std::size_t j = 0; j < a.size(); ++j) ASSERT_NEAR(a[j], b[j], 1e-4) << "place " << i;
        }
        expect_error(
            [&] {
                cuda.reorder(Tensor::zeros({2}, DType::i32, Device::cuda), {0, 3});
            },
            "a sentence that does not exist");
        device::synchronize();
    }
}

TEST(Decoding, SeesChangedWeightsAtTheNextStart) {
    const auto model = make(NormPlace::pre, DType::f32);
    const Tokens first{1, 2, 3};
    DecoderCache before = start(*model, 3, 4);
    const Tensor logits = model->step(tokens_of(first), before);
    disturb(*model, 77);
    DecoderCache after = start(*model, 3, 4);
    EXPECT_FALSE(same_bits(logits, model->step(tokens_of(first), after)));
    EXPECT_TRUE(same_bits(model->step(tokens_of({4, 5, 6}), after).slice(1, 2), whole_prefix(*model, 1, {2, 5})));
}

TEST(Decoding, RecordsNothing) {
    const auto model = make(NormPlace::pre, DType::f32);
    DecoderCache cache = start(*model, 3, 4);
    const std::int64_t before = tape_size();
    model->step(tokens_of({1, 2, 3}), cache);
    EXPECT_EQ(tape_size(), before);
}

TEST(Decoding, WrongUseIsAnError) {
    const auto model = make(NormPlace::pre, DType::f32);
    expect_error([&] { start(*model, 2, 4); }, "room for 2 hypotheses of 4 tokens, wanted at least one for each of 3 sentences");
    DecoderCache cache = start(*model, 4, 2);
    expect_error([&] { model->step(tokens_of({1, 2}), cache); }, "step: tokens has shape [2]");
    model->step(tokens_of({1, 2, 3}), cache);
    const auto reorder = [&](const std::vector<std::int32_t>& parents) { cache.reorder(parents); };
    expect_error([&] { reorder({0, 3}); }, "hypothesis 1 continues 3, but there are 3");
    expect_error([&] { reorder({1, 0}); }, "not in the order of their sentences");
    expect_error([&] { reorder({0, 0, 0, 1, 1}); }, "5 hypotheses, but there is room for 4");
    model->step(tokens_of({1, 2, 3}), cache);
    expect_error([&] { model->step(tokens_of({1, 2, 3}), cache); }, "each hypothesis has read 2 tokens");
}

}  // namespace
}  // namespace heddle::nn
