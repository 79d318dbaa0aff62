#include "apps/exchange/marian.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "apps/exchange/marian_options.h"
#include "apps/exchange/marian_tensors.h"
#include "apps/exchange/npz.h"
#include "apps/translation/vocabulary/sentencepiece_check.h"
#include "core/format.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* model_options_name = "special:model.yml";
constexpr std::size_t longest_options = longest_config;

// Marian's binary form begins with its version, 1, in eight bytes.
bool is_marian_binary(const fs::path& file) {
    if (file.extension() != ".bin" || !fs::is_regular_file(file)) return false;
    constexpr std::array<std::byte, 8> version{std::byte{1}};
    const MemoryMap map(file);
    return map.bytes().size() > version.size() && std::ranges::equal(map.bytes().first(version.size()), version);
}

bool is_model_npz(const fs::path& file) {
    const std::string name = file.filename().string();
    return name.ends_with(".npz") && !name.ends_with(".optimizer.npz") && fs::is_regular_file(file);
}

std::vector<fs::path> files_where(const fs::path& folder, bool (*wanted)(const fs::path&)) {
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
        if (wanted(entry.path())) found.push_back(entry.path());
    std::ranges::sort(found);
    return found;
}

std::string names_of(const std::vector<fs::path>& files) {
    std::vector<std::string> names;
    for (const fs::path& file : files) names.push_back(file.filename().string());
    return fmt::format("{}", fmt::join(names, ", "));
}

fs::path model_file(const fs::path& path) {
    const bool folder = fs::is_directory(path);
    const std::vector<fs::path> models = folder ? files_where(path, is_model_npz) : std::vector<fs::path>{path};
    const std::vector<fs::path> binaries = folder ? files_where(path, is_marian_binary) : std::vector<fs::path>();
    const fs::path binary = !folder && is_marian_binary(path)     ? path
                            : models.empty() && !binaries.empty() ? binaries.front()
                                                                  : "";
    check(
        binary.empty(),
        "{}: this is Marian's binary form, which is for one kind of processor; convert it with  marian-conv -f {} -t model.npz  "
        "(models in 8 bits, such as Firefox', cannot be converted back: take the model that they were made from)",
        binary.string(), binary.filename().string());
    check(!models.empty(), "{}: there is no .npz, the file of a Marian model", path.string());
    if (models.size() == 1) return models.front();
    const auto found = std::ranges::find(models, "model.npz", [](const fs::path& file) { return file.filename().string(); });
    check(found != models.end(), "{}: it holds several models ({}); give one of the files", path.string(), names_of(models));
    return *found;
}

