#include "apps/exchange/ctranslate2.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/exchange/ctranslate2_file.h"
#include "apps/exchange/positions.h"
#include "apps/exchange/token_lists.h"
#include "apps/translation/run/json.h"
#include "apps/translation/vocabulary/sentencepiece_check.h"
#include "core/file.h"
#include "core/format.h"
#include "core/safetensors_header.h"

namespace heddle::app {
namespace {

using nn::NormPlace;
using nn::Positions;
using nn::Tie;

/// Takes the variables of a file one by one, so that what is left over is noticed.
class Variables {
  public:
    explicit Variables(std::span<const std::byte> file) : all_(read_ctranslate2_variables(file)), most_(2 * file.size()) {}

    bool has(const std::string& name) const { return all_.contains(name); }
    const CTranslate2Variable& get(const std::string& name) {
        const auto found = all_.find(name);
        check(found != all_.end(), "it has no variable {}", name);
        taken_.insert(name);
        return found->second;
    }

    Tensor weights(const std::string& name, const Shape& wanted = {}) {
        const CTranslate2Variable& variable = get(name);
        check(variable.type != "I8" && variable.type != "I16" && variable.type != "I32",
              "its weights are quantized ({} is {}), which loses bits: convert the model again with --quantization float32 or "
              "float16",
              name, variable.type);
        check(wanted.rank() == 0 || variable.shape == wanted, "{} is {}, wanted {}", name, variable.shape, wanted);
        // Aliases let a small file claim any number of weights.
        loaded_ += variable.bytes.size();
        check(loaded_ <= most_, "more of its variables are aliases than any model has");
        return floats_from(variable.bytes, variable.type, variable.shape);
    }

    /// A number without extents.
    double number(const std::string& name, double otherwise) {
        if (!has(name)) return otherwise;
        const CTranslate2Variable& variable = get(name);
        check(variable.shape.numel() == 1 && variable.shape.rank() <= 1, "{} is {}, wanted a number", name, variable.shape);
        if (variable.type == "I8") return static_cast<double>(as<std::int8_t>(variable));
        if (variable.type == "I16") return static_cast<double>(as<std::int16_t>(variable));
        if (variable.type == "I32") return static_cast<double>(as<std::int32_t>(variable));
        return static_cast<double>(floats_from(variable.bytes, variable.type, {}).item());
    }
    bool is_i8(const std::string& name) const { return has(name) && all_.at(name).type == "I8"; }

    void check_all_taken() const {
        for (const auto& [name, variable] : all_)
            check(taken_.contains(name), "its variable {} belongs to a model that Heddle's Transformer is not", shown(name));
    }

  private:
    template <class Number>
    static Number as(const CTranslate2Variable& variable) {
        Number number;
        std::memcpy(&number, variable.bytes.data(), sizeof number);
        return number;
    }

    std::map<std::string, CTranslate2Variable> all_;
    std::set<std::string> taken_;
    std::size_t most_, loaded_ = 0;
};

bool same_variable(const CTranslate2Variable& a, const CTranslate2Variable& b) {
    return a.type == b.type && a.shape == b.shape && std::ranges::equal(a.bytes, b.bytes);
}

Tensor rows_of(const Tensor& tensor, std::int64_t begin, std::int64_t count) {
    return tensor.slice(begin, begin + count).clone();
}

class CTranslate2Reader {
  public:
    CTranslate2Reader(std::span<const std::byte> file, const nlohmann::json& config) : from_(file), config_(config) {}

    ExchangedModel read(bool one_vocabulary) {
        read_options();
        read_embeddings(one_vocabulary);
        read_positions();
        for (const std::string side : {"encoder", "decoder"}) {
            std::int64_t layers = 0;
            for (; from_.has(fmt::format("{}/layer_{}/ffn/linear_0/weight", side, layers)); ++layers) read_layer(side, layers);
            (side == "encoder" ? model_.options.encoder_layers : model_.options.decoder_layers) = layers;
            if (*model_.options.final_norm) read_norm(side + ".final_norm", side + "/layer_norm");
        }
        check(biases_.size() < 2, "only some of its projections have a bias");
        check(attention_biases_.size() < 2, "only some of its attention's projections have a bias");
        model_.options.bias = biases_.empty() || *biases_.begin();
        model_.options.attention_bias = attention_biases_.empty() || *attention_biases_.begin();
        from_.check_all_taken();
        model_.options.complete();
        return std::move(model_);
    }

    bool starts_from_zeros() const { return zeros_; }

