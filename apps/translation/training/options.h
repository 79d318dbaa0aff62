// The options of the sub-commands as plain structs with their defaults. Parsing is elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/translation/text/text_format.h"
#include "apps/translation/training/log.h"
#include "apps/translation/vocabulary/vocabulary.h"
#include "core/cpu.h"
#include "core/dtype.h"
#include "core/enum_words.h"
#include "nn/transformer_options.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"

namespace heddle::app {

/// Where the sentence pairs come from and where the run goes.
struct DataOptions {
    std::string train;   ///< PREFIX of PREFIX.SOURCE and PREFIX.TARGET
    std::string valid;   ///< the same, for validation
    std::string source;  ///< file ending of the source language: "de"
    std::string target;
    bool tsv = false;                                                  ///< train and valid are one file each: source, tab, target
    std::optional<std::pair<std::int64_t, std::int64_t>> tsv_columns;  ///< or these columns of one file, counted from 1
    TextFormat format = TextFormat::automatic;                         ///< of the text files: text, IWSLT's tags or xml
    bool replace_invalid = false;         ///< bytes that are not UTF-8 become U+FFFD instead of an error
    std::string task;                     ///< or a generated task, or names or text: a language model of `text`
    std::string text;                     ///< one file, of which it learns nine lines of ten and validates on the others
    std::uint64_t text_seed = 1;          ///< which ones; that of the training
    std::string preset;                   ///< a model that is known by name
    std::string out;                      ///< the run's folder
    std::string resume;                   ///< or the folder of a run to resume
    std::optional<std::int64_t> preload;  ///< from the end of this epoch instead of the last save
    std::string init;                     ///< a run whose weights and vocabulary a new one begins with
    bool overwrite = false;
    std::optional<std::int64_t> prepare_above;  ///< MB of text that training holds at most; default_prepare_above

