// Barriers of blocks, clusters and grids, named barriers, and fences.
#include <cstring>

#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/trace_hooks.h"
#include "kernels/emulator/run/traffic_hooks.h"
#include "kernels/emulator/run/verdict.h"

namespace heddle::emulator {

bool same_place(const Place& a, const Place& b) {
    return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

namespace {

void tell_checker(const Barrier& barrier) {
    if constexpr (checker::kEnabled) {
        static std::vector<checker::ThreadId> ids;  // a checked launch runs on one CPU thread
        ids.clear();
        const Block& block = *barrier.waiting.front()->block;
        if (&barrier == &block.barrier) return checker::joined(*block.checked);  // those that have left count as arrived
        for (const Thread* thread : barrier.waiting) ids.push_back({thread->block->number, thread->number});
        checker::joined(ids);
    }
}

// Everybody has come: `last` runs already, all others become ready.
void complete(Barrier& barrier, const Thread* last, const char* what, Place place) {
    Scheduler& self = *scheduler;
    tell_checker(barrier);
    if (traces()) trace_barrier(barrier.waiting.data(), barrier.waiting.size(), what, place);
    if (counts_traffic()) note_barrier(barrier.waiting.data(), barrier.waiting.size());
    if (is_cost_counted()) note_cost_of_barrier(barrier.waiting.data(), barrier.waiting.size());
    for (Thread* const thread : barrier.waiting)
        if (thread != last) self.make_ready(thread);
    barrier.waiting.clear();
    barrier.result = barrier.predicates;
    ++barrier.generation;
    self.spins = 0;
    ++self.progress;
}

// From sm_70 on a barrier of the block does not wait for threads that have left.
void note_exited(const Thread& gone, const char* what, Place place) {
    Launch& launch = *scheduler->launch;
    if (launch.notes_exited) return;
    launch.notes_exited = true;
    ViolationRecord note =
        mistake("portability", place,
                name_of(gone) + " has left the kernel, while others of its block come to " + what + " at " + text_of(place) +
                    ": from sm_70 on it does not wait for that thread, on earlier chips it hangs");
    note.note = true;
    record_and_go_on(std::move(note));
}

// A barrier that all threads must reach at the same source location.
int meet_all(Barrier& barrier, int expected, int predicate, const char* what, Place place) {
    Scheduler& self = *scheduler;
    if (!barrier.waiting.empty() && !same_place(barrier.place, place)) {
        const Thread& other = *barrier.waiting.front();
        ViolationRecord about =
            mistake("barrier", place,
                    std::string("comes to ") + what + " at " + text_of(place) + ", while " + name_of(other, self.current) + " " +
                        whereabouts(other) + ": not every thread comes to the same barrier");
        about.verb = std::string("comes to ") + what;
        about.other_thread = name_of(other, self.current);
        about.other_verb = std::string("waits in ") + other.waits_in;
        about.other_file = other.place.file;
        about.other_line = other.place.line;
        about.between = "not every thread comes to the same barrier";
        record_and_go_on(std::move(about));  // barriers of a block are one barrier to a chip from sm_70 on
    }
    for (const Block& block : self.blocks) {
        if (block.exited == 0 || (expected == block.threads && &block != self.current->block)) continue;
        int gone = 0;
        while (block.first[gone].state != State::exited) ++gone;
        if (self.launch->request->is_foreign && &barrier == &block.barrier) {
            note_exited(block.first[gone], what, place);
            expected -= block.exited;
            break;
        }
        violate(mistake("barrier", place,
                        std::string("comes to ") + what + " at " + text_of(place) + ", but " +
                            name_of(block.first[gone], self.current) + " has left the kernel and never will"));
    }
    return meet(barrier, expected, predicate, what, place);
}

}  // namespace

int meet(Barrier& barrier, int expected, int predicate, const char* what, Place place) {
    Scheduler& self = *scheduler;
    char* const order = &barrier.order[barrier.generation & 1u];
    race_release(order);
    if (barrier.waiting.empty()) {
        barrier.place = place;
        barrier.predicates = 0;
    }
    barrier.predicates += predicate != 0;
    barrier.waiting.push_back(self.current);
    if (static_cast<int>(barrier.waiting.size()) < expected) {
        self.wait(what, place);
    } else {
        complete(barrier, self.current, what, place);
    }
    race_acquire(order);
    return barrier.result;
}

void stop_waiting_for(Thread& thread) {
    Block& block = *thread.block;
    if (Barrier& barrier = block.barrier; !barrier.waiting.empty()) {
        const Thread& other = *barrier.waiting.front();
        note_exited(thread, other.waits_in, other.place);
        if (static_cast<int>(barrier.waiting.size()) == block.threads - block.exited)
            complete(barrier, nullptr, other.waits_in, other.place);
    }
    Warp& warp = *thread.warp;
    for (int i = 0; i < warp.meetings; ++i) {
        const Meeting& meeting = warp.meeting[i];
        if ((meeting.mask >> thread.lane() & 1u) == 0 || meeting.arrived != awaited(warp, meeting.mask)) continue;
        Thread& closer = warp.threads[__builtin_ctz(meeting.arrived)];
        if (closer.closes_meeting) continue;
        closer.closes_meeting = true;
        scheduler->make_ready(&closer);
    }
}

void block_barrier(Place place) {
    Thread& thread = *in_kernel("__syncthreads").current;
    Barrier& barrier = thread.block->barrier;
    if (skipped(place, "__syncthreads")) return;
    meet_all(barrier, thread.block->threads, 0, "__syncthreads", place);
}

int block_barrier_count(int predicate, Place place) {
    Thread& thread = *in_kernel("__syncthreads_count").current;
    return meet_all(thread.block->barrier, thread.block->threads, predicate, "__syncthreads_count", place);
}

void named_barrier(int id, int threads, Place place) {
    Thread& thread = *in_kernel("named_barrier").current;
    Block& block = *thread.block;
    const std::string what = "named_barrier(" + std::to_string(id) + ", " + std::to_string(threads) + ")";
    const auto refuse = [&](const std::string& why) {
        violate(mistake("barrier", place, what + " at " + text_of(place) + ": " + why));
    };
    if (id < 1 || id > 15) refuse("the id must lie in 1 to 15 (0 is __syncthreads)");
    if (threads < 32 || threads % 32 != 0 || threads > block.threads)
        refuse("the number of threads must be a multiple of 32 up to the block's " + std::to_string(block.threads));
    if (skipped(place, "named_barrier")) return;
    block.named_used = true;
    Barrier& barrier = block.named[id];
    if (!barrier.waiting.empty() && barrier.count != threads) {
        const Thread& other = *barrier.waiting.front();
        refuse(name_of(other) + " waits at " + text_of(other.place) + " for " + std::to_string(barrier.count) + " threads");
    }
    barrier.count = threads;
    if (static_cast<int>(barrier.waiting.size()) == threads - 1) {  // complete: warps arrive as a whole
        unsigned lanes[32] = {};
        lanes[thread.number / 32] |= 1u << thread.lane();
        for (const Thread* other : barrier.waiting) lanes[other->number / 32] |= 1u << other->lane();
        for (int warp = 0; warp < 32; ++warp)
            if (lanes[warp] != 0 && lanes[warp] != block.warps[warp].exists)
                refuse("only a part of warp " + std::to_string(warp) + " came to it, but warps count as a whole");
    }
    static const char* const names[16] = {"",
                                          "named_barrier(1)",
                                          "named_barrier(2)",
                                          "named_barrier(3)",
                                          "named_barrier(4)",
                                          "named_barrier(5)",
                                          "named_barrier(6)",
                                          "named_barrier(7)",
                                          "named_barrier(8)",
                                          "named_barrier(9)",
                                          "named_barrier(10)",
                                          "named_barrier(11)",
                                          "named_barrier(12)",
                                          "named_barrier(13)",
                                          "named_barrier(14)",
                                          "named_barrier(15)"};
    meet(barrier, threads, 0, names[id], place);
}

void cluster_barrier(Place place) {
    Scheduler& self = in_kernel("cluster_barrier");
    Block& block = *self.current->block;
    const int members = self.launch->request->cluster;
    if (self.launch->request->cooperative && members > 1)
        violate(mistake("barrier", place, "cluster_barrier in a cooperative launch is not modelled"));
    if (skipped(place, "cluster_barrier")) return;
    if (members <= 1)
        meet_all(block.barrier, block.threads, 0, "cluster_barrier", place);
    else
        meet_all(self.group_barrier, block.threads * members, 0, "cluster_barrier", place);
}

void grid_barrier(Place place) {
    Scheduler& self = in_kernel("grid_barrier");
    if (!self.launch->request->cooperative)
        violate(mistake("barrier", place,
                        "grid_barrier at " + text_of(place) +
                            " in a launch that is not cooperative: its blocks need not be resident at once"));
    if (skipped(place, "grid_barrier")) return;
    meet_all(self.group_barrier, self.current->block->threads * static_cast<int>(self.blocks.size()), 0, "grid_barrier", place);
}

void fence(int scope, Place place) {
    in_kernel("__threadfence");
    if (skipped(place, scope == 0 ? "__threadfence_block" : "__threadfence")) return;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    // For ThreadSanitizer every fence is ordered after all earlier ones. That is stronger than CUDA's rule, which the checker
    // implements.
    static char all_fences;
    race_release(&all_fences);
    race_acquire(&all_fences);
    if constexpr (checker::kEnabled) checker::fence(scope);
}

}  // namespace heddle::emulator
