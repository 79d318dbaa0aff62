// The rows of the option table that fill the structs of options.h: names, ranges, help.
#pragma once

#include "apps/option_table.h"
#include "apps/options.h"

namespace heddle::app {

void add_data_options(OptionTable& table, DataOptions& options);
void add_model_options(OptionTable& table, ModelOptions& options);
void add_vocabulary_options(OptionTable& table, VocabularyRequest& options);
void add_training_options(OptionTable& table, TrainingOptions& options);
void add_machine_options(OptionTable& table, MachineOptions& options);

/// The options of `heddle train`; a run's config.toml holds the same ones.
OptionTable train_table(TrainSettings& settings);

}  // namespace heddle::app
