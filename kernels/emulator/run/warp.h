// Meetings of a warp's lanes at a collective.
#pragma once

#include "kernels/emulator/run/scheduler.h"

namespace heddle::emulator {

/// The running thread arrives at `what` (a literal, compared by address). Checks its mask and location against those of the
/// waiting lanes.
Meeting* join(Warp& warp, Thread& thread, const char* what, unsigned mask, Place place);
/// All lanes have arrived: makes all ready except the last one, which is running.
void close(Warp& warp, Meeting* meeting, const Thread& last);

/// Waits until every lane of the mask has arrived; the last one calls compute(warp) before any lane continues.
template <class Compute>
void together(const char* what, unsigned mask, Place place, Compute&& compute) {
    Thread& thread = *scheduler->current;
    Warp& warp = *thread.warp;
    Meeting* const meeting = join(warp, thread, what, mask, place);
    if (meeting->arrived == mask) {
        compute(warp);
        close(warp, meeting, thread);
    } else {
        scheduler->wait(what, place);
    }
}

}  // namespace heddle::emulator