  private:
    double agreed(const std::string& name, double otherwise) {
        const double encoder = from_.number("encoder/" + name, otherwise), decoder = from_.number("decoder/" + name, otherwise);
        check(encoder == decoder, "{} is {} in the encoder and {} in the decoder, and Heddle has one for both", name, encoder,
              decoder);
        return encoder;
    }
    int agreed_whole(const std::string& name, int otherwise) {
        constexpr int most = std::numeric_limits<std::int16_t>::max();  // files hold no larger ones
        const double number = agreed(name, otherwise);
        check(number >= 0 && number <= most && number == std::floor(number), "{} is {}; wanted a whole number of 0 to {}", name,
              number, most);
        return static_cast<int>(number);
    }

    void read_options() {
        nn::TransformerOptions& options = model_.options;
        options.heads = agreed_whole("num_heads", 8);
        options.norm = agreed("pre_norm", 1) != 0 ? NormPlace::pre : NormPlace::post;
        const auto activation = static_cast<std::size_t>(agreed_whole("activation", 0));
        check(activation < std::size(ctranslate2_activations), "its activation {} is none of Heddle's", activation);
        options.activation = ctranslate2_activations[activation];
        for (const std::string name : {"decoder/alibi", "encoder/embeddings_merge", "encoder/multi_query_attention"})
            check(from_.number(name, 0) == 0, "{} is {}, which Heddle's Transformer does not have", name, from_.number(name, 0));
        // These matter for attention that is asked for, and with alibi.
        for (const std::string name : {"alignment_heads", "alignment_layer", "alibi_use_positive_positions", "scale_alibi"})
            from_.number("decoder/" + name, 0);
        const bool final_norm = from_.has("encoder/layer_norm/gamma");
        check(final_norm == from_.has("decoder/layer_norm/gamma"), "only one of its sides ends with a norm");
        options.final_norm = final_norm;
        const auto epsilon = config_.find("layer_norm_epsilon");
        check(epsilon == config_.end() || epsilon->is_null() || epsilon->is_number(), "layer_norm_epsilon is no number");
        options.norm_eps = epsilon == config_.end() || epsilon->is_null() ? 1e-5 : epsilon->get<double>();
        zeros_ = from_.number("decoder/start_from_zero_embedding", 0) != 0;
    }

    void read_scale() {
        std::optional<bool> scaled;
        for (const std::string name : {"encoder/scale_embeddings", "decoder/scale_embeddings"}) {
            const double scale = from_.number(name, 1), root = std::sqrt(static_cast<double>(model_.options.d_model));
            // A flag, or the factor itself.
            const bool flag = !from_.has(name) || from_.is_i8(name);
            const bool is_root = flag ? scale != 0 : std::abs(scale - root) <= 1e-6 * root;
            check(flag || is_root || scale == 1, "{} is {}; Heddle scales embeddings by sqrt(d_model), {}, or not at all", name,
                  scale, root);
            check(!scaled || *scaled == is_root, "only one of its sides scales its embeddings");
            scaled = is_root;
        }
        model_.options.scale_embeddings = *scaled;
    }

    void read_embeddings(bool one_vocabulary) {
        const std::string source_name =
            from_.has("encoder/embeddings/weight") ? "encoder/embeddings/weight" : "encoder/embeddings_0/weight";
        const CTranslate2Variable source = from_.get(source_name), target = from_.get("decoder/embeddings/weight");
        const CTranslate2Variable output = from_.get("decoder/projection/weight");
        check(source.shape.rank() == 2 && target.shape.rank() == 2, "its embeddings are {} and {}, wanted matrices", source.shape,
              target.shape);
        nn::TransformerOptions& options = model_.options;
        options.d_model = source.shape[1];
        options.source_vocabulary = source.shape[0];
        options.target_vocabulary = target.shape[0];
        const bool one = one_vocabulary && same_variable(source, target), tied = same_variable(output, target);
        options.tie = one ? (tied ? Tie::all : Tie::embeddings) : (tied ? Tie::target : Tie::none);
        const Shape wanted{options.target_vocabulary, options.d_model};
        if (one) {
            model_.tensors["embedding.weight"] = from_.weights("decoder/embeddings/weight", wanted);
        } else {
            model_.tensors["source_embedding.weight"] = from_.weights(source_name);
            model_.tensors["target_embedding.weight"] = from_.weights("decoder/embeddings/weight", wanted);
        }
        if (!tied) model_.tensors["output.weight"] = from_.weights("decoder/projection/weight", wanted);
        options.output_bias = from_.has("decoder/projection/bias");
        if (*options.output_bias)
            model_.tensors["output.bias"] = from_.weights("decoder/projection/bias", {options.target_vocabulary});
        read_scale();
    }

