// In a build without MPI.
#include <fmt/format.h>

#include "apps/translation/distributed/ranks.h"

namespace heddle::app {

std::unique_ptr<Ranks> join_ranks() {
    const int started = started_ranks();
    if (started == 1) return nullptr;
    refuse_start(
        fmt::format("started as {} processes, but this build has no MPI: each would do all of the work by itself; start one, or "
                    "build with -DHEDDLE_MPI=on",
                    started));
}

}  // namespace heddle::app
