// A command on several processes: start, agreement and end.
#pragma once

#include <functional>

#include "apps/command/commands.h"
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

}  // namespace heddle::app
