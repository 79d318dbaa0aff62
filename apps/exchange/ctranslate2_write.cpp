#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/exchange/ctranslate2.h"
#include "apps/exchange/ctranslate2_file.h"
#include "apps/exchange/positions.h"
#include "apps/exchange/token_lists.h"
#include "apps/translation/run/json.h"
#include "core/format.h"

namespace heddle::app {
namespace {

using nn::Positions;
using Tensors = std::map<std::string, Tensor>;

/// Tensors with as many columns, one below the other.
Tensor stacked(const std::vector<Tensor>& parts) {
    Shape shape = parts.front().shape();
    std::int64_t rows = 0;
    for (const Tensor& part : parts) rows += part.dim(0);
    shape.set(0, rows);
    Tensor whole = Tensor::empty(shape);
    std::int64_t at = 0;
    for (const Tensor& part : parts) {
        whole.slice(at, at + part.dim(0)).copy_(part);
        at += part.dim(0);
    }
    return whole;
}

class CTranslate2Model {
  public:
    CTranslate2Model(const ExchangedModel& model, ExportDType dtype)
        : options_(model.options.with_defaults()), tensors_(model.tensors), map_(model.target.map), dtype_(dtype) {}

    std::string file() {
        write_options();
        write_embeddings();
        write_positions();
        for (std::int64_t layer = 0; layer < *options_.encoder_layers; ++layer) write_layer("encoder", layer);
        for (std::int64_t layer = 0; layer < *options_.decoder_layers; ++layer) write_layer("decoder", layer);
        if (*options_.final_norm)
            for (const std::string side : {"encoder", "decoder"}) write_norm(side + "/layer_norm", side + ".final_norm");
        return out_.file();
    }

  private:
    void write_options() {
        for (const std::string side : {"encoder/", "decoder/"}) {
            out_.add_i16(side + "num_heads", static_cast<std::int16_t>(options_.heads));
            out_.add_i8(side + "pre_norm", options_.norm == nn::NormPlace::pre ? 1 : 0);
            const auto* const activation = std::ranges::find(ctranslate2_activations, options_.activation);
            out_.add_i8(side + "activation", static_cast<std::int8_t>(activation - ctranslate2_activations));
            out_.add_f32(side + "scale_embeddings",
                         options_.scale_embeddings ? static_cast<float>(std::sqrt(static_cast<double>(options_.d_model))) : 1.0F);
        }
        for (const char* name : {"encoder/embeddings_merge", "encoder/multi_query_attention", "decoder/alibi",
                                 "decoder/alibi_use_positive_positions", "decoder/scale_alibi"})
            out_.add_i8(name, 0);
        // Attention that is asked for is the mean over the heads of the last layer.
        out_.add_i16("decoder/alignment_heads", 1);
        out_.add_i16("decoder/alignment_layer", -1);
        out_.add_i8("decoder/start_from_zero_embedding", map_.start == StartToken::zeros ? 1 : 0);
    }

    void write_embeddings() {
        const std::string target = "decoder/embeddings/weight";
        if (options_.one_embedding()) {
            out_.add(target, tensors_.at("embedding.weight"), dtype_);
            out_.add_alias("encoder/embeddings_0/weight", target);
        } else {
            out_.add(target, tensors_.at("target_embedding.weight"), dtype_);
            out_.add("encoder/embeddings_0/weight", tensors_.at("source_embedding.weight"), dtype_);
        }
        if (options_.output_is_tied())
            out_.add_alias("decoder/projection/weight", target);
        else
            out_.add("decoder/projection/weight", tensors_.at("output.weight"), dtype_);
        Tensor bias = tensors_.at("output.bias").clone();
        // Other toolkits keep pad out of translations in their search.
        if (map_.pad && map_.start != StartToken::begin)
            bias.mutable_values<float>()[static_cast<std::size_t>(*map_.pad)] = bias_of_added_token;
        const bool zeros = std::ranges::all_of(bias.values<float>(), [](float value) { return value == 0; });
        if (!zeros) out_.add("decoder/projection/bias", bias, dtype_);
    }

    void write_positions() {
        const std::string target = "decoder/position_encodings/encodings", source = "encoder/position_encodings/encodings";
        if (options_.positions == Positions::learned) {
            out_.add(target, tensors_.at("target_positions.weight"), dtype_);
            out_.add(source, tensors_.at("source_positions.weight"), dtype_);
            return;
        }
        out_.add(target, position_table(options_.positions, options_.position_table, options_.d_model), dtype_);
        out_.add_alias(source, target);
    }

    void write_norm(const std::string& name, const std::string& from) {
        out_.add(name + "/gamma", tensors_.at(from + ".weight"), dtype_);
        out_.add(name + "/beta", tensors_.at(from + ".bias"), dtype_);
    }

