// Trained models on several processes: rank 0 opens the runs and does all that one process does, the others compute batches for
// it.
#pragma once

#include <span>

#include "apps/command/run.h"
#include "apps/translation/distributed/ranks.h"

namespace heddle::app {

/// On rank 0, once, before batches are handed out (distributed/distributed_batches.h): the others get these models, whose runs
/// they need not see. `machine` are the options in effect. UsageError when one of them cannot compute with these, has a processor
/// of other bits, or has another file than rank 0 as its standard input, which nobody would read. Does nothing where `ranks` is
/// null.
void share_models(Ranks* ranks, std::span<const Run> runs, const MachineOptions& machine);

/// What a rank after the first does (on_ranks.h), whatever the command: with models, or without any.
int follow_with_models(Ranks& ranks);

}  // namespace heddle::app
