// Training on several processes: rank 0 does all that one process does, the others compute their shards for it.
#pragma once

#include "apps/options/option_table.h"
#include "apps/translation/distributed/ranks.h"
#include "apps/translation/training/data.h"
#include "apps/translation/training/options.h"

namespace heddle::app {

/// What a rank after the first does (on_ranks.h).
int follow_training(Ranks& ranks);

/// On rank 0, when all options are known: UsageError when there are more ranks than shards.
void check_shareable(const Ranks& ranks, const TrainSettings& settings);

/// On rank 0, before it writes anything and before its learner gives an order: the others make the model of these options, which
/// are all those in effect, and get the text. UsageError when one of them cannot compute with these options, or has a processor
/// of other bits.
/// A prepared text they open themselves; where one of them does not see the same files, `say` is told, and the text is sent.
void begin_on_ranks(Ranks& ranks, const OptionTable& options, const TrainingData& data, const Say& say);

}  // namespace heddle::app
