// Trained models on several processes: rank 0 opens the runs and does all that a single process does; the others compute batches
// for it.
#pragma once

#include <span>

#include "apps/command/run.h"
#include "apps/translation/distributed/ranks.h"

namespace heddle::app {

/// Called on rank 0, once, before batches are handed out (distributed/distributed_batches.h): sends the models to the other
/// ranks, which need not see the runs. `machine` are the effective options. UsageError when a rank cannot compute with them, has
/// a processor that gives other bits, or has a file other than rank 0's as its standard input, which nobody would read. Does
/// nothing if `ranks` is null.
void share_models(Ranks* ranks, std::span<const Run> runs, const MachineOptions& machine);

/// The work of a rank after the first (on_ranks.h) in any command that uses trained models.
int follow_with_models(Ranks& ranks);

}  // namespace heddle::app