    void read_positions() {
        const std::string names[] = {"encoder/position_encodings/encodings", "decoder/position_encodings/encodings"};
        check(from_.has(names[0]) && from_.has(names[1]),
              "it stores no table of positions: CTranslate2 computes them in another way for such models (OpenNMT-tf's)");
        Tensor source = from_.weights(names[0]), target = from_.weights(names[1]);
        for (const Tensor& table : {source, target})
            check(table.rank() == 2 && table.cols() == model_.options.d_model && table.rows() == source.rows(),
                  "its tables of positions are {} and {}, wanted two of {} columns and as many rows", source.shape(),
                  target.shape(), model_.options.d_model);
        model_.options.position_table = source.rows();
        const auto of_source = known_positions(source), of_target = known_positions(target);
        model_.options.positions = of_source && of_source == of_target ? *of_source : Positions::learned;
        if (model_.options.positions != Positions::learned) return;
        model_.tensors["source_positions.weight"] = std::move(source);
        model_.tensors["target_positions.weight"] = std::move(target);
    }

    void read_norm(const std::string& to, const std::string& name) {
        const Shape wanted{model_.options.d_model};
        model_.tensors[to + ".weight"] = from_.weights(name + "/gamma", wanted);
        model_.tensors[to + ".bias"] = from_.weights(name + "/beta", wanted);
    }

    /// One product of the file is one or several projections, one below the other.
    void read_linear(const std::string& to, const std::vector<std::string>& parts, const std::string& name, bool attention) {
        const Tensor weight = from_.weights(name + "/weight");
        const auto count = static_cast<std::int64_t>(parts.size());
        check(weight.rank() == 2 && weight.dim(0) % count == 0, "{}/weight is {}, wanted {} matrices one below the other", name,
              weight.shape(), count);
        const bool has_bias = from_.has(name + "/bias");
        (attention ? attention_biases_ : biases_).insert(has_bias);
        const Tensor bias = has_bias ? from_.weights(name + "/bias", {weight.dim(0)}) : Tensor();
        const std::int64_t rows = weight.dim(0) / count;
        for (std::int64_t i = 0; i < count; ++i) {
            const std::string part = to + "." + parts[static_cast<std::size_t>(i)];
            model_.tensors[part + ".weight"] = rows_of(weight, i * rows, rows);
            if (has_bias) model_.tensors[part + ".bias"] = rows_of(bias, i * rows, rows);
        }
    }

    void read_layer(const std::string& side, std::int64_t layer) {
        const std::string to = fmt::format("{}.layers.{}.", side, layer), from = fmt::format("{}/layer_{}/", side, layer);
        read_linear(to + "self_attention", {"query", "key", "value"}, from + "self_attention/linear_0", true);
        read_linear(to + "self_attention", {"output"}, from + "self_attention/linear_1", true);
        read_norm(to + "self_attention_norm", from + "self_attention/layer_norm");
        if (side == "decoder") {
            read_linear(to + "cross_attention", {"query"}, from + "attention/linear_0", true);
            read_linear(to + "cross_attention", {"key", "value"}, from + "attention/linear_1", true);
            read_linear(to + "cross_attention", {"output"}, from + "attention/linear_2", true);
            read_norm(to + "cross_attention_norm", from + "attention/layer_norm");
        }
        read_linear(to + "feed_forward", {"inner"}, from + "ffn/linear_0", false);
        read_linear(to + "feed_forward", {"outer"}, from + "ffn/linear_1", false);
        read_norm(to + "feed_forward_norm", from + "ffn/layer_norm");
        model_.options.d_ff = model_.tensors.at(to + "feed_forward.inner.weight").dim(0);
    }

