// A command on several processes: start, agreement and end; and trained models there: rank 0 opens the runs and does all that a
// single process does, the others compute batches for it.
#pragma once

#include <functional>
#include <span>

#include "apps/command/commands.h"
#include "apps/command/run.h"
#include "apps/translation/distributed/ranks.h"
#include "apps/translation/training/options.h"

namespace heddle::app {

/// Runs lead(ranks) on the only process (with null) or on rank 0; the other ranks run follow() until rank 0 sends Command::end,
/// which happens after lead(). An error on any rank is reported, with rank and host unless it is rank 0's, and ends all ranks
/// with its exit status. UsageError, reported once for the first such rank, when the ranks were started with different arguments
/// or versions.
int on_ranks(Arguments arguments, const std::function<int(Ranks*)>& lead, const std::function<int(Ranks&)>& follow);

/// Runs `check` on all ranks and waits for all. Rank 0 throws the first of their UsageErrors, so that it is reported once; the
/// others continue to wait for a command, until rank 0 ends them.
void check_on_all(Ranks& ranks, const std::function<void()>& check);

/// The other ranks' side of a check_on_all() in which rank 0, having applied these options, checks nothing: applies them.
/// UsageError when this rank cannot compute with them, or its processor gives bits other than rank 0's level.
void apply_alike(Ranks& ranks, const MachineOptions& machine, CpuLevel level_of_rank_0);

/// Called on rank 0, once, before batches are handed out (distributed/distributed_batches.h): sends the models to the other
/// ranks, which need not see the runs. `machine` are the effective options. UsageError when a rank cannot compute with them, has
/// a processor that gives other bits, or has a file other than rank 0's as its standard input, which nobody would read. Does
/// nothing if `ranks` is null.
void share_models(Ranks* ranks, std::span<const Run> runs, const MachineOptions& machine);

/// The work of a rank after the first in any command that uses trained models.
int follow_with_models(Ranks& ranks);

}  // namespace heddle::app
