// A command on several processes: how they start, agree and end.
#pragma once

#include <functional>

#include "apps/command/commands.h"
#include "apps/translation/distributed/ranks.h"
#include "apps/translation/training/options.h"

namespace heddle::app {

/// Runs lead(ranks) on the only process (with null) or on rank 0; the other ranks run follow(), until rank 0 gives Command::end,
/// which this does after lead(). An error on any of them is reported, with rank and host unless it is rank 0's, and ends all with
/// its exit status. UsageError when the ranks were not started alike: other arguments, another version of the program. It is
/// reported once, of the first such rank.
int on_ranks(Arguments arguments, const std::function<int(Ranks*)>& lead, const std::function<int(Ranks&)>& follow);

/// Runs `check` on all ranks and waits for all. Rank 0 throws the first of their UsageErrors, so that it is reported once; the
/// others go on to wait for an order, until rank 0 ends them.
void check_on_all(Ranks& ranks, const std::function<void()>& check);

/// check_on_all() of the ranks after the first, while rank 0, which has applied these options, checks nothing: applies them. A
/// rank objects when it cannot compute so, or its processor has other bits than rank 0's level.
void apply_alike(Ranks& ranks, const MachineOptions& machine, CpuLevel level_of_rank_0);

}  // namespace heddle::app
