#include "kernels/emulator/run/scheduler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <stdexcept>

#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/run/traffic_hooks.h"
#include "kernels/emulator/run/verdict.h"

__thread uint3 threadIdx, blockIdx;
__thread dim3 blockDim, gridDim;

namespace heddle::emulator {

thread_local constinit Scheduler* scheduler = nullptr;

void Scheduler::attach() {
    become(own_);
    scheduler = this;
    catch_faults();
}

bool in_a_kernel() { return scheduler != nullptr && scheduler->current != nullptr; }

Scheduler& in_kernel(const char* what) {
    if (scheduler == nullptr || scheduler->current == nullptr)
        throw std::logic_error(std::string(what) + " is for kernels, and was called by host code");
    return *scheduler;
}

// ---- switching ----

// Every fiber runs threads one after another. A thread that never waits needs no switch: the next fresh thread starts on the same
// fiber. (Not under ThreadSanitizer, which considers everything on one fiber ordered.)
void Scheduler::fiber_main() {
    entered();
    Scheduler& self = *scheduler;
    for (;;) {
        Thread* const thread = self.current;
        Fiber* const fiber = thread->fiber;
        self.start(thread);
        thread->fiber = nullptr;
        Thread* const next = self.draw();
        if (next != nullptr && next->fiber == nullptr && !fibers_are_threads()) {
            next->fiber = fiber;
            next->state = State::ready;
            self.now_runs(next);
            continue;
        }
        if (!fibers_are_threads()) self.idle_.push_back(fiber);
        self.enter(*fiber, next);
    }
}

void Scheduler::start(Thread* thread) {
    thread->frame = __builtin_frame_address(0);
    race_acquire(&begin_order_);
    try {
        launch->request->thread();
    } catch (const std::exception& error) {
        abandon(mistake("fault", {}, std::string("an exception leaves the kernel: ") + error.what()), thread->block, thread);
    } catch (...) {
        abandon(mistake("fault", {}, "an exception leaves the kernel"), thread->block, thread);
    }
    finish(thread);
    race_release(&end_order_);
}

void Scheduler::now_runs(Thread* thread) {
    checker::settle();
    current = thread;
    if (thread == nullptr) {
        checker::runs({});
        return;
    }
    threadIdx = thread->index;
    blockIdx = thread->block->index;
    checker::runs({thread->block->checked, thread->number, thread->fiber->stack, thread->fiber->stack_bytes});
}

// Switches to the thread, or to the CPU thread itself if it is null.
void Scheduler::enter(Fiber& from, Thread* thread) {
    if (thread == nullptr) {
        now_runs(nullptr);
        switch_fiber(from, own_);
        return;
    }
    if (thread->fiber == nullptr) {
        thread->fiber = idle_fiber();
        thread->state = State::ready;
    }
    now_runs(thread);
    switch_fiber(from, *thread->fiber);
}

Fiber* Scheduler::idle_fiber() {
    if (idle_.empty()) return new_fiber();
    Fiber* const fiber = idle_.back();
    idle_.pop_back();
    return fiber;
}

Fiber* Scheduler::new_fiber() {
    fibers_.push_back(std::make_unique<Fiber>());
    if (!prepare(*fibers_.back(), &fiber_main)) {
        fibers_.pop_back();
        abandon(mistake("fault", {},
                        "more than " + std::to_string(kMostFibers) + " threads wait at once: the emulator has no more stacks"),
                &blocks[0], nullptr);
    }
    return fibers_.back().get();
}

Thread* Scheduler::draw() {
    if (ready_.empty()) {
        look_at_conditions();
        if (ready_.empty()) {
            if (unfinished_ == 0) return nullptr;
            // Perhaps the barrier that a thread waits at lies in global memory, and a block that has not begun comes to it.
            if (!waits_outside_of_its_block() || !admit()) deadlock();
        }
    }
    const std::size_t place = random.below(ready_.size());
    Thread* const thread = ready_[place].thread;
    ready_[place] = ready_.back();
    ready_.pop_back();
    // Most of a switch's time is cache misses on the other thread. Prefetch the one that is drawn next unless others become ready
    // first.
    if (!ready_.empty()) {
        Random after = random;
        const Ready& next = ready_[after.below(ready_.size())];
        if (next.fiber != nullptr) {
            prefetch_lines(next.thread, 1);
            prefetch_lines(next.fiber, 1);
            prefetch_lines(next.stack, 6);
        }
    }
    return thread;
}

void Scheduler::wait(const char* what, Place place) {
    Thread* const thread = current;
    thread->state = State::waiting;
    thread->waits_in = what;
    thread->place = place;
    spins = 0;
    race_release(&end_order_);  // in case the launch is abandoned before this thread continues
    lane_waits(*thread->warp);
    if (is_time_over()) out_of_time(nullptr, place);
    Thread* const next = draw();
    if (next != thread) enter(*thread->fiber, next);
}

void Scheduler::wait_until(bool (*condition)(void*), void* argument, const std::byte* awaited, const char* what, Place place) {
    if (condition(argument)) return;
    current->awaited = awaited;
    current->condition = condition;
    current->argument = argument;
    conditional_.push_back(current);
    wait(what, place);
}

void Scheduler::look_at_conditions() {
    for (std::size_t i = 0; i < conditional_.size();) {
        Thread* const thread = conditional_[i];
        if (thread->condition(thread->argument)) {
            conditional_[i] = conditional_.back();
            conditional_.pop_back();
            make_ready(thread);
        } else {
            ++i;
        }
    }
}

bool Scheduler::waits_outside_of_its_block() const {
    return std::any_of(conditional_.begin(), conditional_.end(), [](const Thread* thread) {
        return std::less()(thread->awaited, thread->block->arena) ||
               !std::less()(thread->awaited, thread->block->arena + thread->block->arena_bytes);
    });
}

void Scheduler::step_aside() {
    lane_spins(*current->warp);
    if (ready_.empty()) return;
    Thread* const thread = current;
    race_release(&end_order_);
    make_ready(thread);
    Thread* const next = draw();
    if (next != thread) enter(*thread->fiber, next);
}

void Scheduler::spin(const void* code, Place place) {
    // Elsewhere than in a program of the front end, other CPU threads may run the block that this one waits for.
    const bool several = blocks.size() > 1;
    const std::uint64_t enough = launch->request->is_foreign
                                     ? std::max<std::uint64_t>(200'000, (several ? 40 : 400) * (ready_.size() + 1))
                                     : 1'000'000'000;
    // Perhaps it waits for a block that has not begun. A chip runs as many at once as it has room for.
    if (++spins % std::max<std::uint64_t>(4096, (several ? 4 : 16) * (ready_.size() + 1)) == 0 && launch->request->is_foreign) {
        bool admitted = false;
        for (std::size_t more = blocks.size(); more > 0 && admit(); --more) admitted = true;
        if (admitted) spins = 0;
    }
    if (spins > enough) {
        ViolationRecord about = mistake("no-progress", place, "");
        std::string where = text_of(place);
        if (code != nullptr) {
            const checker::Unwatched own_code;
            SourceLine line = source_line_of(code);
            where = line.text;
            about.file = line.file;
            about.line = line.line;
        }
        about.text = "no progress: spins at " + where + ", and no other thread of ";
        about.text += !several ? "its block" : "the " + std::to_string(blocks.size()) + " blocks that run at once";
        about.text += " does anything else but wait or spin";
        if (launch->next < launch->groups)
            about.text +=
                "; others have not begun, because the chip has no room for them, and a grid's blocks begin in no promised order";
        violate(std::move(about));
    }
    if (is_time_over()) out_of_time(code, place);
    lane_spins(*current->warp);
    // Other threads must run between two of these, or a thread that spins on another's write would spin forever.
    if ((several && spins > 64) || (random.next() & 7u) == 0) step_aside();
}

// ---- from the first thread of a block to its last ----

void Scheduler::finish(Thread* thread) {
    Block& block = *thread->block;
    if (!thread->copies.empty()) {
        const PendingCopy& copy = thread->copies.front();
        record_and_go_on(mistake("race", copy.place,
                                 "leaves the kernel without having waited for its asynchronous copy of " + text_of(copy.place)));
        thread->copies.clear();
    }
    thread->state = State::exited;
    --unfinished_;
    ++block.exited;
    thread->warp->exited |= 1u << thread->lane();
    lane_waits(*thread->warp);
    spins = 0;
    ++progress;
    if (launch->request->is_foreign) return stop_waiting_for(*thread);
    if (!block.barrier.waiting.empty()) {
        const Thread& other = *block.barrier.waiting.front();
        violate(mistake("barrier", other.place, "leaves the kernel, while " + name_of(other) + " " + whereabouts(other)));
    }
    for (int i = 0; i < thread->warp->meetings; ++i) {
        const Meeting& meeting = thread->warp->meeting[i];
        if ((meeting.mask >> thread->lane() & 1u) == 0) continue;
        const Thread& other = thread->warp->threads[__builtin_ctz(meeting.arrived)];
        violate(mistake(
            "collective", other.place,
            "leaves the kernel, while " + name_of(other) + " " + whereabouts(other) + " with this thread's lane in its mask"));
    }
}

void Scheduler::begin_block(Block& block, std::uint64_t number) {
    const dim3& grid = launch->request->grid;
    const dim3& size = launch->request->block;
    block.number = number;
    block.index = {static_cast<unsigned>(number % grid.x), static_cast<unsigned>(number / grid.x % grid.y),
                   static_cast<unsigned>(number / grid.x / grid.y)};
    block.exited = 0;
    block.pieces.clear();
    block.statics.clear();
    block.barrier.waiting.clear();
    if (block.named_used) {
        for (Barrier& barrier : block.named) barrier.waiting.clear();
        for (Barrier& barrier : block.partial) barrier.waiting.clear();
        block.named_used = false;
    }
    int x = 0, y = 0, z = 0;
    for (int i = 0; i < block.threads; ++i) {
        Thread& thread = block.first[i];
        thread.block = &block;
        thread.warp = block.warps + i / 32;
        thread.fiber = nullptr;
        thread.index = {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
        thread.number = static_cast<std::uint16_t>(i);
        thread.state = State::fresh;
        thread.copies.clear();
        thread.groups = 0;
        thread.closes_meeting = false;
        ready_.push_back({&thread, nullptr, nullptr});
        if (++x == static_cast<int>(size.x)) {
            x = 0;
            if (++y == static_cast<int>(size.y)) y = 0, ++z;
        }
    }
    for (int i = 0; i < block.threads; i += 32) {
        Warp& warp = block.warps[i / 32];
        warp.threads = block.first + i;
        warp.exists = block.threads - i >= 32 ? ~0u : (1u << (block.threads - i)) - 1;
        warp.exited = 0;
        warp.meetings = 0;
        warp.asking = 0;
    }
    block.checked = checker::block_begins(number, block.threads, {block.arena, block.arena_bytes});
}

// A further block of the launch beside those that wait. False if none is left, or the chip has no room.
bool Scheduler::admit() {
    const checker::Unwatched own_code;
    if (launch->blocks_per_group != 1 || launch->request->cooperative) return false;
    const auto ended =
        std::find_if(blocks.begin(), blocks.end(), [](const Block& block) { return block.exited == block.threads; });
    if (ended == blocks.end() && blocks.size() >= most_resident_) return false;
    if (launch->next >= launch->groups) return false;
    const std::uint64_t i = launch->next++;
    if (i >= launch->groups) return false;
    const std::uint64_t number = (launch->first + i * launch->stride) % launch->groups;
    const std::size_t slot = static_cast<std::size_t>(ended - blocks.begin());
    if (ended != blocks.end()) {
        end_block(*ended);
        if (is_cost_counted()) end_costs_of_block(*ended);
    } else {
        blocks.emplace_back();  // within what work() has reserved: others point to their blocks and threads
        give_memory(blocks.back(), slot);
    }
    begin_block(blocks[slot], launch->chosen != nullptr ? (*launch->chosen)[number] : number);
    unfinished_ += blocks[slot].threads;
    return true;
}

void Scheduler::end_block(Block& block) {
    if (const std::string text = damage(block); !text.empty()) abandon(mistake("out-of-bounds", {}, text), &block, nullptr);
    if constexpr (checker::kEnabled) checker::block_ends(block.number);
    if (counts_traffic()) end_traffic_of_block(launch->number, block.number);
}

void Scheduler::run_group(std::uint64_t group) {
    const auto members = static_cast<std::uint64_t>(launch->blocks_per_group);
    blocks.resize(members);
    ready_.clear();
    conditional_.clear();
    group_barrier.waiting.clear();
    unfinished_ = 0;
    spins = 0;
    for (std::uint64_t i = 0; i < members; ++i) {
        const std::uint64_t number = group * members + i;
        begin_block(blocks[i], launch->chosen != nullptr ? (*launch->chosen)[number] : number);
        unfinished_ += blocks[i].threads;
    }
    random = Random(Random(seed() ^ launch->number * 0x9E3779B97F4A7C15u).next() ^ blocks[0].number * 0xD1B54A32D192ED03u);
    race_release(&begin_order_);
    enter(own_, draw());
    race_acquire(&end_order_);
    if (!dropped_)
        for (Block& block : blocks) end_block(block);
    if (is_cost_counted())
        for (const Block& block : blocks) end_costs_of_block(block);
}

void Scheduler::work(Launch& its_launch) {
    launch = &its_launch;
    const LaunchRequest& request = *launch->request;
    const auto members = static_cast<std::size_t>(launch->blocks_per_group);
    const auto threads = static_cast<std::size_t>(request.block.x) * request.block.y * request.block.z;
    const std::size_t warps = (threads + 31) / 32;
    // Resident blocks must not move when another one is admitted.
    most_resident_ = members;
    if (request.is_foreign && !request.cooperative && members == 1 && launch->groups > 1)
        most_resident_ =
            std::max<std::size_t>(1, static_cast<std::size_t>(multiprocessor_count()) * resident_blocks(threads, request.shared));
    most_resident_ = static_cast<std::size_t>(std::min<std::uint64_t>(most_resident_, members * launch->groups));
    blocks.reserve(most_resident_);
    threads_.reserve(most_resident_ * threads);
    warps_.reserve(most_resident_ * warps);
    blocks.resize(members);
    for (std::size_t i = 0; i < members; ++i) give_memory(blocks[i], i);
    // Reserve everything before threads run: ThreadSanitizer would report reused memory as a race between the thread that frees
    // it and the one that allocates it.
    ready_.reserve(members * threads);
    group_barrier.waiting.reserve(members * threads);
    for (Block& block : blocks) {
        block.barrier.waiting.reserve(threads);
        block.pieces.reserve(kMostPieces);
        block.statics.reserve(kMostStaticPieces);
        if (fibers_are_threads())
            for (Barrier& barrier : block.named) barrier.waiting.reserve(threads);
    }
    while (fibers_are_threads() && fibers_.size() < members * threads) idle_.push_back(new_fiber());
    blockDim = request.block;
    gridDim = request.grid;
    dropped_ = false;
    for (std::uint64_t i = launch->next++; i < launch->groups && !launch->failed; i = launch->next++) {
        try {
            run_group((launch->first + i * launch->stride) % launch->groups);
        } catch (const Violation&) {  // found between fibers and already recorded
        }
        if (dropped_ || fibers_are_threads()) {
            idle_.clear();
            for (const auto& fiber : fibers_) {
                prepare(*fiber, &fiber_main);
                idle_.push_back(fiber.get());
            }
            dropped_ = false;
        }
    }
    current = nullptr;
    threadIdx = blockIdx = {};
    blockDim = gridDim = {};
}

}  // namespace heddle::emulator