    Variables from_;
    const nlohmann::json& config_;
    ExchangedModel model_;
    std::set<bool> biases_, attention_biases_;
    bool zeros_ = false;
};

std::string config_word(const nlohmann::json& config, const char* name, const char* otherwise) {
    const auto found = config.find(name);
    if (found == config.end()) return otherwise;
    check(found->is_string(), "{} is no text", name);
    return found->get<std::string>();
}

bool config_flag(const nlohmann::json& config, const char* name) {
    const auto found = config.find(name);
    check(found == config.end() || found->is_boolean(), "{} is neither true nor false", name);
    return found != config.end() && found->get<bool>();
}

TokenMap map_of(std::vector<std::string> tokens, const nlohmann::json& config, bool target, bool zeros) {
    TokenMap map;
    map.unk = id_of_token(tokens, config_word(config, "unk_token", "<unk>"), "unk_token");
    map.end = id_of_token(tokens, config_word(config, "eos_token", "</s>"), "eos_token");
    map.start = zeros ? StartToken::zeros : StartToken::end;
    if (target && !zeros) {
        const auto start = config.find("decoder_start_token");
        check(start != config.end() && start->is_string(), "its decoder_start_token is to be given with each sentence");
        const std::int32_t id = id_of_token(tokens, start->get<std::string>(), "decoder_start_token");
        if (id != map.end) map.start = StartToken::begin, map.begin = id;
    }
    map.pieces = std::move(tokens);
    return map;
}

std::vector<std::string> vocabulary_of(const ModelFiles& files, const std::string& name) {
    if (files.bytes(name + ".json"))
        return listed_tokens(text_of(files, name + ".json", largest_model), files.name + "/" + name + ".json");
    check(files.bytes(name + ".txt").has_value(), "{}: it has no {}.json", files.name, name);
    const std::string text = text_of(files, name + ".txt", largest_model);
    std::vector<std::string> tokens;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        check(tokens.size() < most_pieces, "{}: {}.txt has more than {} tokens", files.name, name, most_pieces);
        tokens.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return tokens;
}

}  // namespace

ExchangedModel read_ctranslate2(const ModelFiles& files, std::vector<std::string> sentencepiece) {
    const auto file = files.bytes("model.bin");
    check(file.has_value(), "{}: it has no model.bin", files.name);
    const bool shared = files.bytes("shared_vocabulary.json") || files.bytes("shared_vocabulary.txt");
    std::vector<std::string> source = vocabulary_of(files, shared ? "shared_vocabulary" : "source_vocabulary");
    std::vector<std::string> target = shared ? source : vocabulary_of(files, "target_vocabulary");
    check(sentencepiece.size() == 1 || sentencepiece.size() == 2, "{}: {} .spm files; wanted one, or source and target",
          files.name, sentencepiece.size());
    try {
        const nlohmann::json config = bounded_json(text_of(files, "config.json", longest_config));
        check(config.is_object(), "config.json is no JSON object");
        check(!config_flag(config, "add_source_bos"),
              "its sources begin with a begin mark (add_source_bos), and Heddle's do not");
        check(!files.bytes("vmap.txt"),
              "it has a vmap.txt, a vocabulary for each sentence, which Heddle does not have; import it without");
        const bool one = source == target;
        CTranslate2Reader reader(*file, config);
        ExchangedModel model = reader.read(one);
        const bool zeros = reader.starts_from_zeros();
        // The decoders of MarianMT start from zeros, and its tokenizer ends the sources.
        check(zeros || config_flag(config, "add_source_eos"),
              "its sources do not end with the end mark (add_source_eos is not true in config.json), as those of OpenNMT-py, and "
              "Heddle's do; if the model was trained with an end mark that its tokenizer adds, set add_source_eos to true and "
              "import it again");
        model.one_file = sentencepiece.size() == 1 && one;
        model.source = {sentencepiece.front(), map_of(std::move(source), config, one, zeros)};
        model.target = {sentencepiece.back(), map_of(std::move(target), config, true, zeros)};
        return model;
    } catch (const Error& error) {
        if (std::string_view(error.what()).starts_with(files.name)) throw;
        fail_with("{}: {}", files.name, error.what());
    }
}

bool is_ctranslate2(const std::filesystem::path& folder) {
    std::error_code failed;
    return std::filesystem::exists(folder / "model.bin", failed);
}

ExchangedModel read_ctranslate2(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& vocabularies) {
    const ModelFiles files = files_of_folder(folder);
    std::vector<std::string> sentencepiece;
    for (const std::filesystem::path& path : vocabularies) sentencepiece.push_back(read_regular_file(path, largest_model));
    if (sentencepiece.empty()) {
        std::vector<std::string> names = {"source.spm", "target.spm"};
        if (!files.bytes(names[0])) names = {"sentencepiece.model"};
        check(files.bytes(names[0]).has_value(),
              "{}: the SentencePiece model is no part of CTranslate2's format, and neither source.spm nor sentencepiece.model is "
              "here; "
              "give --vocab FILE.spm, or one for the source and one for the target",
              files.name);
        for (const std::string& name : names) sentencepiece.push_back(text_of(files, name, largest_model));
    }
    return read_ctranslate2(files, std::move(sentencepiece));
}

}  // namespace heddle::app
