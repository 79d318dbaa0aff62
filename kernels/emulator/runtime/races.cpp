#include "kernels/emulator/runtime/races.h"

#include <algorithm>

#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/verdict.h"
#include "kernels/emulator/runtime/runtime.h"

namespace heddle::emulator {
namespace {

/// A pair of pieces, one from each list, that share a byte.
struct Overlap {
    const Rows *first = nullptr, *second = nullptr;
};

bool before(const Rows& a, const Rows& b) { return a.start < b.start; }

/// The lists are sorted by address. A piece may lie between the rows of another, so all pieces whose ranges overlap are compared.
Overlap overlap(const std::vector<Rows>& firsts, const std::vector<Rows>& seconds) {
    std::size_t longest = 0;
    for (const Rows& rows : seconds) longest = std::max(longest, rows.extent());
    for (const Rows& first : firsts) {
        // The first piece that may overlap this one.
        const auto from = std::partition_point(seconds.begin(), seconds.end(),
                                               [&](const Rows& rows) { return rows.start + longest <= first.start; });
        for (auto second = from; second != seconds.end() && second->start < first.start + first.extent(); ++second)
            if (overlap(first, *second)) return {&first, &*second};
    }
    return {};
}

std::string name(const Operation& operation) {
    return title(operation) + " in " +
           (operation.stream == 0 ? "the default stream" : "stream " + std::to_string(operation.stream));
}

void compare(const Operation& operation, const std::vector<Rows>& touched, bool written, const Operation& other,
             const std::vector<Rows>& others, bool others_written) {
    const Rows* const rows = overlap(touched, others).first;
    if (rows == nullptr) return;
    Violation race("race between streams: " + name(operation) + (written ? " writes " : " reads ") +
                       std::to_string(rows->extent()) + " bytes at " + describe(rows->start) + ", which " + name(other) +
                       (others_written ? " writes" : " reads") + "; no event and no wait of the host orders the two",
                   "stream-race");
    race.place = operation.place;
    race.other = other.place;
    throw race;
}

}  // namespace

bool overlap(const Rows& a, const Rows& b) {
    if (a.empty() || b.empty() || a.start + a.extent() <= b.start || b.start + b.extent() <= a.start) return false;
    if (a.pitch != b.pitch || (a.height == 1 && b.height == 1)) return true;
    // Two column ranges of one matrix: a's begin at 0, b's at `shift`, both modulo the pitch.
    const auto pitch = static_cast<std::ptrdiff_t>(a.pitch);
    const std::ptrdiff_t shift = ((b.start - a.start) % pitch + pitch) % pitch;
    return shift < static_cast<std::ptrdiff_t>(a.width) || shift + static_cast<std::ptrdiff_t>(b.width) > pitch;
}

void check_host_accesses(const Operation& operation, const std::vector<Rows>& reads, const std::vector<Rows>& writes) {
    for (const HostAccess& access : host_accesses()) {
        if (access.queued < operation.order) continue;
        const Rows byte = Rows::of(access.address, 1);
        const auto touches = [&](const Rows& rows) { return overlap(rows, byte); };
        const bool written = std::any_of(writes.begin(), writes.end(), touches);
        if (!written && !(access.written && std::any_of(reads.begin(), reads.end(), touches))) continue;
        const std::string place = access.line != 0         ? text_of(Place{access.file.c_str(), access.line})
                                  : access.code != nullptr ? line_of_code(access.code)
                                                           : "";
        Violation race("race with the host: host code" + (place.empty() ? "" : " at " + place) +
                           (access.written ? " writes" : " reads") + " managed memory, " + describe(access.address) + ", which " +
                           title(operation) + (written ? " writes" : " reads") +
                           "; it was queued before and not waited for: call cudaDeviceSynchronize() between the two",
                       "host-access");
        race.place = {kept(access.file), access.line};
        race.other = operation.place;
        race.goes_on = is_foreign_program();
        throw race;
    }
}

void RaceHistory::add(const std::shared_ptr<Operation>& operation, const std::vector<Rows>& reads,
                      const std::vector<Rows>& writes) {
    Entry entry{operation, reads, writes};
    std::sort(entry.reads.begin(), entry.reads.end(), before);
    std::sort(entry.writes.begin(), entry.writes.end(), before);
    for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
        if (stream == operation->stream) continue;
        const std::uint64_t known = at(operation->clock, stream);
        const auto& earlier = streams_[stream];
        for (auto other = earlier.rbegin(); other != earlier.rend() && other->operation->number > known; ++other) {
            compare(*operation, entry.writes, true, *other->operation, other->writes, true);
            compare(*operation, entry.writes, true, *other->operation, other->reads, false);
            compare(*operation, entry.reads, false, *other->operation, other->writes, true);
        }
    }
    if (streams_.size() <= operation->stream) streams_.resize(operation->stream + 1);
    streams_[operation->stream].push_back(std::move(entry));
}

void RaceHistory::forget(const Clock& before_all) {
    for (std::size_t stream = 0; stream < streams_.size(); ++stream)
        while (!streams_[stream].empty() && streams_[stream].front().operation->number <= at(before_all, stream))
            streams_[stream].pop_front();
}

}  // namespace heddle::emulator
