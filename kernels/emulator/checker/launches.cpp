// The beginnings and ends of launches and blocks, and barriers between them.
#include "kernels/emulator/run/checker_hooks.h"

#if defined(HEDDLE_EMULATOR_CHECK)

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/emulator/checker/state.h"
#include "kernels/emulator/run/traffic_hooks.h"
#include "kernels/emulator/run/verdict.h"

namespace heddle::emulator::checker {

namespace {

constexpr int kMostBlockBits = 27;

bool lies_in(const void* address, std::span<const std::byte> memory) {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(memory.data()) < memory.size();
}

/// All accesses so far are outdated.
void forget_all_accesses() {
    State& s = state();
    ++s.stamp;
    s.cells.clear();
    s.numbers.clear();
}

}  // namespace

void launch_begins(const LaunchRequest& request) {
    State& s = state();
    s.request = &request;
    forget_reported();
    s.copy_step = State::CopyStep::none;  // a violation may have ended the last launch in one
    s.is_foreign = request.is_foreign;
    s.is_quiet = s.same_value_is_told = s.mix_is_told = false;
    s.counts_costs = is_cost_counted();
    ++s.launch;
    if (s.is_annotated) forget_all_observed();
    s.same_values.clear();
    s.numbers.clear();
    s.releases.clear();
    s.origins.assign(1, {});  // number 0: none
    s.origin_numbers.clear();
    s.known_origins = {};
    for (const std::size_t page : s.touched) s.device->page(page)->forget_accesses();
    s.touched.clear();
    // A bit more than the blocks need: the numbering begins anew when all are used.
    const std::uint64_t blocks = std::uint64_t{request.grid.x} * request.grid.y * request.grid.z;
    clock_bits = kTimeBits - std::min(kMostBlockBits, static_cast<int>(std::bit_width(blocks)) + 1);
    forget_all_accesses();
    forget_crowds();
}

std::optional<ViolationRecord> held_back() {
    settle();
    return std::exchange(state().held, std::nullopt);
}

void launch_ends() {
    settle();
    State& s = state();
    s.held.reset();
    for (const auto& block : s.blocks) drop_copies(block->ordinal);
    for (const auto& arena : s.arenas) arena->block = nullptr;
    for (auto& block : s.blocks) s.spare_blocks.push_back(std::move(block));
    s.blocks.clear();
    s.by_number.clear();
    s.request = nullptr;
    s.places.clear();
}

Block* block_begins(std::uint64_t number, int threads, std::span<std::byte> memory) {
    State& s = state();
    // Blocks that begin after so many others are not compared with them.
    if (s.blocks.empty() && s.numbers.size() >> (kTimeBits - clock_bits - 1) != 0) forget_all_accesses();
    if (s.spare_blocks.empty()) s.spare_blocks.push_back(std::make_unique<Block>());
    s.blocks.push_back(std::move(s.spare_blocks.back()));
    s.spare_blocks.pop_back();
    Block* const block = s.blocks.back().get();
    s.numbers.push_back(number);
    block->begin(number, static_cast<std::uint32_t>(s.numbers.size()), static_cast<std::size_t>(threads));
    s.by_number[number] = block;
    if (memory.empty()) return block;
    // Locations in shared memory start fresh with each block.
    std::erase_if(s.releases, [&](const auto& location) { return lies_in(location.first, memory); });
    std::erase_if(s.arenas, [&](const auto& arena) {
        const Space& shadow = *arena->shadow;
        const bool same = shadow.start() == memory.data() && shadow.bytes() == memory.size();
        return !same && (shadow.holds(memory.data()) || lies_in(shadow.start(), memory));
    });
    auto arena =
        std::find_if(s.arenas.begin(), s.arenas.end(), [&](const auto& a) { return a->shadow->start() == memory.data(); });
    if (arena == s.arenas.end()) {
        s.arenas.push_back(std::make_unique<Arena>());
        arena = s.arenas.end() - 1;
        (*arena)->shadow = std::make_unique<Space>(memory);
    }
    Space& shadow = *(*arena)->shadow;
    shadow.set(&Page::allocated, 0, shadow.bytes(), false, true);
    shadow.set(&Page::written, 0, shadow.bytes(), false, true);
    // Accesses of an ended block to the same memory do not count. In a cluster or a cooperative grid the blocks that began with
    // this one may reach its memory.
    const bool is_of_a_group = s.request->cluster > 1 || s.request->cooperative;
    shadow.since = time_of(is_of_a_group ? s.blocks.front()->ordinal : block->ordinal, 0);
    (*arena)->block = block;
    (*arena)->pieces.clear();
    block->arena = arena->get();
    return block;
}

void block_ends(std::uint64_t number) {
    State& s = state();
    const auto block = std::find_if(s.blocks.begin(), s.blocks.end(), [&](const auto& b) { return b->number == number; });
    if (block == s.blocks.end()) return;
    drop_copies((*block)->ordinal);
    if ((*block)->arena != nullptr) (*block)->arena->block = nullptr;
    s.by_number.erase(number);
    s.spare_blocks.push_back(std::move(*block));
    s.blocks.erase(block);
}

void joined(std::span<const ThreadId> threads) {
    if (state().keeps_accesses) forget_observed(threads);
    static std::vector<Member> members;
    members.clear();
    Block* block = nullptr;
    for (const ThreadId& id : threads) {
        if (!block || block->number != id.block) {
            const auto found = state().by_number.find(id.block);
            if (found == state().by_number.end()) return;
            block = found->second;
        }
        members.push_back({block, id.thread});
    }
    join(members);
}

void joined(Block& block) {
    if (state().keeps_accesses) forget_observed_block(block.number);
    join_block(block);
}

}  // namespace heddle::emulator::checker

#endif
