// The meeting of a warp's lanes at one call.
#pragma once

#include "kernels/emulator/scheduler.h"

namespace heddle::emulator {

/// The running thread comes to `what` (a literal: compared by address). Checks mask and place against those who wait there.
Meeting* join(Warp& warp, Thread& thread, const char* what, unsigned mask, Place place);
/// Everybody has come: lets all but the last one, who is running, continue.
void close(Warp& warp, Meeting* meeting, const Thread& last);

/// Waits until every lane of the mask has come; the last one then calls compute(warp) before anybody continues.
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
