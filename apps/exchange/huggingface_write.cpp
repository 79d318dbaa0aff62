#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/exchange/huggingface.h"
#include "apps/exchange/huggingface_names.h"
#include "apps/exchange/positions.h"
#include "apps/exchange/token_lists.h"
#include "apps/translation/run/json.h"
#include "core/format.h"
#include "core/safetensors_header.h"
#include "nn/search/search.h"

namespace heddle::app {
namespace {

using nn::Positions;
using Json = nlohmann::ordered_json;
using Tensors = std::map<std::string, Tensor>;

constexpr double fixed_eps = 1e-5;
/// How far a learned table may be from the computed one: transformers reads a stored table, but save_pretrained() drops it.
constexpr double largest_distance = 4e-3;  // bf16 rounds by up to 2e-3

void check_for_huggingface(const nn::TransformerOptions& given, std::string_view name) {
    const nn::TransformerOptions options = given.with_defaults();
    check(options.norm == nn::NormPlace::post,
          "{}: it is pre-norm, and MarianMT models are post-norm: export it --to ctranslate2, or train with --norm post", name);
    check(!*options.final_norm, "{}: each side ends with a norm (--final-norm), which MarianMT models do not have", name);
    check(options.norm_eps == fixed_eps, "{}: its norms have --norm-eps {}, and those of MarianMT {}", name, options.norm_eps,
          fixed_eps);
    check_attention(options, name);
    check(options.positions != Positions::marian,
          "{}: it has --positions marian, and MarianMT models other frequencies: export it --to marian or ctranslate2", name);
}

/// The tensors with the positions of MarianMT, and a table where they are stored.
Tensors with_its_positions(const ExchangedModel& model, std::string_view name) {
    if (model.options.positions == Positions::sines_first) return model.tensors;
    if (model.options.positions == Positions::sinusoidal) {
        check(model.options.d_model % 2 == 0, "{}: its d_model, {}, is odd, and MarianMT's is even", name, model.options.d_model);
        return with_sines_first(model.tensors, model.options.d_model);
    }
    for (const char* table : {"source_positions.weight", "target_positions.weight"})
        check(distance(model.tensors.at(table), Positions::sines_first) <= largest_distance,
              "{}: its positions are learned, and MarianMT's are computed: export it --to ctranslate2, or train with --positions "
              "sinusoidal",
              name);
    return model.tensors;
}

/// A model without biases has zeros there.
void fill_biases(Tensors& tensors) {
    Tensors zeros;
    for (const auto& [name, tensor] : tensors) {
        constexpr std::string_view weight = ".weight";
        if (name.find(".layers.") == std::string::npos || !name.ends_with(weight)) continue;
        const std::string bias = name.substr(0, name.size() - weight.size()) + ".bias";
        if (!tensors.contains(bias)) zeros.emplace(bias, Tensor::zeros({tensor.dim(0)}));
    }
    tensors.merge(zeros);
}

class MarianMtWriter {
  public:
    MarianMtWriter(const ExchangedModel& model, ExportDType dtype, std::string_view name)
        : options_(model.options.with_defaults()), model_(model), dtype_(dtype), name_(name) {}

    Export files() {
        tensors_ = with_its_positions(model_, name_);
        fill_biases(tensors_);
        read_tokens();
        Export out;
        out.files.push_back({"config.json", json_text(config(), 2) + "\n"});
        out.files.push_back({"generation_config.json", json_text(generation(), 2) + "\n"});
        out.files.push_back({"tokenizer_config.json", json_text(tokenizer(), 2) + "\n"});
        out.files.push_back({"model.safetensors", weights()});
        out.files.push_back({"source.spm", model_.source.sentencepiece});
        out.files.push_back({"target.spm", model_.target.sentencepiece});
        out.files.push_back({"vocab.json", numbers_of_tokens(source_)});
        if (two_) out.files.push_back({"target_vocab.json", numbers_of_tokens(target_)});
        if (options_.positions == Positions::learned)
            out.notes.push_back(
                "the positions are stored, since they are not quite the computed ones: transformers reads them, but its "
                "save_pretrained() leaves them out");
        return out;
    }

  private:
    std::string& text(std::vector<std::string>& tokens, std::int32_t id) { return tokens.at(static_cast<std::size_t>(id)); }

