#include "apps/exchange/huggingface.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/exchange/huggingface_names.h"
#include "apps/exchange/positions.h"
#include "apps/exchange/token_lists.h"
#include "apps/exchange/torch_file.h"
#include "apps/translation/run/json.h"
#include "apps/translation/vocabulary/sentencepiece_check.h"
#include "core/format.h"
#include "core/safetensors.h"
#include "core/safetensors_header.h"

namespace heddle::app {
namespace {

using nn::Positions;
using nn::Tie;

/// config.json, with the defaults of transformers for what it leaves out.
class Config {
  public:
    explicit Config(const nlohmann::json& fields) : fields_(fields) {}

    std::int64_t number(const char* name, std::int64_t otherwise) const {
        return value(name, otherwise, &nlohmann::json::is_number_integer, "no whole number");
    }
    double fraction(const char* name, double otherwise) const {
        return value(name, otherwise, &nlohmann::json::is_number, "no number");
    }
    bool flag(const char* name, bool otherwise) const {
        return value(name, otherwise, &nlohmann::json::is_boolean, "neither true nor false");
    }
    std::string word(const char* name, std::string otherwise) const {
        return value(name, std::move(otherwise), &nlohmann::json::is_string, "no text");
    }
    /// A number that the encoder and the decoder have in common.
    std::int64_t agreed(const char* encoder, const char* decoder, std::int64_t otherwise) const {
        const std::int64_t of_encoder = number(encoder, otherwise), of_decoder = number(decoder, otherwise);
        check(of_encoder == of_decoder, "config.json: {} is {} and {} is {}, and Heddle has one for both", encoder, of_encoder,
              decoder, of_decoder);
        return of_encoder;
    }

  private:
    template <class T>
    T value(const char* name, T otherwise, bool (nlohmann::json::*is_right)() const noexcept, const char* what) const {
        const auto found = fields_.find(name);
        if (found == fields_.end() || found->is_null()) return otherwise;
        check(((*found).*is_right)(), "config.json: {} is {}", name, what);
        return found->get<T>();
    }

    const nlohmann::json& fields_;
};

nn::TransformerOptions options_from(const Config& config) {
    nn::TransformerOptions options;
    options.source_vocabulary = config.number("vocab_size", 58101);
    const bool share = config.flag("share_encoder_decoder_embeddings", true), tied = config.flag("tie_word_embeddings", true);
    options.target_vocabulary =
        share ? options.source_vocabulary : config.number("decoder_vocab_size", options.source_vocabulary);
    options.tie = share ? (tied ? Tie::all : Tie::embeddings) : (tied ? Tie::target : Tie::none);
    options.d_model = config.number("d_model", 1024);
    options.encoder_layers = config.number("encoder_layers", 12);
    options.decoder_layers = config.number("decoder_layers", 12);
    options.heads = config.agreed("encoder_attention_heads", "decoder_attention_heads", 16);
    options.d_ff = config.agreed("encoder_ffn_dim", "decoder_ffn_dim", 4096);
    options.dropout = config.fraction("dropout", 0.1);
    options.attention_dropout = config.fraction("attention_dropout", 0);
    options.ffn_dropout = config.fraction("activation_dropout", 0);
    options.norm = nn::NormPlace::post;
    options.final_norm = false;
    options.norm_eps = 1e-5;
    options.output_bias = true;
    options.positions = Positions::sines_first;
    options.position_table = config.number("max_position_embeddings", 1024);
    options.scale_embeddings = config.flag("scale_embedding", false);
    const std::string activation = config.word("activation_function", "gelu");
    const auto known = std::ranges::find(huggingface_activations, activation, &HuggingFaceActivation::first);
    check(known != std::end(huggingface_activations), "config.json: the activation_function {} is none of Heddle's",
          shown(activation));
    options.activation = known->second;
    return options;
}

/// The tensors of either kind of file.
struct WeightFile {
    std::vector<std::string> names;
    std::function<Tensor(const std::string&)> load;             ///< as f32
    std::function<std::string_view(const std::string&)> dtype;  ///< in the file
    std::size_t bytes = 0;                                      ///< of the file
};

WeightFile open_weights_of(const std::filesystem::path& folder) {
    const std::filesystem::path safe = folder / "model.safetensors", pickled = folder / "pytorch_model.bin";
    if (std::filesystem::exists(safe)) {
        const auto file = std::make_shared<const SafetensorsFile>(safe);
        return {file->names(),
                [file](const std::string& name) {
                    const std::string_view dtype = file->dtype(name);
                    check(dtype == "F32" || dtype == "F16" || dtype == "BF16", "the tensor {} is {}; wanted F32, F16 or BF16",
                          shown(name), dtype);
                    return file->load(name, DType::f32);
                },
                [file](const std::string& name) { return file->dtype(name); },
                static_cast<std::size_t>(std::filesystem::file_size(safe))};
    }
    for (const char* part : {"model.safetensors.index.json", "pytorch_model.bin.index.json"})
        check(!std::filesystem::exists(folder / part),
              "its weights are in several files ({}); save it in one with "
              "save_pretrained(folder, max_shard_size=\"100GB\")",
              part);
    check(std::filesystem::exists(pickled), "it has neither model.safetensors nor pytorch_model.bin");
    const auto file = std::make_shared<const TorchFile>(pickled);
    const auto places = std::make_shared<std::map<std::string, const TorchTensor*>>();
    std::vector<std::string> names;
    for (const TorchTensor& tensor : file->tensors()) {
        names.push_back(tensor.name);
        places->emplace(tensor.name, &tensor);
    }
    return {std::move(names), [file, places](const std::string& name) { return file->load(*places->at(name)); },
            [file, places](const std::string& name) -> std::string_view { return places->at(name)->dtype; },
            static_cast<std::size_t>(std::filesystem::file_size(pickled))};
}

bool same_values(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && std::ranges::equal(a.values<float>(), b.values<float>());
}

constexpr std::int64_t most_positions = 1 << 14;

/// Takes the tensors of a file one by one.
class MarianMtReader {
  public:
    MarianMtReader(ExchangedModel& model, WeightFile file) : model_(model), file_(std::move(file)) {
        names_.insert(file_.names.begin(), file_.names.end());
    }

