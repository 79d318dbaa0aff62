#include "apps/exchange/marian_tensors.h"

#include <fmt/format.h>

#include <utility>

namespace heddle::app {
namespace {

class MarianNames {
  public:
    explicit MarianNames(const nn::TransformerOptions& options) : options_(options) {}

    void add(std::string marian, std::string heddle, MarianLayout layout, const Shape& shape) {
        tensors_.push_back({std::move(marian), std::move(heddle), layout, shape});
    }

    void norm(const std::string& marian, const std::string& heddle, const char* suffix) {
        const Shape shape{options_.d_model};
        add(marian + "_ln_scale" + suffix, heddle + ".weight", MarianLayout::row, shape);
        add(marian + "_ln_bias" + suffix, heddle + ".bias", MarianLayout::row, shape);
    }

    void linear(const std::string& weight, const std::string& bias, const std::string& heddle, std::int64_t in,
                std::int64_t out) {
        add(weight, heddle + ".weight", MarianLayout::transposed, {out, in});
        add(bias, heddle + ".bias", MarianLayout::row, {out});
    }

    // `marian`: "encoder_l1_self"; `heddle`: "encoder.layers.0.self_attention".
    void attention(const std::string& marian, const std::string& heddle) {
        constexpr std::pair<const char*, const char*> parts[] = {{"q", "query"}, {"k", "key"}, {"v", "value"}, {"o", "output"}};
        for (const auto& [letter, part] : parts)
            linear(fmt::format("{}_W{}", marian, letter), fmt::format("{}_b{}", marian, letter),
                   fmt::format("{}.{}", heddle, part), options_.d_model, options_.d_model);
        norm(marian + "_Wo", heddle + "_norm", before());
    }

    void layer(const std::string& marian, const std::string& heddle, bool decoder) {
        attention(marian + "_self", heddle + "self_attention");
        if (decoder) attention(marian + "_context", heddle + "cross_attention");
        linear(marian + "_ffn_W1", marian + "_ffn_b1", heddle + "feed_forward.inner", options_.d_model, options_.d_ff);
        linear(marian + "_ffn_W2", marian + "_ffn_b2", heddle + "feed_forward.outer", options_.d_ff, options_.d_model);
        norm(marian + "_ffn_ffn", heddle + "feed_forward_norm", before());
    }

    void stack(const std::string& side, std::int64_t layers) {
        for (std::int64_t i = 0; i < layers; ++i)
            layer(fmt::format("{}_l{}", side, i + 1), fmt::format("{}.layers.{}.", side, i), side == "decoder");
        if (*options_.final_norm) norm(side + "_top", side + ".final_norm", "");
    }

    std::vector<MarianTensor> take() { return std::move(tensors_); }

  private:
    const char* before() const { return options_.norm == nn::NormPlace::pre ? "_pre" : ""; }

    const nn::TransformerOptions& options_;
    std::vector<MarianTensor> tensors_;
};

}  // namespace

Shape MarianTensor::marian_shape() const {
    switch (layout) {
        case MarianLayout::same: return shape;
        case MarianLayout::transposed: return {shape[1], shape[0]};
        case MarianLayout::row: return {1, shape[0]};
    }
    return shape;
}

void transpose_f32(const Tensor& from, Tensor& into) {
    const std::span<const float> values = from.values<float>();
    const std::span<float> turned = into.mutable_values<float>();
    const auto rows = static_cast<std::size_t>(from.dim(0)), cols = static_cast<std::size_t>(from.dim(1));
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t col = 0; col < cols; ++col) turned[col * rows + row] = values[row * cols + col];
}

std::vector<MarianTensor> marian_tensors(const nn::TransformerOptions& options, bool legacy_output) {
    MarianNames names(options);
    const Shape source{options.source_vocabulary, options.d_model}, target{options.target_vocabulary, options.d_model};
    if (options.one_embedding()) {
        names.add("Wemb", "embedding.weight", MarianLayout::same, target);
    } else {
        names.add("encoder_Wemb", "source_embedding.weight", MarianLayout::same, source);
        names.add("decoder_Wemb", "target_embedding.weight", MarianLayout::same, target);
    }
    if (!options.output_is_tied())
        names.add(legacy_output ? "decoder_ff_logit_out_W" : "decoder_ff_logit_out_Wt", "output.weight",
                  legacy_output ? MarianLayout::transposed : MarianLayout::same, target);
    if (*options.output_bias) names.add("decoder_ff_logit_out_b", "output.bias", MarianLayout::row, {options.target_vocabulary});
    names.stack("encoder", *options.encoder_layers);
    names.stack("decoder", *options.decoder_layers);
    return names.take();
}

}  // namespace heddle::app