    void read_tokens() {
        source_ = token_texts(model_.source, name_);
        target_ = token_texts(model_.target, name_);
        two_ = source_ != target_;
        const TokenMap& map = model_.target.map;
        pad_ = map.pad;
        // The decoder of MarianMT starts with a token: one of zeros is added where the model has none.
        if (!pad_) pad_ = add_pad();
        switch (map.start) {
            case StartToken::begin: start_ = *map.begin; break;
            case StartToken::end: start_ = map.end; break;
            case StartToken::pad:
            case StartToken::zeros: start_ = *pad_; break;
        }
        if (map.start == StartToken::zeros && map.pad) start_from_zeros();
        const std::string end = text(target_, map.end), unk = text(target_, map.unk);
        check(!two_ || (text(source_, model_.source.map.end) == end && text(source_, model_.source.map.unk) == unk),
              "{}: its unknown or end mark has another text in the source than in the target, and a MarianTokenizer has one for "
              "both",
              name_);
    }

    /// Heddle's own begin mark is a row of zeros, and its pad an ordinary one.
    void start_from_zeros() {
        const TokenMap& map = model_.target.map;
        start_ = map.begin.value_or(*map.pad);
        const Tensor& rows = tensors_.at(options_.one_embedding() ? "embedding.weight" : "target_embedding.weight");
        check(std::ranges::all_of(rows.slice(start_, start_ + 1).to_vector(), [](double value) { return value == 0; }),
              "{}: its decoder first reads zeros, and {} is no row of zeros in its embedding", name_, text(target_, start_));
    }

    /// A row that is never written. Both sides have one pad, with one id.
    std::int32_t add_pad() {
        const auto id = static_cast<std::int32_t>(target_.size());
        check(
            !two_ || source_.size() == target_.size(),
            "{}: it has no pad, and a MarianMT model needs one that has one id in both vocabularies, which have {} and {} tokens",
            name_, source_.size(), target_.size());
        for (std::vector<std::string>* tokens : {&source_, &target_}) {
            std::string pad = "<pad>";
            while (std::ranges::find(*tokens, pad) != tokens->end()) pad = "<" + pad + ">";
            tokens->push_back(pad);
        }
        for (auto& [tensor_name, tensor] : tensors_) {
            const bool rows =
                tensor_name.ends_with("embedding.weight") || tensor_name == "output.weight" || tensor_name == "output.bias";
            if (!rows) continue;
            Shape shape = tensor.shape();
            shape.set(0, shape[0] + 1);
            Tensor longer = tensor_name == "output.bias" ? Tensor::full(shape, bias_of_added_token) : Tensor::zeros(shape);
            longer.slice(0, tensor.dim(0)).copy_(tensor);
            tensor = longer;
        }
        return id;
    }

    Json config() {
        Json json;
        json["architectures"] = {"MarianMTModel"};
        json["model_type"] = "marian";
        json["is_encoder_decoder"] = true;
        json["vocab_size"] = source_.size();
        json["decoder_vocab_size"] = target_.size();
        json["share_encoder_decoder_embeddings"] = shared();
        json["tie_word_embeddings"] = options_.output_is_tied();
        json["d_model"] = options_.d_model;
        for (const std::string side : {"encoder", "decoder"}) {
            json[side + "_layers"] = side == "encoder" ? *options_.encoder_layers : *options_.decoder_layers;
            json[side + "_attention_heads"] = options_.heads;
            json[side + "_ffn_dim"] = options_.d_ff;
            json[side + "_layerdrop"] = 0.0;
        }
        json["activation_function"] =
            std::ranges::find(huggingface_activations, options_.activation, &HuggingFaceActivation::second)->first;
        json["scale_embedding"] = options_.scale_embeddings;
        json["max_position_embeddings"] = options_.position_table;
        json["dropout"] = options_.dropout;
        json["attention_dropout"] = *options_.attention_dropout;
        json["activation_dropout"] = *options_.ffn_dropout;
        json["dtype"] = dtype_ == ExportDType::f16 ? "float16" : "float32";
        json["pad_token_id"] = *pad_;
        json["eos_token_id"] = model_.target.map.end;
        json["bos_token_id"] = nullptr;
        json["decoder_start_token_id"] = start_;
        json["forced_eos_token_id"] = nullptr;
        json["use_cache"] = true;
        return json;
    }