    /// The text to learn from: the PREFIX, or the one file of a language model.
    const std::string& training_text() const { return text.empty() ? train : text; }
    /// Whether both sides of the text are columns of one file.
    bool reads_columns() const { return tsv || tsv_columns; }
};

/// Whether this task is a language model of --text.
bool is_text_task(std::string_view task);

/// The default model. Small texts call for more dropout than the library's default.
inline constexpr nn::TransformerOptions default_model = {.dropout = 0.2};

/// Which vocabularies to train, or to read.
struct VocabularyRequest {
    VocabularyType type = VocabularyType::bpe;
    bool type_given = false;                  ///< by an option: a model file has to be of this type
    bool normalization_given = false;         ///< by an option: a model file has to have this one
    std::optional<std::int64_t> size;         ///< 6000 for bpe and unigram, every token for word and char
    std::optional<std::int64_t> source_size;  ///< size
    std::optional<std::int64_t> target_size;  ///< size
    std::int64_t min_count = 1;
    bool shared = true;  ///< one numbering for both languages: one vocabulary, or an imported model's two with equal token maps
    std::string model_file;
    std::int64_t max_lines = 0;
    std::optional<Normalization> normalization;  ///< nfc for bpe and unigram
    bool lowercase = false;
};

/// What a training does when a loss or gradient is not finite.
enum class OnDivergence : std::uint8_t { stop, skip };
constexpr auto enum_words(OnDivergence) {
    return words_for<OnDivergence>({{OnDivergence::stop, "stop"}, {OnDivergence::skip, "skip"}});
}
/// The signal at which a training saves and goes on.
enum class SaveSignal : std::uint8_t { none, usr1, usr2 };
constexpr auto enum_words(SaveSignal) {
    return words_for<SaveSignal>({{SaveSignal::none, "none"}, {SaveSignal::usr1, "USR1"}, {SaveSignal::usr2, "USR2"}});
}

/// How to train.
struct TrainingOptions {
    double label_smoothing = 0.1;
    optim::Method optimizer = optim::Method::adam;
    std::pair<double, double> adam_betas = {0.9, 0.98};
    double adam_eps = 1e-9;
    double momentum = 0.9;
    double weight_decay = 0;
    std::optional<double> lr;  ///< default_rate(schedule)
    optim::ScheduleKind schedule = optim::ScheduleKind::inverse_sqrt;
    std::int64_t warmup = 500;
    std::int64_t batch_tokens = 1500;
    std::int64_t batch_sentences = 0;
    std::int64_t max_length = 120;
    std::int64_t max_words = 0;
    std::optional<std::int64_t> epochs;   ///< default_epochs, unless updates or minutes limit the run
    std::optional<std::int64_t> updates;  ///< no limit
    std::optional<double> minutes;        ///< no limit
    double clip = 1;
    std::int64_t accumulate = 1;
    std::int64_t shards = 1;
    std::int64_t average = 3;
    std::int64_t patience = 0;
    bool tune_search = true;
    std::uint64_t seed = 1;
    std::int64_t valid_every = 0;
    std::int64_t valid_sentences = 500;
    std::int64_t save_every = 0;
    SaveSignal save_on_signal = SaveSignal::none;
    std::int64_t keep = 1;
    OnDivergence on_divergence = OnDivergence::stop;
    std::int64_t log_every = 100;
    LogStyle log_style = LogStyle::update;
    std::optional<std::int64_t> events_every;  ///< log_every
    std::int64_t scalars_every = 0;
    bool cuda_graphs = true;
};

/// Which of a run's weights: the average of the last validations, or those of the best one.
enum class WeightsKind : std::uint8_t { average, best };
constexpr auto enum_words(WeightsKind) {
    return words_for<WeightsKind>({{WeightsKind::average, "average"}, {WeightsKind::best, "best"}});
}

/// Which of a run's weights to use.
struct WeightsChoice {
    WeightsKind kind = WeightsKind::average;
    std::optional<std::int64_t> epoch;  ///< or those at the end of this epoch
};

/// Where to compute, and in what.
struct MachineOptions {
    std::optional<std::int64_t> threads;  ///< one per processor
    std::optional<CpuLevel> cpu_level;    ///< the processor's
    Device device = Device::cpu;
    DType dtype = DType::f32;  ///< of weights and values in the model: f32 or, on CUDA, bf16
    bool batch_invariant = false;
};

/// All options of `heddle train`, and the contents of a run's config.toml.
struct TrainSettings {
    DataOptions data;
    nn::TransformerOptions model = default_model;
    VocabularyRequest vocabulary;
    TrainingOptions training;
    MachineOptions machine;
};

/// The --lr of a run that was given none: a peak for small models, or with noam the factor of the formula, 1 as in the paper.
double default_rate(optim::ScheduleKind schedule);
/// The --lr that was given, or that default.
double rate_of(const TrainingOptions& training);
inline constexpr std::int64_t default_epochs = 20;
inline constexpr std::int64_t default_prepare_above = 256;
inline constexpr std::int64_t default_subwords = 6000;

/// Sets what follows from the rest. UsageError for a conflict of the model's options, an odd d_model with sinusoidal positions,
/// embeddings tied across two vocabularies, and for options without effect.
void resolve(nn::TransformerOptions& model, VocabularyRequest& vocabulary);
/// Sets the limit and the rate of a run without one. UsageError for a cosine schedule without --updates or --epochs, for options
/// of another optimizer, and for batches without a limit.
void resolve(TrainingOptions& training);

/// Sets the number of threads and the CPU level of the process, and whether its results are batch-invariant. UsageError when the
/// processor does not have the level, the device is not available (with the reason), or it does not support the dtype. For an
/// emulated device it prints a note on stderr, so that its times are not mistaken for a GPU's.
void apply(const MachineOptions& machine);
/// The same without the note.
void apply_silently(const MachineOptions& machine);
/// "2 threads, v3" or "NVIDIA H200, sm_90": what computes, for people; with ", bf16" when it does not compute in f32.
std::string description(const MachineOptions& machine);

}  // namespace heddle::app
