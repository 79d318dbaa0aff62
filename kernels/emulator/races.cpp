#include "kernels/emulator/races.h"

#include <algorithm>

#include "kernels/emulator/memory.h"
#include "kernels/emulator/report.h"

namespace heddle::emulator {

bool overlap(const Rows& a, const Rows& b) {
    if (a.empty() || b.empty() || a.start + a.extent() <= b.start || b.start + b.extent() <= a.start) return false;
    if (a.pitch != b.pitch || (a.height == 1 && b.height == 1)) return true;
    // Two column ranges of one matrix: a's begin at 0, b's at `shift`, both round the pitch.
    const auto pitch = static_cast<std::ptrdiff_t>(a.pitch);
    const std::ptrdiff_t shift = ((b.start - a.start) % pitch + pitch) % pitch;
    return shift < static_cast<std::ptrdiff_t>(a.width) || shift + static_cast<std::ptrdiff_t>(b.width) > pitch;
}

void RaceHistory::add(const std::shared_ptr<Operation>& operation, const std::vector<Rows>& reads,
                      const std::vector<Rows>& writes) {
    for (const Rows& rows : reads) add(operation, rows, false);
    for (const Rows& rows : writes) add(operation, rows, true);
}

void RaceHistory::add(const std::shared_ptr<Operation>& operation, const Rows& rows, bool written) {
    if (rows.empty()) return;
    for (const Access& earlier : accesses_) {
        const Operation& other = *earlier.operation;
        if (other.stream == operation->stream || !(written || earlier.written)) continue;
        if (at(operation->clock, other.stream) >= other.number || !overlap(rows, earlier.rows)) continue;
        const auto name = [](const Operation& o) {
            return title(o) + " in " + (o.stream == 0 ? "the default stream" : "stream " + std::to_string(o.stream));
        };
        throw Violation("race between streams: " + name(*operation) + (written ? " writes " : " reads ") +
                        std::to_string(rows.extent()) + " bytes at " + describe(rows.start) + ", which " + name(other) +
                        (earlier.written ? " writes" : " reads") + "; no event and no wait of the host orders the two");
    }
    // The same access again, later in the same stream, stands for the earlier one.
    const auto same = std::find_if(accesses_.begin(), accesses_.end(), [&](const Access& earlier) {
        return earlier.operation->stream == operation->stream && earlier.written == written && earlier.rows.start == rows.start &&
               earlier.rows.pitch == rows.pitch && earlier.rows.width == rows.width && earlier.rows.height == rows.height;
    });
    if (same != accesses_.end())
        same->operation = operation;
    else
        accesses_.push_back({operation, rows, written});
}

void RaceHistory::forget(const Clock& before_all) {
    std::erase_if(accesses_,
                  [&](const Access& access) { return access.operation->number <= at(before_all, access.operation->stream); });
}

}  // namespace heddle::emulator