    /// Tokens that Heddle's search never writes are forbidden in transformers' search, too.
    Json generation() {
        Json json;
        Json forbidden = Json::array();
        forbidden.push_back({*pad_});
        if (start_ != *pad_ && start_ != model_.target.map.end) forbidden.push_back({start_});
        if (model_.forbid_unknown) forbidden.push_back({model_.target.map.unk});
        json["bad_words_ids"] = forbidden;
        json["decoder_start_token_id"] = start_;
        json["eos_token_id"] = model_.target.map.end;
        json["forced_eos_token_id"] = nullptr;
        json["pad_token_id"] = *pad_;
        json["length_penalty"] = model_.length_penalty.value_or(nn::DecodeOptions().length_penalty);
        json["max_length"] = options_.position_table;
        json["num_beams"] = 4;
        return json;
    }

    Json tokenizer() {
        Json json;
        json["tokenizer_class"] = "MarianTokenizer";
        json["eos_token"] = text(target_, model_.target.map.end);
        json["unk_token"] = text(target_, model_.target.map.unk);
        json["pad_token"] = text(target_, *pad_);
        json["model_max_length"] = options_.position_table;
        json["separate_vocabs"] = two_;
        json["source_lang"] = model_.source_language;
        json["target_lang"] = model_.target_language;
        json["sp_model_kwargs"] = Json::object();
        return json;
    }

    /// With tie_word_embeddings false transformers keeps a matrix for each side.
    bool shared() const { return options_.tie == nn::Tie::all; }

    std::string theirs(const std::string& ours) const {
        if (ours == "embedding.weight") return "model.shared.weight";
        if (ours == "source_embedding.weight") return "model.encoder.embed_tokens.weight";
        if (ours == "target_embedding.weight") return "model.decoder.embed_tokens.weight";
        if (ours == "source_positions.weight") return "model.encoder.embed_positions.weight";
        if (ours == "target_positions.weight") return "model.decoder.embed_positions.weight";
        if (ours == "output.weight") return "lm_head.weight";
        const std::optional<std::string> in_layer = huggingface_name_in_layer(ours);
        check(in_layer.has_value(), "{}: MarianMT has no place for {}", name_, ours);
        return *in_layer;
    }

    std::string weights() {
        std::map<std::string, Tensor> named;
        for (const auto& [ours, tensor] : tensors_) {
            if (ours == "output.bias") {
                named.emplace("final_logits_bias", tensor.reshape({1, tensor.numel()}));
            } else if (ours == "embedding.weight" && !shared()) {
                named.emplace("model.encoder.embed_tokens.weight", tensor);
                named.emplace("model.decoder.embed_tokens.weight", tensor);
            } else {
                named.emplace(theirs(ours), tensor);
            }
        }
        SafetensorsHeader header{{}, {{"format", "pt"}}};
        const std::uint64_t size = dtype_ == ExportDType::f16 ? 2 : 4;
        std::uint64_t end = 0;
        for (const auto& [name, tensor] : named) {
            const std::uint64_t begin = end;
            end += static_cast<std::uint64_t>(tensor.numel()) * size;
            header.tensors.push_back({name, dtype_ == ExportDType::f16 ? "F16" : "F32", tensor.shape(), begin, end});
        }
        const std::string text = safetensors_header_text(header);
        const std::uint64_t length = text.size();
        std::string file(reinterpret_cast<const char*>(&length), sizeof length);
        file += text;
        file.reserve(file.size() + end);
        for (const auto& [name, tensor] : named) {
            const std::vector<std::byte> bytes = bytes_of(tensor, dtype_);
            file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        }
        return file;
    }

    nn::TransformerOptions options_;
    const ExchangedModel& model_;
    ExportDType dtype_;
    std::string_view name_;
    Tensors tensors_;
    std::vector<std::string> source_, target_;
    bool two_ = false;
    std::optional<std::int32_t> pad_;
    std::int32_t start_ = 0;
};

}  // namespace

Export to_huggingface(const ExchangedModel& model, ExportDType dtype, std::string_view name) {
    check_for_huggingface(model.options, name);
    return MarianMtWriter(model, dtype, name).files();
}

}  // namespace heddle::app