    void read() {
        read_embeddings();
        read_bias();
        read_positions();
        for (const std::string& name : file_.names)
            if (const auto ours = heddle_name_in_layer(name)) model_.tensors.emplace(*ours, take(name));
        check(names_.empty(), "the tensor {} belongs to a model that Heddle's Transformer is not",
              names_.empty() ? "" : shown(*names_.begin()));
    }

  private:
    bool has(const std::string& name) const { return names_.contains(name); }
    Tensor take(const std::string& name) {
        check(names_.erase(name) == 1, "it has no tensor {}", name);
        Tensor tensor = file_.load(name);
        // Parts of a storage may overlap: a small file could claim any number of weights.
        loaded_ += bytes_of(name, tensor);
        check(loaded_ <= file_.bytes, "its tensors have more bytes than the file, {}: they overlap", file_.bytes);
        return tensor;
    }
    std::size_t bytes_of(const std::string& name, const Tensor& tensor) const {
        return static_cast<std::size_t>(tensor.numel()) * (file_.dtype(name) == "F32" ? 4 : 2);
    }
    /// One tensor of several names; files hold one of them, or several that are equal.
    Tensor take_tied(const std::vector<std::string>& names) {
        Tensor found;
        for (const std::string& name : names) {
            if (!has(name)) continue;
            Tensor tensor = take(name);
            check(!found.defined() || same_values(found, tensor), "{} is not equal to {}, but config.json says that they are one",
                  name, names.front());
            if (found.defined()) loaded_ -= bytes_of(name, tensor);
            found = std::move(tensor);
        }
        check(found.defined(), "it has no tensor {}", names.front());
        return found;
    }

    void read_embeddings() {
        const std::string shared = "model.shared.weight", encoder = "model.encoder.embed_tokens.weight",
                          decoder = "model.decoder.embed_tokens.weight", output = "lm_head.weight";
        const bool tied = model_.options.output_is_tied();
        if (model_.options.one_embedding()) {
            std::vector<std::string> names = {shared, encoder, decoder};
            if (tied) names.push_back(output);
            model_.tensors["embedding.weight"] = take_tied(names);
        } else {
            model_.tensors["source_embedding.weight"] = take(encoder);
            model_.tensors["target_embedding.weight"] = tied ? take_tied({decoder, output}) : take(decoder);
        }
        if (!tied) model_.tensors["output.weight"] = take(output);
        const nn::TransformerOptions& options = model_.options;
        for (const auto& [name, tensor] : model_.tensors) {
            const bool source = name == "source_embedding.weight" || name == "embedding.weight";
            const std::int64_t tokens = source ? options.source_vocabulary : options.target_vocabulary;
            check(tensor.rank() == 2 && tensor.rows() == tokens, "{} is {}, but config.json says {} tokens", name, tensor.shape(),
                  tokens);
        }
    }