MarianOptions options_of(const NpzFile& file) {
    if (file.contains(model_options_name)) {
        const NpyArray array = file.array(model_options_name);
        const std::string name = file.path() + ":" + model_options_name;
        check((array.dtype.ends_with("i1") || array.dtype.ends_with("u1")) && array.bytes.size() <= longest_options,
              "{}: it is {} bytes of dtype {}, wanted a text of at most {} bytes", name, array.bytes.size(), array.dtype,
              longest_options);
        std::string_view text(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
        text = text.substr(0, text.find_last_not_of('\0') + 1);  // a text of NULs: npos + 1, nothing
        check(text.find('\0') == std::string_view::npos, "{}: there is a NUL within the text", name);
        return {text, name};
    }
    const fs::path beside = file.path() + ".yml";
    check(fs::exists(beside), "{}: it has no {}, and there is no {}: nothing says how the model is built", file.path(),
          model_options_name, beside.filename().string());
    return {read_regular_file(beside, longest_options), beside.string()};
}

// Values of an option that Heddle's Transformer has, too.
struct MarianRule {
    const char* option;
    std::vector<std::string_view> accepted;
    const char* why;  ///< what to know, or to do, about other values
};

const std::vector<MarianRule>& marian_rules() {
    static const std::vector<MarianRule> rules = {
        {"type", {"transformer"}, "Heddle has the Transformer only, no RNN, and no language model"},
        {"transformer-decoder-autoreg",
         {"self-attention"},
         "rnn is an SSRU, as in the models of Firefox, and Heddle's decoder attends to itself; take the teacher of such a model"},
        {"transformer-ffn-activation",
         {"relu", "swish"},
         "Marian's gelu is x sigmoid(1.702 x), and gated layers are not imported"},
        {"transformer-ffn-depth", {"2"}, "Heddle's feed-forward has two layers"},
        {"transformer-decoder-ffn-depth", {"0", "2"}, "Heddle's feed-forward has two layers"},
        {"transformer-preprocess", {"", "d", "n", "dn", "nd"}, "a sublayer's input is normalised, or it is not"},
        {"transformer-postprocess", {"an", "dan", "a", "da"}, "the residual sum comes first, then its norm or nothing"},
        {"transformer-postprocess-top", {"", "d", "n", "dn", "nd"}, "the last layer's output is normalised, or it is not"},
        {"transformer-postprocess-emb", {"", "d"}, "embeddings are not normalised"},
        {"transformer-no-projection", {"false"}, "Heddle's attention has an output projection"},
        {"transformer-no-bias", {"false"}, "give the model zeros as biases"},
        {"transformer-no-affine", {"false"}, "give the model ones as scales and zeros as biases of its norms"},
        {"transformer-pool", {"false"}, "Heddle's layers attend"},
        {"transformer-attention-mask", {"default"}, "ALiBi is not read"},
        {"transformer-train-position-embeddings", {"false"}, "learned positions of Marian are not read"},
        {"transformer-disable-position-embeddings", {"false"}, "Heddle's model has positions"},
        {"right-left", {"false"}, "its translations are written from the right to the left"},
        {"input-join-fields", {"false"}, "a source is one text"},
        {"factors-dim-emb", {"0"}, "factored vocabularies are not read"},
        {"lemma-dim-emb", {"0"}, "factored vocabularies are not read"},
        {"lemma-dependency", {""}, "factored vocabularies are not read"},
        {"ulr", {"false"}, "universal embeddings are not read"},
    };
    return rules;
}

// A norm stands before the sublayers or after the residual sums, not at both places or at none.
nn::NormPlace norm_place(const MarianOptions& options) {
    const std::string before = options.text("transformer-preprocess"), after = options.text("transformer-postprocess", "dan");
    const bool pre = before.find('n') != std::string::npos, post = after.find('n') != std::string::npos;
    check(pre != post,
          "{}: transformer-preprocess is '{}' and transformer-postprocess '{}': norms {}; Heddle's stand before each sublayer or "
          "after it",
          options.name(), before, after, pre ? "stand before each sublayer and after it" : "are missing");
    return pre ? nn::NormPlace::pre : nn::NormPlace::post;
}

void check_rules(const MarianOptions& options) {
    check(options.contains("type"), "{}: it has no type; is it the file of a Marian model?", options.name());
    for (const MarianRule& rule : marian_rules()) {
        if (!options.contains(rule.option)) continue;
        const std::string value = options.text(rule.option);
        check(std::ranges::find(rule.accepted, value) != rule.accepted.end(), "{}: {} is '{}', wanted {}: {}", options.name(),
              rule.option, value, fmt::join(rule.accepted, " or "), rule.why);
    }
    for (const char* list : {"transformer-tied-layers", "input-reorder"})
        check(options.list(list).empty(), "{}: {} is [{}]; wanted an empty list: Heddle has no such option", options.name(), list,
              fmt::join(options.list(list), ", "));
    for (const std::string& type : options.list("input-types"))
        check(type == "sequence", "{}: input-types has '{}', wanted sequence: a source is one text", options.name(), type);
    const std::int64_t inner = options.number("transformer-dim-ffn", 2048);
    const std::int64_t of_decoder = options.number("transformer-decoder-dim-ffn", 0);
    check(of_decoder == 0 || of_decoder == inner,
          "{}: transformer-decoder-dim-ffn is {}, and transformer-dim-ffn {}; Heddle's encoder and decoder are equally wide",
          options.name(), of_decoder, inner);
}

nn::Tie tie_of(const MarianOptions& options) {
    const bool all = options.flag("tied-embeddings-all"), source = options.flag("tied-embeddings-src");
    const bool target = options.flag("tied-embeddings");
    if (all || (source && target)) return nn::Tie::all;
    return source ? nn::Tie::embeddings : target ? nn::Tie::target : nn::Tie::none;
}

// `training`: the options of its training, for another one (heddle train --init).
nn::TransformerOptions heddle_options(const MarianOptions& options, const MarianOptions& training) {
    check_rules(options);
    const std::vector<std::string>& sizes = options.list("dim-vocabs");
    check(sizes.size() == 2, "{}: dim-vocabs is [{}], wanted the sizes of two vocabularies", options.name(),
          fmt::join(sizes, ", "));
    nn::TransformerOptions model;
    std::int64_t* const vocabularies[] = {&model.source_vocabulary, &model.target_vocabulary};
    for (std::size_t i = 0; i < 2; ++i)
        *vocabularies[i] = MarianOptions("dim-vocabs: " + sizes[i], options.name()).number("dim-vocabs", 0);
    model.encoder_layers = options.number("enc-depth", 1);
    model.decoder_layers = options.number("dec-depth", 1);
    model.d_model = options.number("dim-emb", 512);
    model.heads = options.number("transformer-heads", 8);
    model.d_ff = options.number("transformer-dim-ffn", 2048);
    model.norm = norm_place(options);
    model.final_norm = options.text("transformer-postprocess-top").find('n') != std::string::npos;
    model.norm_eps = 1e-6;
    model.activation =
        options.text("transformer-ffn-activation", "swish") == "relu" ? ops::Activation::relu : ops::Activation::silu;
    model.positions = nn::Positions::marian;
    model.position_table = 1000;
    model.tie = tie_of(options);
    model.output_bias = !options.flag("output-omit-bias");
    model.dropout = training.real("transformer-dropout", 0.1);
    model.attention_dropout = training.real("transformer-dropout-attention", 0);
    model.ffn_dropout = training.real("transformer-dropout-ffn", 0);
    try {
        return model.complete();
    } catch (const Error& error) {
        fail_with("{}: the options describe no possible model: {}", options.name(), error.what());
    }
}

Tensor in_heddles_layout(const Tensor& from, const MarianTensor& tensor) {
    if (tensor.layout == MarianLayout::row) return from.reshape(tensor.shape);
    if (tensor.layout == MarianLayout::same) return from;
    Tensor into = Tensor::empty(tensor.shape);
    transpose_f32(from, into);
    return into;
}

void read_tensors(const NpzFile& file, const MarianOptions& options, ExchangedModel& model) {
    std::set<std::string, std::less<>> left(file.names().begin(), file.names().end());
    for (const std::string& name : left)
        check(name.find("_QuantMult") == std::string::npos,
              "{}: {} belongs to a model in 8 bits (intgemm); take the model of floats that it was made from", file.path(), name);
    left.erase(model_options_name);
    const std::int64_t layers = *model.options.encoder_layers, decoder_layers = *model.options.decoder_layers;
    const auto arrays = static_cast<std::int64_t>(left.size());
    check(layers <= arrays && decoder_layers <= arrays, "{}: {} arrays are too few for {} and {} layers (enc-depth, dec-depth)",
          file.path(), arrays, layers, decoder_layers);
    const std::vector<MarianTensor> wanted = marian_tensors(model.options, left.contains("decoder_ff_logit_out_W"));
    // All shapes first: what does not fit is refused before memory is taken.
    for (const MarianTensor& tensor : wanted) {
        check(left.erase(tensor.marian) > 0, "{}: the array {} is missing, which the options in {} ask for", file.path(),
              tensor.marian, options.name());
        const Shape shape(file.array(tensor.marian).shape);
        const bool flat = tensor.layout == MarianLayout::row && shape == tensor.shape;
        check(flat || shape == tensor.marian_shape(), "{}: the array {} is {}, wanted {} by the options in {}", file.path(),
              tensor.marian, shape, tensor.marian_shape(), options.name());
    }
    check(left.empty(), "{}: the array {} has no place in the model that the options in {} describe", file.path(),
          left.empty() ? "" : *left.begin(), options.name());
    for (const MarianTensor& tensor : wanted)
        model.tensors.emplace(tensor.heddle, in_heddles_layout(file.load_f32(tensor.marian), tensor));
}

// The vocabularies as the options name them: files beside the model, since paths are those of another machine.
std::vector<fs::path> named_vocabularies(const MarianOptions& options, const fs::path& folder) {
    std::vector<fs::path> files;
    for (const std::string& name : options.list("vocabs")) {
        const fs::path path(name);
        check(std::ranges::none_of(path, [](const fs::path& part) { return part == ".."; }),
              "{}: vocabs has '{}', which leads out of its folder; put the file beside the model, and name it alone",
              options.name(), name);
        files.push_back(folder / path.filename());
    }
    return files;
}

// The options of Marian's decoder: decoder.yml, or model.npz.decoder.yml, which training writes.
std::optional<MarianOptions> decoder_options(const fs::path& model) {
    for (const fs::path& file : {fs::path(model) += ".decoder.yml", model.parent_path() / "decoder.yml"})
        if (fs::exists(file)) return MarianOptions(read_regular_file(file, longest_options), file.string());
    return {};
}

// The options that training wrote beside the model; without such a file the model's own.
MarianOptions training_options(const NpzFile& file, const MarianOptions& own) {
    const fs::path beside = file.path() + ".yml";
    if (!fs::exists(beside)) return own;
    return {read_regular_file(beside, longest_options), beside.string()};
}

std::vector<fs::path> find_vocabularies(const fs::path& model, const MarianOptions& training,
                                        const std::optional<MarianOptions>& decoder) {
    const fs::path folder = model.parent_path().empty() ? fs::path(".") : model.parent_path();
    for (const MarianOptions* options : {decoder ? &*decoder : nullptr, &training}) {
        const std::vector<fs::path> named = options ? named_vocabularies(*options, folder) : std::vector<fs::path>();
        if (!named.empty() && std::ranges::all_of(named, [](const fs::path& file) { return fs::exists(file); })) return named;
    }
    const std::vector<fs::path> found =
        files_where(folder, [](const fs::path& file) { return file.extension() == ".spm" && fs::is_regular_file(file); });
    check(found.size() == 1, "{}: {}; give the vocabularies: --vocab FILE, or --vocab SOURCE TARGET", model.string(),
          found.empty() ? std::string("there is no .spm beside it")
                        : fmt::format("several vocabularies are beside it ({})", names_of(found)));
    return found;
}

ExchangedVocabulary read_vocabulary(const fs::path& file) {
    check(
        file.extension() != ".yml" && file.extension() != ".fsv" && file.extension() != ".txt",
        "{}: only SentencePiece vocabularies (.spm) are read, no lists of words and no factors; import the model's Hugging Face "
        "form, if there is one",
        file.string());
    ExchangedVocabulary vocabulary{.sentencepiece = read_regular_file(file, largest_model), .map = {}};
    const SpecialIds ids = special_ids(vocabulary.sentencepiece, file.string());
    check(ids.unk >= 0 && ids.end >= 0, "{}: it has no {}, which Marian needs", file.string(),
          ids.unk < 0 ? "unknown piece" : "end mark");
    // Its own begin mark and pad, if there are any, are ordinary tokens to Marian.
    vocabulary.map = {.pieces = {}, .unk = ids.unk, .end = ids.end, .pad = {}, .begin = {}, .start = StartToken::zeros};
    return vocabulary;
}

}  // namespace

