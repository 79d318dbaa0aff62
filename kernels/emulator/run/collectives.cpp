// Warp collectives: __syncwarp, shuffles, votes. The last lane to arrive computes every lane's result.
#include <cstdio>
#include <cstring>
#include <utility>

#include "kernels/emulator/device_calls.h"
#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/trace_hooks.h"
#include "kernels/emulator/run/traffic_hooks.h"
#include "kernels/emulator/run/verdict.h"

namespace heddle::emulator {

namespace {

std::string list_of(unsigned lanes) {
    std::string text;
    for (int lane = 0; lane < 32; ++lane)
        if ((lanes >> lane & 1u) != 0) text += (text.empty() ? "" : ", ") + std::to_string(lane);
    return text;
}

std::string hexadecimal(unsigned mask) {
    char text[16];
    snprintf(text, sizeof text, "0x%08x", mask);
    return text;
}

// The mask has lanes that cannot arrive, or lacks the calling lane.
[[gnu::cold]] void bad_mask(const Warp& warp, const Thread& thread, const char* what, unsigned mask, Place place) {
    const std::string call = std::string(what) + " at " + text_of(place) + " with mask " + hexadecimal(mask);
    const auto refuse = [&](const std::string& why) { violate(mistake("collective", place, call + ": " + why)); };
    if ((mask >> thread.lane() & 1u) == 0) refuse("the calling lane " + std::to_string(thread.lane()) + " is not in it");
    if (const unsigned missing = mask & ~warp.exists; missing != 0)
        refuse("lanes " + list_of(missing) + " do not exist, for the block's last warp is not whole");
    refuse("lanes " + list_of(mask & warp.exited) + " have left the kernel");
}

bool is_foreign() { return scheduler->launch->request->is_foreign; }

// A shuffle reads a lane that does not take part. CUDA leaves the value open, and a program may never use it.
[[gnu::cold]] void note_no_lane(const std::string& call, int source, const std::string& why, Place place) {
    Launch& launch = *scheduler->launch;
    if (std::exchange(launch.notes_no_lane, true)) return;
    ViolationRecord note =
        mistake("portability", place,
                call + ": reads lane " + std::to_string(source) + ", which " + why + ": CUDA leaves the value open");
    note.note = true;
    record_and_go_on(std::move(note));
}

}  // namespace

Meeting* join(Warp& warp, Thread& thread, const char* what, unsigned mask, Place place) {
    const unsigned own = 1u << thread.lane();
    const bool foreign = is_foreign();
    if ((mask & own) == 0 || (!foreign && (mask & (warp.exited | ~warp.exists)) != 0)) bad_mask(warp, thread, what, mask, place);
    Meeting* joined = nullptr;
    for (int i = 0; i < warp.meetings; ++i) {
        Meeting& meeting = warp.meeting[i];
        if ((meeting.mask & own) == 0 || (meeting.arrived & mask) == 0) continue;  // these lanes do not wait for each other
        // PTX asks for the same instruction with the same mask, not for the same place.
        if (meeting.mask == mask && meeting.what == what && (foreign || same_place(meeting.place, place))) {
            joined = &meeting;
            continue;
        }
        const Thread& other = warp.threads[__builtin_ctz(meeting.arrived & mask)];
        ViolationRecord about =
            mistake("collective", place,
                    std::string("comes to ") + what + " at " + text_of(place) + " with mask " + hexadecimal(mask) + ", while " +
                        name_of(other) + " " + whereabouts(other) + " with mask " + hexadecimal(meeting.mask) +
                        ": the lanes of a mask must come to the same call with the same mask");
        about.verb = std::string("comes to ") + what;
        about.other_thread = name_of(other);
        about.other_verb = std::string("waits in ") + other.waits_in;
        about.other_file = other.place.file;
        about.other_line = other.place.line;
        violate(std::move(about));
    }
    if (joined != nullptr) {
        joined->arrived |= own;
        return joined;
    }
    Meeting& meeting = warp.meeting[warp.meetings++];
    meeting = {what, mask, own, place};
    return &meeting;
}

namespace {
// The warp has its lanes' values and results.
bool moves_values(const char* what) {
    for (const char* name : {"__shfl_", "__ballot_", "__match_", "__reduce_", "a group's "})
        if (std::strncmp(what, name, std::strlen(name)) == 0) return true;
    return false;
}
}  // namespace

void close(Warp& warp, Meeting* meeting, const Thread& last) {
    if (traces())
        trace_collective(meeting->arrived, meeting->what, meeting->place, moves_values(meeting->what) ? &warp : nullptr);
    if (counts_traffic()) note_collective(meeting->arrived);
    if (is_cost_counted()) note_cost_of_collective(meeting->arrived);
    for (unsigned rest = meeting->arrived & ~(1u << last.lane()); rest != 0; rest &= rest - 1)
        scheduler->make_ready(warp.threads + __builtin_ctz(rest));
    *meeting = warp.meeting[--warp.meetings];
    scheduler->spins = 0;
    ++scheduler->progress;
}

unsigned awaited(const Warp& warp, unsigned mask) { return is_foreign() ? mask & warp.exists & ~warp.exited : mask; }

Meeting* meeting_of(Warp& warp, int lane) {
    int i = 0;
    while ((warp.meeting[i].arrived >> lane & 1u) == 0) ++i;
    return &warp.meeting[i];
}

void warp_barrier(unsigned mask, Place place) {
    if (skipped(place, "__syncwarp")) return;
    Thread& thread = *in_kernel("__syncwarp").current;
    Warp& warp = *thread.warp;
    const int first = mask == 0 ? 0 : __builtin_ctz(mask);
    char* const order = &warp.order[first][warp.generation[first] & 1u];
    race_release(order);
    together("__syncwarp", mask, place, [&](Warp& all) {
        ++warp.generation[first];
        if constexpr (checker::kEnabled) {
            checker::ThreadId ids[32];
            std::size_t count = 0;
            for (unsigned rest = all.present; rest != 0; rest &= rest - 1)
                ids[count++] = {thread.block->number, warp.threads[__builtin_ctz(rest)].number};
            checker::joined({ids, count});
        }
    });
    race_acquire(order);
}

std::uint64_t shuffle(Shuffle kind, unsigned mask, std::uint64_t bits, int lane, int width, Place place) {
    static const char* const names[] = {"__shfl_sync", "__shfl_xor_sync", "__shfl_down_sync", "__shfl_up_sync"};
    Thread& thread = *in_kernel(names[static_cast<int>(kind)]).current;
    Warp& warp = *thread.warp;
    const int own = thread.lane();
    const char* const what = names[static_cast<int>(kind)];
    if (width < 1 || width > 32 || (width & (width - 1)) != 0)
        violate(mistake("collective", place,
                        std::string(what) + " at " + text_of(place) + ": the width is " + std::to_string(width) +
                            ", wanted a power of two up to 32"));
    // PTX ISA, shfl.sync: only the last five bits of `lane` are used; a lane that would read outside its group gets its own
    // value.
    const int base = own & ~(width - 1), number = lane & 31;
    int source = own;
    switch (kind) {
        case Shuffle::index: source = base + (lane & (width - 1)); break;
        case Shuffle::exclusive_or: source = (own ^ number) < base + width ? own ^ number : own; break;
        case Shuffle::down: source = own + number < base + width ? own + number : own; break;
        case Shuffle::up: source = own - number >= base ? own - number : own; break;
    }
    if ((mask >> source & 1u) == 0 && (mask >> own & 1u) != 0) {
        const std::string call = std::string(what) + " at " + text_of(place) + " with mask " + hexadecimal(mask);
        if (!is_foreign())
            violate(mistake("collective", place, call + ": reads lane " + std::to_string(source) + ", which is not in it"));
        note_no_lane(call, source, "is not in it", place);
        source = own;
    }
    const int wanted = source;
    warp.value[own] = bits;
    warp.source[own] = static_cast<std::uint8_t>(source);
    together(what, mask, place, [](Warp& all) {
        for (unsigned rest = all.present; rest != 0; rest &= rest - 1) {
            const int l = __builtin_ctz(rest);
            const bool is_there = (all.present >> all.source[l] & 1u) != 0;
            all.result[l] = is_there ? all.value[all.source[l]] : ~std::uint64_t{0};  // a NaN, as all that nobody wrote
            if (!is_there) all.source[l] = kNoLane;
        }
    });
    if (warp.source[own] == kNoLane)
        note_no_lane(std::string(what) + " at " + text_of(place), wanted, "has left the kernel or never was", place);
    return warp.result[own];
}

unsigned ballot(unsigned mask, int predicate, Place place) {
    Thread& thread = *in_kernel("__ballot_sync").current;
    Warp& warp = *thread.warp;
    warp.value[thread.lane()] = predicate != 0;
    together("__ballot_sync", mask, place, [](Warp& all) {
        unsigned votes = 0;
        for (int l = 0; l < 32; ++l)
            if ((all.present >> l & 1u) != 0 && all.value[l] != 0) votes |= 1u << l;
        for (int l = 0; l < 32; ++l)
            if ((all.present >> l & 1u) != 0) all.result[l] = votes;
    });
    return static_cast<unsigned>(warp.result[thread.lane()]);
}

unsigned match(unsigned mask, std::uint64_t bits, bool all, Place place) {
    const char* const what = all ? "__match_all_sync" : "__match_any_sync";
    Thread& thread = *in_kernel(what).current;
    Warp& warp = *thread.warp;
    warp.value[thread.lane()] = bits;
    together(what, mask, place, [all](Warp& lanes) {
        for (unsigned rest = lanes.present; rest != 0; rest &= rest - 1) {
            const int l = __builtin_ctz(rest);
            unsigned same = 0;
            for (unsigned others = lanes.present; others != 0; others &= others - 1)
                if (lanes.value[__builtin_ctz(others)] == lanes.value[l]) same |= others & -others;
            lanes.result[l] = !all || same == lanes.present ? same : 0;
        }
    });
    return static_cast<unsigned>(warp.result[thread.lane()]);
}

std::uint32_t reduce(Reduction kind, bool is_signed, unsigned mask, std::uint32_t value, Place place) {
    static const char* const names[] = {"__reduce_add_sync", "__reduce_min_sync", "__reduce_max_sync",
                                        "__reduce_and_sync", "__reduce_or_sync",  "__reduce_xor_sync"};
    const char* const what = names[static_cast<int>(kind)];
    Thread& thread = *in_kernel(what).current;
    Warp& warp = *thread.warp;
    // A flipped top bit makes the order of signed numbers that of unsigned ones.
    const std::uint32_t flip = is_signed && (kind == Reduction::minimum || kind == Reduction::maximum) ? 0x80000000u : 0u;
    warp.value[thread.lane()] = value ^ flip;
    together(what, mask, place, [kind, flip](Warp& lanes) {
        auto result = static_cast<std::uint32_t>(lanes.value[__builtin_ctz(lanes.present)]);
        for (unsigned rest = lanes.present & (lanes.present - 1); rest != 0; rest &= rest - 1) {
            const auto next = static_cast<std::uint32_t>(lanes.value[__builtin_ctz(rest)]);
            switch (kind) {
                case Reduction::add: result += next; break;
                case Reduction::minimum: result = next < result ? next : result; break;
                case Reduction::maximum: result = result < next ? next : result; break;
                case Reduction::bit_and: result &= next; break;
                case Reduction::bit_or: result |= next; break;
                case Reduction::bit_xor: result ^= next; break;
            }
        }
        for (unsigned rest = lanes.present; rest != 0; rest &= rest - 1) {
            lanes.value[__builtin_ctz(rest)] ^= flip;  // a trace shows them as they are
            lanes.result[__builtin_ctz(rest)] = result ^ flip;
        }
    });
    return static_cast<std::uint32_t>(warp.result[thread.lane()]);
}

void exchange(Exchange kind, unsigned mask, const void* value, std::size_t bytes, int source, void* result, Place place) {
    static const char* const names[] = {"a group's shfl",     "a group's shfl_up", "a group's shfl_down",
                                        "a group's shfl_xor", "a group's reduce",  "a group's scan"};
    const char* const what = names[static_cast<int>(kind)];
    Thread& thread = *in_kernel(what).current;
    if (source < 0 || source > 31 || (mask >> source & 1u) == 0)
        violate(mistake("collective", place,
                        std::string(what) + " at " + text_of(place) + ": reads lane " + std::to_string(source) +
                            ", which is not in the group " + hexadecimal(mask)));
    struct Part {
        const void* value;
        void* result;
        int source;
    } own{value, result, source};
    thread.warp->part[thread.lane()] = &own;
    together(what, mask, place, [bytes](Warp& lanes) {
        const auto part = [&](int lane) { return static_cast<const Part*>(lanes.part[lane]); };
        for (unsigned rest = lanes.present; rest != 0; rest &= rest - 1) {
            const int lane = __builtin_ctz(rest);
            const Part& to = *part(lane);
            const bool is_there = (lanes.present >> to.source & 1u) != 0;
            lanes.value[lane] = lanes.result[lane] = 0;  // the first bytes, for a trace
            std::memcpy(&lanes.value[lane], to.value, bytes < 8 ? bytes : 8);
            if (is_there) std::memcpy(&lanes.result[lane], part(to.source)->value, bytes < 8 ? bytes : 8);
            lanes.source[lane] = is_there ? static_cast<std::uint8_t>(to.source) : kNoLane;
            if (is_there) std::memcpy(to.result, part(to.source)->value, bytes);
        }
    });
}

}  // namespace heddle::emulator