    void read_bias() {
        const std::string name = "final_logits_bias";
        const std::int64_t tokens = model_.options.target_vocabulary;
        const Tensor bias = has(name) ? take(name) : Tensor::zeros({1, tokens});
        check(bias.rank() == 2 && bias.dim(0) == 1 && bias.dim(1) == tokens, "{} is {}, wanted [1, {}]", name, bias.shape(),
              tokens);
        model_.tensors["output.bias"] = bias.reshape({tokens});
    }

    /// transformers computes them, but a stored table wins: one of half precision is another one.
    void read_positions() {
        const std::string encoder = "model.encoder.embed_positions.weight", decoder = "model.decoder.embed_positions.weight";
        if (!has(encoder) && !has(decoder)) {
            // No weights stand behind this number, and a table of it is allocated.
            check(model_.options.position_table <= most_positions,
                  "config.json: max_position_embeddings is {}, wanted at most {}: set it to less, computed positions have no end",
                  model_.options.position_table, most_positions);
            return;
        }
        Tensor source = take(encoder), target = take(decoder);
        const Shape wanted{model_.options.position_table, model_.options.d_model};
        check(source.shape() == wanted && target.shape() == wanted, "its positions are {} and {}, wanted {}", source.shape(),
              target.shape(), wanted);
        if (known_positions(source) == Positions::sines_first && known_positions(target) == Positions::sines_first) return;
        model_.options.positions = Positions::learned;
        model_.tensors["source_positions.weight"] = std::move(source);
        model_.tensors["target_positions.weight"] = std::move(target);
    }

