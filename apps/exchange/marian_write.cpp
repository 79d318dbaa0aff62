#include <algorithm>
#include <cmath>

#include "apps/exchange/marian.h"
#include "apps/exchange/marian_tensors.h"
#include "apps/exchange/npz.h"
#include "core/format.h"

namespace heddle::app {
namespace {

constexpr double marian_eps = 1e-6;

void check_marian_can(const nn::TransformerOptions& options, std::string_view name) {
    check(options.positions == nn::Positions::marian,
          "{}: it has --positions {}, and Marian's are others: train with --positions marian, or export it --to ctranslate2",
          name, word_of(options.positions));
    check(options.activation == ops::Activation::relu || options.activation == ops::Activation::silu,
          "{}: it has --activation {}, and Marian has relu and silu (swish): train with one of them", name,
          word_of(options.activation));
    check(options.norm_eps == marian_eps, "{}: its norms have --norm-eps {}, and Marian's {}: train with --norm-eps {}", name,
          options.norm_eps, marian_eps, marian_eps);
    check_attention(options, name);
    check(options.scale_embeddings,
          "{}: its embeddings are read as they are (--scale-embeddings false), and Marian's times {:.4g}", name,
          std::sqrt(static_cast<double>(options.d_model)));
}

void check_marian_numbers(const TokenMap& map, std::string_view name) {
    check(map.start == StartToken::zeros,
          "{}: its decoder first reads a mark ({}), and Marian's a row of zeros: train with --zero-start true", name,
          word_of(map.start));
    check(map.pieces.empty(), "{}: its tokens are numbered by a list, and Marian's by the .spm file: export it --to ctranslate2",
          name);
}

std::string_view yes_or_no(bool value) { return value ? "true" : "false"; }

// The options that Marian 1.12 writes into its models.
std::string model_yml(const nn::TransformerOptions& options) {
    const bool pre = options.norm == nn::NormPlace::pre;
    std::string text = fmt::format(
        "type: transformer\n"
        "dim-emb: {}\ndim-vocabs:\n  - {}\n  - {}\nenc-depth: {}\ndec-depth: {}\n"
        "transformer-heads: {}\ntransformer-dim-ffn: {}\ntransformer-ffn-activation: {}\n",
        options.d_model, options.source_vocabulary, options.target_vocabulary, *options.encoder_layers, *options.decoder_layers,
        options.heads, options.d_ff, options.activation == ops::Activation::relu ? "relu" : "swish");
    text += fmt::format(
        "transformer-preprocess: {}\ntransformer-postprocess: {}\ntransformer-postprocess-top: {}\n"
        "tied-embeddings: {}\ntied-embeddings-all: {}\ntied-embeddings-src: {}\noutput-omit-bias: {}\n",
        pre ? "n" : "\"\"", pre ? "da" : "dan", *options.final_norm ? "n" : "\"\"", yes_or_no(options.tie == nn::Tie::target),
        yes_or_no(options.tie == nn::Tie::all), yes_or_no(options.tie == nn::Tie::embeddings), yes_or_no(!*options.output_bias));
    return text +
           "transformer-postprocess-emb: d\n"
           "transformer-ffn-depth: 2\ntransformer-decoder-ffn-depth: 0\ntransformer-decoder-dim-ffn: 0\n"
           "transformer-decoder-autoreg: self-attention\ntransformer-attention-mask: default\n"
           "transformer-no-projection: false\ntransformer-no-bias: false\ntransformer-no-affine: false\n"
           "transformer-rnn-projection: false\ntransformer-pool: false\ntransformer-tied-layers:\n  []\n"
           "transformer-train-position-embeddings: false\ntransformer-disable-position-embeddings: false\n"
           "transformer-alibi-shift: false\ntransformer-alibi-trainable: false\ntransformer-guided-alignment-layer: last\n"
           "transformer-dim-aan: 2048\ntransformer-aan-depth: 2\ntransformer-aan-activation: swish\n"
           "transformer-aan-nogate: false\nenc-type: bidirectional\nenc-cell: gru\nenc-cell-depth: 1\ndec-cell: gru\n"
           "dec-cell-base-depth: 2\ndec-cell-high-depth: 1\ndim-rnn: 1024\nskip: false\nlayer-normalization: false\n"
           "right-left: false\ninput-types:\n  []\nfactors-combine: sum\nfactors-dim-emb: 0\nlemma-dependency: \"\"\n"
           "lemma-dim-emb: 0\nseparator-symbol: \"[eos]\"\nulr: false\nulr-dim-emb: 0\nulr-trainable-transformation: false\n"
           "bert-train-type-embeddings: true\nbert-type-vocab-size: 2\n";
}

// The output bias with pad and begin, which only Heddle's own vocabularies have, out of reach.
Tensor bias_for_marian(const Tensor& bias, const TokenMap& map) {
    Tensor copy = bias.clone();
    for (const std::optional<std::int32_t>& id : {map.pad, map.begin})
        if (id) copy.mutable_values<float>()[static_cast<std::size_t>(*id)] = bias_of_added_token;
    return copy;
}

Tensor in_marians_layout(const Tensor& from, const MarianTensor& tensor) {
    if (tensor.layout != MarianLayout::transposed) return from.reshape(tensor.marian_shape());
    Tensor into = Tensor::empty(tensor.marian_shape());
    transpose_f32(from, into);
    return into;
}

std::string model_npz(const ExchangedModel& model, nn::TransformerOptions options) {
    const Tensor bias = bias_for_marian(model.tensors.at("output.bias"), model.target.map);
    // Marian's model without an output bias has zeros here (to_heddle).
    options.output_bias = !std::ranges::all_of(bias.values<float>(), [](float value) { return value == 0; });
    std::vector<MarianTensor> tensors = marian_tensors(options, false);
    std::ranges::sort(tensors, {}, &MarianTensor::marian);
    NpzWriter npz;
    for (const MarianTensor& tensor : tensors) {
        const auto found = model.tensors.find(tensor.heddle);
        // A model without biases is one with zeros.
        const Tensor values = tensor.heddle == "output.bias" ? bias
                              : found != model.tensors.end() ? found->second
                                                             : Tensor::zeros(tensor.shape);
        npz.add(tensor.marian, in_marians_layout(values, tensor));
    }
    constexpr std::size_t alignment = 256;  // Marian maps its files, and arrays begin there
    std::string yml = model_yml(options);
    yml.append(alignment - yml.size() % alignment, '\0');
    npz.add("special:model.yml", yml);
    return npz.take();
}

}  // namespace

Export to_marian(const ExchangedModel& model, ExportDType dtype, std::string_view name) {
    check_usage(dtype == ExportDType::f32, "--dtype f16: Marian's models hold f32; leave it out");
    const nn::TransformerOptions options = model.options.complete();
    check_marian_can(options, name);
    check_marian_numbers(model.source.map, name);
    check_marian_numbers(model.target.map, name);
    Export out;
    out.files.push_back({"model.npz", model_npz(model, options)});
    const char* const source = model.one_file ? "vocab.spm" : "source.spm";
    const char* const target = model.one_file ? "vocab.spm" : "target.spm";
    out.files.push_back({source, model.source.sentencepiece});
    if (!model.one_file) out.files.push_back({target, model.target.sentencepiece});
    std::string decoder =
        fmt::format("relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n  - {}\n  - {}\nbeam-size: 5\nnormalize: {}\n",
                    source, target, model.length_penalty.value_or(1));
    if (!model.forbid_unknown) decoder += "allow-unk: true\n";
    out.files.push_back({"decoder.yml", std::move(decoder)});
    if (model.target.map.pad)
        out.notes.emplace_back(
            "Marian has no list of tokens that it never writes, so pad has no probability there: scores are higher by what this "
            "model gives to it");
    if (options.norm == nn::NormPlace::pre)
        out.notes.emplace_back(
            "Marian 1.12.42 decodes models with --norm pre wrongly: what it scores is right, what it translates is not");
    return out;
}

}  // namespace heddle::app
