#include "apps/command/run.h"

#include <sstream>

#include "apps/command/memory_advice.h"
#include "apps/command/option_rows.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/run/folder.h"
#include "apps/translation/vocabulary/token_map.h"
#include "core/file.h"
#include "core/format.h"
#include "core/text.h"
#include "nn/serialize.h"

namespace heddle::app {
namespace {

// The model's options that have a value, as TOML lines.
std::string model_lines(TrainSettings settings) {
    std::string lines;
    const OptionTable table = train_table(settings);
    for (const Option& option : table.options())
        if (option.fixed && (option.group == OptionGroup::model || option.name == "lowercase") && !option.write().empty())
            lines += fmt::format("{} = {}\n", option.name, option.write());
    return lines;
}

// ", update 4,400 (epoch 12)" of the last save, or of the chosen epoch's.
std::string progress_of(const std::filesystem::path& run, const WeightsChoice& weights) {
    try {
        const std::filesystem::path save = weights.epoch ? save_of_epoch(run, *weights.epoch) : latest_save(run);
        if (save.empty()) return "";
        const TrainingState state = read_state(save);
        return fmt::format(", update {} (epoch {})", grouped_text(state.updates), state.epoch);
    } catch (const std::exception&) {  // the weights could be read: not an error
        return "";
    }
}

}  // namespace

void check_model_size(const nn::TransformerOptions& options, const SafetensorsFile& weights) {
    double held = 0;
    for (const std::string& name : weights.names()) held += static_cast<double>(weights.shape(name).numel());
    double wanted = 0;
    try {
        wanted = options.complete().matrix_elements();
    } catch (const Error& error) {
        fail_with("{}: the configuration describes no possible model: {}; put the run's own config.toml back", weights.path(),
                  error.what());
    }
    check(wanted <= held,
          "{}: the configuration is of a model with {:.4g} weights, and this file has {:.4g}; put the run's own config.toml back",
          weights.path(), wanted, held);
}

namespace {

// Describes what is at the path instead of a run, and what to give instead.
std::string no_run(const std::filesystem::path& path) {
    namespace fs = std::filesystem;
    std::error_code failed;
    const auto is_run = [&](const fs::path& folder) { return fs::exists(folder / "config.toml", failed); };
    if (fs::is_regular_file(path, failed)) {
        const fs::path folder = fs::absolute(path).parent_path();
        if (is_run(folder)) return fmt::format("this is a file of a run; give its folder, {}", folder.string());
        return fmt::format(
            "this is a file; wanted a folder that heddle train made (text to translate comes from standard input: < {})",
            shell_word(path.string()));
    }
    for (const auto& entry : fs::directory_iterator(path, failed))
        if (is_run(entry.path()))
            return fmt::format("this folder is no run, but holds some; give one, such as {}", entry.path().string());
    return "there is no config.toml; wanted a folder that heddle train made";
}

}  // namespace

TrainSettings read_settings(const std::filesystem::path& run) {
    const std::filesystem::path config = run / "config.toml";
    if (!std::filesystem::exists(config)) fail_with("{}: {}", run.string(), no_run(run));
    TrainSettings settings;
    OptionTable table = train_table(settings);
    constexpr std::size_t longest = 1 << 20;
    std::istringstream text(read_regular_file(config, longest));
    table.read_config(text, config.string());
    VocabularyRequest& vocabulary = settings.vocabulary;
    if (!vocabulary.normalization && is_sentencepiece(vocabulary.type))
        vocabulary.normalization = Normalization::nfkc;  // a run from before the option existed
    resolve(settings.model, settings.vocabulary);
    resolve(settings.training);
    return settings;
}

void check_numbering(const nn::TransformerOptions& model, const Vocabularies& vocabularies, const std::filesystem::path& run) {
    check(!model.one_embedding() || vocabularies.one_numbering(),
          "{}: its languages share an embedding (tie {}), but its two vocabularies number their tokens differently; import the "
          "model again",
          run.string(), word_of(*model.tie));
}

void check_translates(const std::string& command, const std::filesystem::path& run) {
    if (std::error_code failed; !std::filesystem::exists(run / "config.toml", failed)) return;  // opening it says so
    check_usage(
        !read_settings(run).model.decoder_only,
        fmt::format("{}: {} is a language model, which translates nothing; heddle generate draws texts from it, and heddle "
                    "score gives the probability of texts",
                    command, run.string()));
}

void check_writes_text(const std::string& command, const std::filesystem::path& run) {
    check_usage(read_settings(run).model.decoder_only,
                fmt::format("{}: {} translates; give the run of a language model (heddle train --task text --text FILE), or use "
                            "heddle translate",
                            command, run.string()));
}

ModelIdentity model_identity(const TrainSettings& settings, const std::filesystem::path& run) {
    return {.options = model_lines(settings), .vocabulary = vocabulary_digest(run)};
}

std::string weights_file(const WeightsChoice& weights, const std::filesystem::path& run) {
    if (weights.epoch) return (save_of_epoch(run, *weights.epoch) / "model.safetensors").lexically_relative(run).string();
    return weights.kind == WeightsKind::best ? "best.safetensors" : "model.safetensors";
}

Run open_run(const std::filesystem::path& run, const std::string& weights, const MachineOptions& machine) {
    Run opened{.settings = read_settings(run), .vocabularies = {}, .model = nullptr};
    check(std::filesystem::exists(run / weights), "{}: there is no {} yet; let heddle train reach its first validation",
          run.string(), weights);
    // First check that the files belong together.
    const SafetensorsFile file = open_weights(run / weights, model_identity(opened.settings, run));
    opened.vocabularies = Vocabularies::load(run, opened.settings.vocabulary.lowercase);
    check_numbering(opened.settings.model, opened.vocabularies, run);
    const nn::TransformerOptions options =
        opened.settings.model.with_vocabularies(opened.vocabularies.source->size(), opened.vocabularies.target->size());
    check_model_size(options, file);
    check_finite(file);
    opened.model = std::make_unique<nn::Transformer>(options, std::nullopt);
    nn::load(opened.model->named_tensors(), file);
    opened.model->to(machine.device);
    opened.model->to(machine.dtype);
    opened.model->eval();
    return opened;
}

std::string description(const std::filesystem::path& run, const Run& opened, const WeightsChoice& weights) {
    const DataOptions& data = opened.settings.data;
    const std::string languages = data.source.empty() ? "" : fmt::format(" {} to {},", data.source, data.target);
    const std::string task = data.task.empty() ? "" : fmt::format(" task {},", data.task);
    return fmt::format("{}:{}{} {} parameters{}", run.string(), task, languages, grouped_text(opened.model->parameter_count()),
                       progress_of(run, weights));
}

namespace {

void check_same(const Run& one, const Run& other, const std::string& one_name, const std::string& other_name) {
    const auto check_side = [&](const char* side, const Vocabulary& a, const Vocabulary& b) {
        const std::string difference = vocabulary_difference(a, b);
        check(difference.empty(),
              "--model {} {}: models that translate together need the same vocabularies, but those of the {} differ: {}; train "
              "both with one --vocab-model, or (--shared-vocab false) on the same text with the same vocabulary options",
              one_name, other_name, side, difference);
    };
    check_side("source", *one.vocabularies.source, *other.vocabularies.source);
    check_side("target", *one.vocabularies.target, *other.vocabularies.target);
}

}  // namespace

std::string vocabulary_difference(const Vocabulary& one, const Vocabulary& other) {
    if (one.type() != other.type()) return fmt::format("{} and {}", word_of(one.type()), word_of(other.type()));
    if (one.size() != other.size()) return fmt::format("{} and {} tokens", one.size(), other.size());
    if (one.lowercase() != other.lowercase()) return "only one is of lower-case text";
    const TokenMap *const map = one.token_map(), *const other_map = other.token_map();
    const bool same_map = map == nullptr || other_map == nullptr ? map == other_map : *map == *other_map;
    if (one.serialized() == other.serialized() && same_map) return {};
    for (std::int32_t id = 0; id < one.size(); ++id)
        if (one.token(id) != other.token(id)) return fmt::format("token {} is '{}' and '{}'", id, one.token(id), other.token(id));
    return "the same tokens with other counts or settings";
}

nn::Ensemble EnsembleRun::models() const {
    std::vector<const nn::Transformer*> models;
    for (const Run& run : runs) models.push_back(run.model.get());
    return nn::Ensemble(std::move(models));
}

EnsembleRun open_ensemble(const std::vector<std::string>& runs, const WeightsChoice& weights, const MachineOptions& machine) {
    EnsembleRun opened;
    for (const std::string& run : runs) {
        // The command's own advice is about its work, and would not make the model smaller.
        opened.runs.push_back(
            with_memory_advice([] { return more_memory; }, [&] { return open_run(run, weights_file(weights, run), machine); }));
        check_same(opened.runs.front(), opened.runs.back(), runs.front(), run);
    }
    return opened;
}

}  // namespace heddle::app