    void write_linear(const std::string& name, const std::string& from, const std::vector<std::string>& parts) {
        for (const std::string kind : {"weight", "bias"}) {
            std::vector<Tensor> found;
            for (const std::string& part : parts) {
                const auto tensor = tensors_.find(fmt::format("{}.{}.{}", from, part, kind));
                if (tensor != tensors_.end()) found.push_back(tensor->second);
            }
            if (!found.empty()) out_.add(name + "/" + kind, stacked(found), dtype_);
        }
    }

    void write_layer(const std::string& side, std::int64_t layer) {
        const std::string from = fmt::format("{}.layers.{}.", side, layer), to = fmt::format("{}/layer_{}/", side, layer);
        write_linear(to + "self_attention/linear_0", from + "self_attention", {"query", "key", "value"});
        write_linear(to + "self_attention/linear_1", from + "self_attention", {"output"});
        write_norm(to + "self_attention/layer_norm", from + "self_attention_norm");
        if (side == "decoder") {
            write_linear(to + "attention/linear_0", from + "cross_attention", {"query"});
            write_linear(to + "attention/linear_1", from + "cross_attention", {"key", "value"});
            write_linear(to + "attention/linear_2", from + "cross_attention", {"output"});
            write_norm(to + "attention/layer_norm", from + "cross_attention_norm");
        }
        write_linear(to + "ffn/linear_0", from + "feed_forward", {"inner"});
        write_linear(to + "ffn/linear_1", from + "feed_forward", {"outer"});
        write_norm(to + "ffn/layer_norm", from + "feed_forward_norm");
    }

    nn::TransformerOptions options_;
    const Tensors& tensors_;
    const TokenMap& map_;
    ExportDType dtype_;
    CTranslate2Writer out_;
};

/// An id that no text has needs one in a list.
std::vector<std::string> listed_texts(const ExchangedVocabulary& vocabulary, std::string_view name) {
    std::vector<std::string> texts = token_texts(vocabulary, name);
    for (std::size_t id = 0; id < texts.size(); ++id)
        if (texts[id].empty()) texts[id] = fmt::format("<unused {}>", id);
    return texts;
}

void check_for_ctranslate2(const nn::TransformerOptions& given, std::string_view name) {
    const nn::TransformerOptions options = given.with_defaults();
    check_attention(options, name);
    check(*options.encoder_layers > 0 && *options.decoder_layers > 0,
          "{}: a side has no layers, and CTranslate2's have at least one", name);
}

}  // namespace

Export to_ctranslate2(const ExchangedModel& model, ExportDType dtype, std::string_view name) {
    check_for_ctranslate2(model.options, name);
    const std::vector<std::string> source = listed_texts(model.source, name), target = listed_texts(model.target, name);
    const TokenMap& map = model.target.map;
    const auto text = [&](std::int32_t id) { return target.at(static_cast<std::size_t>(id)); };
    const auto of_source = [&](std::int32_t id) { return source.at(static_cast<std::size_t>(id)); };
    check(text(map.unk) == of_source(model.source.map.unk) && text(map.end) == of_source(model.source.map.end),
          "{}: its unknown or end mark has another text in the source than in the target, and CTranslate2 has one for both",
          name);
    nlohmann::ordered_json config;
    config["add_source_bos"] = false;
    config["add_source_eos"] = true;
    config["bos_token"] = map.begin ? text(*map.begin) : "<s>";
    config["decoder_start_token"] = text(map.start == StartToken::begin ? *map.begin
                                         : map.start == StartToken::pad ? *map.pad
                                                                        : map.end);
    config["eos_token"] = text(map.end);
    config["layer_norm_epsilon"] = model.options.norm_eps;
    config["multi_query_attention"] = false;
    config["unk_token"] = text(map.unk);

    Export out;
    out.files.push_back({"config.json", json_text(config, 2) + "\n"});
    out.files.push_back({"model.bin", CTranslate2Model(model, dtype).file()});
    if (source == target) {
        out.files.push_back({"shared_vocabulary.json", list_of_tokens(target)});
    } else {
        out.files.push_back({"source_vocabulary.json", list_of_tokens(source)});
        out.files.push_back({"target_vocabulary.json", list_of_tokens(target)});
    }
    if (model.one_file) {
        out.files.push_back({"sentencepiece.model", model.target.sentencepiece});
    } else {
        out.files.push_back({"source.spm", model.source.sentencepiece});
        out.files.push_back({"target.spm", model.target.sentencepiece});
    }
    out.notes.push_back(
        "config.json has add_source_eos: CTranslate2 ends the source itself, so give it pieces without the end mark");
    if (model.forbid_unknown) out.notes.push_back("this model never writes its unknown token: translate with disable_unk=True");
    return out;
}

}  // namespace heddle::app