    ExchangedModel& model_;
    WeightFile file_;
    std::set<std::string> names_;
    std::size_t loaded_ = 0;  // bytes in the file
};

/// The text of a token in tokenizer_config.json, which older versions write as an object.
std::string token_text(const nlohmann::json& tokenizer, const char* name, const char* otherwise) {
    auto found = tokenizer.find(name);
    if (found == tokenizer.end() || found->is_null()) return otherwise;
    const nlohmann::json* text = &*found;
    if (text->is_object() && text->contains("content")) text = &text->at("content");
    check(text->is_string(), "tokenizer_config.json: {} is no text", name);
    return text->get<std::string>();
}

nlohmann::json json_of(const ModelFiles& files, const char* name, bool needed) {
    if (!needed && !files.bytes(name)) return nlohmann::json::object();
    nlohmann::json json = bounded_json(text_of(files, name, longest_config));
    check(json.is_object(), "{} is no JSON object", name);
    return json;
}

std::int32_t as_id(std::int64_t id, std::int64_t vocabulary, const char* name) {
    check(id >= 0 && id < vocabulary, "config.json: {} is {}, but the ids are 0 to {}", name, id, vocabulary - 1);
    return static_cast<std::int32_t>(id);
}

/// Rows beyond the tokens have no text. Error for tokens beyond the model's rows.
void fit(std::vector<std::string>& tokens, std::int64_t rows, const char* file) {
    check(static_cast<std::int64_t>(tokens.size()) <= rows, "{} has ids up to {}, but the model has {} rows", file,
          tokens.size() - 1, rows);
    tokens.resize(static_cast<std::size_t>(rows));
}

void read_vocabularies(ExchangedModel& model, const ModelFiles& files, const Config& config) {
    const nlohmann::json tokenizer = json_of(files, "tokenizer_config.json", false);
    const auto separate = tokenizer.find("separate_vocabs");
    const bool two = separate != tokenizer.end() && separate->is_boolean() && separate->get<bool>();
    const nn::TransformerOptions& options = model.options;
    std::vector<std::string> source = numbered_tokens(text_of(files, "vocab.json", largest_model), files.name + "/vocab.json",
                                                      static_cast<std::size_t>(options.source_vocabulary));
    std::vector<std::string> target =
        two ? numbered_tokens(text_of(files, "target_vocab.json", largest_model), files.name + "/target_vocab.json",
                              static_cast<std::size_t>(options.target_vocabulary))
            : source;
    fit(source, options.source_vocabulary, "vocab.json");
    fit(target, options.target_vocabulary, two ? "target_vocab.json" : "vocab.json");
    model.source_language = token_text(tokenizer, "source_lang", "");
    model.target_language = token_text(tokenizer, "target_lang", "");
    const std::string unk = token_text(tokenizer, "unk_token", "<unk>"), end = token_text(tokenizer, "eos_token", "</s>");
    TokenMap& map = model.target.map;
    map.unk = id_of_token(target, unk, "unk_token");
    map.end = as_id(config.number("eos_token_id", 0), options.target_vocabulary, "eos_token_id");
    map.pad = as_id(config.number("pad_token_id", 58100), options.target_vocabulary, "pad_token_id");
    const std::int32_t start =
        as_id(config.number("decoder_start_token_id", 58100), options.target_vocabulary, "decoder_start_token_id");
    if (start == map.pad)
        map.start = StartToken::pad;
    else if (start == map.end)
        map.start = StartToken::end;
    else
        map.start = StartToken::begin, map.begin = start;
    map.pieces = std::move(target);
    if (two) {
        TokenMap& of_source = model.source.map;
        of_source.unk = id_of_token(source, unk, "unk_token");
        of_source.end = id_of_token(source, end, "eos_token");
        of_source.start = StartToken::end;
        // The model's pad is an id of both vocabularies; in the source it is never read.
        if (*map.pad < options.source_vocabulary && *map.pad != of_source.unk && *map.pad != of_source.end)
            of_source.pad = map.pad;
        of_source.pieces = std::move(source);
    } else {
        model.source.map = map;
        model.source.map.pieces = std::move(source);
    }
    model.source.sentencepiece = text_of(files, "source.spm", largest_model);
    model.target.sentencepiece = text_of(files, "target.spm", largest_model);
    model.one_file = model.source.sentencepiece == model.target.sentencepiece && model.source.map == model.target.map;
}

/// bad_words_ids forbids pad, which Heddle never writes, and may forbid the unknown token.
void read_forbidden(ExchangedModel& model, const nlohmann::json& config) {
    const auto words = config.find("bad_words_ids");
    if (words == config.end() || !words->is_array()) return;
    for (const nlohmann::json& word : *words)
        if (word.is_array() && word.size() == 1 && word[0] == model.target.map.unk) model.forbid_unknown = true;
}

}  // namespace

bool is_huggingface(const std::filesystem::path& folder) {
    std::error_code failed;
    if (!std::filesystem::is_regular_file(folder / "config.json", failed)) return false;
    try {
        const nlohmann::json config = bounded_json(text_of(files_of_folder(folder), "config.json", longest_config));
        return !config.is_object() || config.contains("model_type");  // a damaged one, too
    } catch (const Error&) {
        return true;  // read_huggingface() says why it cannot be read
    }
}

ExchangedModel read_huggingface(const std::filesystem::path& folder) {
    const ModelFiles files = files_of_folder(folder);
    try {
        const nlohmann::json json = json_of(files, "config.json", true);
        const Config config(json);
        const std::string type = config.word("model_type", "of no type");
        check(type == "marian", "config.json: the model is {}; of Hugging Face's models marian (MarianMTModel) can be read",
              shown(type));
        ExchangedModel model;
        model.options = options_from(config);
        for (const char* name : {"normalize_before", "normalize_embedding", "add_final_layer_norm"})
            if (config.flag(name, false))
                model.notes.push_back(
                    fmt::format("config.json: {} is true, but transformers ignores it, and so does this import", name));
        model.options.complete();
        MarianMtReader(model, open_weights_of(folder)).read();
        read_vocabularies(model, files, config);
        const nlohmann::json generation = json_of(files, "generation_config.json", false);
        read_forbidden(model, json);
        read_forbidden(model, generation);
        const bool apart = generation.contains("length_penalty");
        model.length_penalty =
            checked_length_penalty(Config(apart ? generation : json).fraction("length_penalty", 1),
                                   apart ? "generation_config.json: length_penalty" : "config.json: length_penalty");
        return model;
    } catch (const Error& error) {
        if (std::string_view(error.what()).find(files.name) != std::string_view::npos) throw;
        fail_with("{}: {}", files.name, error.what());
    }
}

}  // namespace heddle::app
