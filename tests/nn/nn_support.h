// Helpers for the tests of nn/: small models, random sentences, gradients by name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "nn/transformer.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::nn {

/// A model small enough for f64 differences, with distinct extents everywhere.
inline TransformerOptions tiny_options() {
    TransformerOptions options;
    options.source_vocabulary = 11;
    options.target_vocabulary = 13;
    options.tie = Tie::none;
    options.encoder_layers = 2;
    options.decoder_layers = 2;
    options.d_model = 8;
    options.heads = 2;
    options.d_ff = 12;
    options.dropout = 0;
    options.position_table = 16;
    return options;
}

inline Tensor tokens_of(const Tokens& tokens) { return Tensor::from(tokens, {static_cast<std::int64_t>(tokens.size())}); }

inline Tokens random_tokens(std::int64_t count, std::int64_t vocabulary, std::uint64_t seed) {
    Sequence random(seed);
    Tokens tokens;
    for (std::int64_t i = 0; i < count; ++i)
        tokens.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(vocabulary))));
    return tokens;
}

/// The sentences, one after the other, without padding.
inline Sentences packed(const std::vector<Tokens>& sentences) {
    Tokens all;
    std::vector<std::int64_t> lengths;
    for (const Tokens& sentence : sentences) {
        all.insert(all.end(), sentence.begin(), sentence.end());
        lengths.push_back(static_cast<std::int64_t>(sentence.size()));
    }
    return {tokens_of(all), Spans::packed(lengths)};
}

/// The sentences as rows of a [batch, time] tensor, filled up with `filler`.
inline Sentences padded(const std::vector<Tokens>& sentences, std::int64_t time, std::int32_t filler) {
    Tokens all;
    std::vector<std::int64_t> lengths;
    for (const Tokens& sentence : sentences) {
        all.insert(all.end(), sentence.begin(), sentence.end());
        lengths.push_back(static_cast<std::int64_t>(sentence.size()));
        all.resize(lengths.size() * static_cast<std::size_t>(time), filler);
    }
    return {tokens_of(all), Spans::padded(lengths, time)};
}

/// Moves every parameter a little, so that biases and norms are not at their 0 and 1.
inline void disturb(const Module& module, std::uint64_t seed = 5, double deviation = 0.2) {
    for (const Parameter& parameter : module.parameters()) {
        const Tensor noise = normal(parameter.variable.shape(), module.dtype(), seed + stable_hash(parameter.name), 0, deviation);
        Tensor value = parameter.variable.value();
        const std::vector<double> a = value.to_vector();
        const std::vector<double> b = noise.to_vector();
        std::vector<double> sum(a.size());
        for (std::size_t i = 0; i < a.size(); ++i) sum[i] = a[i] + b[i];
        value.copy_(Tensor::from(sum, value.shape()).to(value.dtype()));
    }
}

/// All gradients by parameter name.
inline std::map<std::string, Tensor> gradients_of(const Module& module) {
    std::map<std::string, Tensor> all;
    for (const Parameter& parameter : module.parameters())
        if (parameter.variable.grad().defined())
            for (const auto& [name, tensor] : parameter.named(parameter.variable.grad())) all.emplace(name, tensor);
    return all;
}

inline void zero_gradients(const Module& module) {
    for (Parameter& parameter : module.parameters()) parameter.variable.zero_grad();
}

inline std::vector<std::string> names_of(const Module& module) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : module.named_tensors()) names.push_back(name);
    return names;
}

/// The tensor with this name; fails the test if there is none.
inline Tensor named_tensor(const Module& module, const std::string& name) {
    for (const auto& [each, tensor] : module.named_tensors())
        if (each == name) return tensor;
    fail("test: there is no parameter " + name);
}

}  // namespace heddle::nn