bool is_marian(const fs::path& path) {
    if (!fs::is_directory(path)) return is_model_npz(path) || is_marian_binary(path);
    return !files_where(path, is_model_npz).empty() || !files_where(path, is_marian_binary).empty();
}

ExchangedModel read_marian(const fs::path& path, const std::vector<fs::path>& vocabularies) {
    check(vocabularies.size() <= 2, "{}: {} vocabularies were given, wanted one, or one for each side", path.string(),
          vocabularies.size());
    const NpzFile file(model_file(path));
    const MarianOptions options = options_of(file);
    ExchangedModel model;
    const MarianOptions training = training_options(file, options);
    model.options = heddle_options(options, training);
    const std::optional<MarianOptions> decoder = decoder_options(file.path());
    model.forbid_unknown = !decoder || !decoder->flag("allow-unk");
    // Marian's decoder does not normalise unless it is told to.
    model.length_penalty = decoder ? checked_length_penalty(decoder->real("normalize", 0), decoder->name() + ": normalize") : 0;
    const std::vector<fs::path> files = vocabularies.empty() ? find_vocabularies(file.path(), training, decoder) : vocabularies;
    check(files.size() <= 2, "{}: the model has {} vocabularies; wanted one source and one target", file.path(), files.size());
    model.source = read_vocabulary(files.front());
    model.target = files.size() == 1 ? model.source : read_vocabulary(files.back());
    model.one_file = model.source.sentencepiece == model.target.sentencepiece;
    check(model.one_file || !model.options.one_embedding(),
          "{}: source and target have one embedding (tied-embeddings-all or -src), but {} and {} differ", file.path(),
          files.front().string(), files.back().string());
    read_tensors(file, options, model);
    return model;
}

}  // namespace heddle::app
