// The rows of the option table that fill the structs of options.h: names, ranges, help.
#pragma once

#include "apps/options/option_table.h"
#include "apps/translation/decoding/translate.h"
#include "apps/translation/training/options.h"

namespace heddle::app {

void add_data_options(OptionTable& table, DataOptions& options);
void add_model_options(OptionTable& table, nn::TransformerOptions& options);
void add_vocabulary_options(OptionTable& table, VocabularyRequest& options);
/// Notes which of its options were given: a --vocab-model has to agree with these.
void take_given(const OptionTable& table, VocabularyRequest& options);
/// --tsv-columns: which columns of one file are source and target.
Option& add_columns_option(OptionTable& table, std::optional<std::pair<std::int64_t, std::int64_t>>& columns);
/// --format: the format of text files.
Option& add_format_option(OptionTable& table, TextFormat& format);
Option& add_format_option(OptionTable& table, std::optional<TextFormat>& format);
/// --tsv, --tsv-columns, --format and --replace-invalid: how the files of `train` and `valid` are read.
void add_reading_options(OptionTable& table, DataOptions& options);
void add_replace_invalid_option(OptionTable& table, bool& replace_invalid);
/// What an update does.
void add_learning_options(OptionTable& table, TrainingOptions& options);
/// How long training continues, and what happens on the way.
void add_course_options(OptionTable& table, TrainingOptions& options);
/// --threads and --cpu-level.
void add_processor_options(OptionTable& table, MachineOptions& options);
/// --threads, --cpu-level and --device.
void add_machine_options(OptionTable& table, MachineOptions& options);
/// --dtype, after the machine's options, for commands that use a model.
void add_dtype_option(OptionTable& table, MachineOptions& options);
/// --dtype and --batch-invariant, for commands that use a trained model.
void add_inference_options(OptionTable& table, MachineOptions& options);

/// --weights and --eval-epoch: which of the run's weights to use.
void add_weights_option(OptionTable& table, WeightsChoice& weights);
/// --model for one run or several that translate together, and their weights.
void add_models_options(OptionTable& table, std::vector<std::string>& runs, WeightsChoice& weights);
/// UsageError when both choices of weights were given.
void check_weights(const OptionTable& table);
/// UsageError, for this command, when no run was given.
void check_models(const std::string& command, const std::vector<std::string>& runs);
/// --length-penalty, which a run's search.toml can hold.
Option& add_length_penalty_option(OptionTable& table, DecodeOptions& options);
void add_decode_options(OptionTable& table, DecodeOptions& options);
/// --top-k, --top-p, --temperature and --seed, from which `what` follow. Returns the row of the temperature, whose least value a
/// command states.
Option& add_sampling_options(OptionTable& table, Sampling& sampling, const std::string& what);
/// UsageError for values that no search can have.
void check_decoding(const DecodeOptions& options);

/// --forbid-unknown, which a run's search.toml can hold.
Option& add_forbid_unknown_option(OptionTable& table, bool& forbid);

/// The options of `heddle train`; a run's config.toml holds the same ones.
OptionTable train_table(TrainSettings& settings);

}  // namespace heddle::app
