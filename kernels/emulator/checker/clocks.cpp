// Vector clocks: joins at barriers, and what fences and atomics carry.
#include "kernels/emulator/checker/clocks.h"

#if defined(HEDDLE_EMULATOR_CHECK)

#include <algorithm>

#include "kernels/emulator/checker/shadow.h"

namespace heddle::emulator::checker {

namespace {
std::uint32_t last_crowd = 0;  // one launch at a time
}

void forget_crowds() { last_crowd = 0; }

std::uint32_t new_crowd() { return last_crowd < Settled::kMostCrowd ? ++last_crowd : 0; }

void Block::begin(std::uint64_t its_number, std::uint32_t its_ordinal, std::size_t count) {
    static std::uint64_t blocks = 0;
    id = ++blocks;
    number = its_number;
    ordinal = its_ordinal;
    epoch = 1;
    base.reset();
    has_own = false;
    is_uniform = false;  // before the first barrier no thread knows anything
    arena = nullptr;
    clocks.assign(count, 1);
    crowds.assign(count, new_crowd());
    overlays.clear();
    if (is_changed_) threads_.clear();
    is_changed_ = false;
    threads_.resize(count);
}

void Block::forget_own() {
    if (!has_own) return;
    has_own = false;
    for (Thread& thread : threads_)
        if (thread.fences != nullptr) thread.fences->own.reset();
}

namespace {

void raise(Clocks& clocks, const Clocks& by) {
    if (clocks.size() < by.size()) clocks.resize(by.size());
    for (std::size_t i = 0; i < by.size(); ++i) clocks[i] = std::max(clocks[i], by[i]);
}

/// Accumulates the joint knowledge of several threads.
struct Gathered {
    std::vector<Heard> foreign;  // unsorted, may contain duplicates
    void add(const std::shared_ptr<const Foreign>& more) {
        if (more) foreign.insert(foreign.end(), more->begin(), more->end());
    }
    /// Joins what was heard of all blocks except `own`, whose clocks are raised instead.
    std::shared_ptr<const Foreign> without(std::uint32_t own, Clocks& clocks) {
        if (foreign.empty()) return nullptr;
        std::stable_sort(foreign.begin(), foreign.end(), [](const Heard& a, const Heard& b) { return a.ordinal < b.ordinal; });
        auto result = std::make_shared<Foreign>();
        for (const Heard& heard : foreign) {
            if (heard.ordinal == own) {
                raise(clocks, *heard.clocks);
            } else if (result->empty() || result->back().ordinal != heard.ordinal) {
                result->push_back(heard);
            } else if (result->back().clocks != heard.clocks) {
                auto both = std::make_shared<Clocks>(*result->back().clocks);
                raise(*both, *heard.clocks);
                result->back().clocks = std::move(both);
            }
        }
        return result;
    }
};

/// The joint knowledge of members of one block about that block; what they know of other blocks goes to `gathered`.
Clocks together(const Block& block, std::span<const Member> members, Gathered& gathered) {
    Clocks clocks(block.size(), 0);
    std::vector<const Snapshot*> bases;
    for (const Member& member : members) {
        const Snapshot* base = base_of(block, member.thread);
        if (base && std::find(bases.begin(), bases.end(), base) == bases.end()) {
            bases.push_back(base);
            raise(clocks, base->clocks);
            gathered.add(base->foreign);
        }
        if (block.has_overlay(member.thread)) {
            const auto& overlay = block.overlays[member.thread];
            const std::size_t first = member.thread / 32 * 32, end = std::min(first + 32, clocks.size());
            for (std::size_t i = first; i < end; ++i) clocks[i] = std::max(clocks[i], overlay[i - first]);
        }
        clocks[member.thread] = std::max(clocks[member.thread], block.clocks[member.thread]);
    }
    return clocks;
}

/// The members of one block now know `snapshot`.
void teach(Block& block, std::span<const Member> members, std::shared_ptr<const Snapshot> snapshot) {
    if (members.size() == block.size()) {
        block.forget_own();
        block.is_uniform = false;
        block.base = std::move(snapshot);
        ++block.epoch;
    } else {
        block.has_own = true;
        block.is_uniform = false;
        for (const Member& member : members) block.changed_thread(member.thread).with_fences().own = snapshot;
    }
    const std::uint32_t crowd = block.has_own ? 0 : new_crowd();  // the members' overlays may differ
    for (const Member& member : members) {
        block.crowds[member.thread] = crowd;
        ++block.clocks[member.thread];
    }
}

/// Lanes of one warp with the same snapshot: only their overlays are joined.
void join_lanes(Block& block, std::span<const Member> members) {
    std::array<std::uint32_t, 32> merged{};
    block.is_uniform = false;
    if (block.overlays.empty()) block.overlays.resize(block.size());
    if (members.size() < 32) {
        for (const Member& member : members) {
            if (!block.has_overlay(member.thread)) continue;
            const auto& overlay = block.overlays[member.thread];
            for (int l = 0; l < 32; ++l) merged[l] = std::max(merged[l], overlay[l]);
        }
    }
    for (const Member& member : members) merged[member.thread % 32] = block.clocks[member.thread];
    const std::uint32_t crowd = new_crowd();
    for (const Member& member : members) {
        block.crowds[member.thread] = crowd;
        block.overlays[member.thread] = merged;
        block.changed_thread(member.thread).overlay_epoch = block.epoch;
        ++block.clocks[member.thread];
    }
}

bool is_below(const Heard& heard, std::uint32_t ordinal) { return heard.ordinal < ordinal; }

bool one_warp(std::span<const Member> members) {
    const Member& first = members.front();
    const Snapshot* base = base_of(*first.block, first.thread);
    return std::all_of(members.begin(), members.end(), [&](const Member& m) {
        return m.block == first.block && m.thread / 32 == first.thread / 32 && base_of(*m.block, m.thread) == base;
    });
}

}  // namespace

bool holds(const Snapshot* snapshot, std::uint32_t own, std::uint32_t ordinal, int other, std::uint32_t clock) {
    if (!snapshot) return false;
    if (ordinal == own) return snapshot->clocks[other] >= clock;
    if (!snapshot->foreign) return false;
    const auto heard = std::lower_bound(snapshot->foreign->begin(), snapshot->foreign->end(), ordinal, is_below);
    return heard != snapshot->foreign->end() && heard->ordinal == ordinal && (*heard->clocks)[other] >= clock;
}

/// A barrier of the whole block: every thread then knows every thread's clock, whatever it knew before.
void join_block(Block& block) {
    auto snapshot = std::make_shared<Snapshot>();
    // Clocks may skip numbers: with equal ones, most questions need no look at the snapshot.
    block.common = block.is_uniform ? block.clocks.front() : *std::max_element(block.clocks.begin(), block.clocks.end());
    block.is_uniform = true;
    snapshot->clocks.assign(block.size(), block.common);
    block.clocks.assign(block.size(), block.common + 1);
    block.crowds.assign(block.size(), new_crowd());
    if (block.has_own) {
        Gathered gathered;
        const std::shared_ptr<const Foreign>* last = nullptr;
        for (int t = 0; t < static_cast<int>(block.size()); ++t) {
            const Fences* const fences = block.thread(t).fences.get();
            if (fences != nullptr && fences->own && (!last || *last != fences->own->foreign))
                gathered.add(*(last = &fences->own->foreign));
        }
        if (block.base) gathered.add(block.base->foreign);
        snapshot->foreign = gathered.without(block.ordinal, snapshot->clocks);
        block.forget_own();
    } else if (block.base) {
        snapshot->foreign = block.base->foreign;
    }
    block.base = std::move(snapshot);
    ++block.epoch;
}

void join(std::span<const Member> members) {
    if (members.empty()) return;
    Block& first = *members.front().block;
    if (std::all_of(members.begin(), members.end(), [&](const Member& m) { return m.block == &first; })) {
        if (members.size() == first.size()) return join_block(first);
        if (one_warp(members)) return join_lanes(first, members);
    }
    // Several blocks, or some of a block's threads: gather what each block's members know, then give all of it to all of them.
    std::vector<Member> sorted(members.begin(), members.end());
    std::sort(sorted.begin(), sorted.end(), [](const Member& a, const Member& b) {
        return a.block->ordinal != b.block->ordinal ? a.block->ordinal < b.block->ordinal : a.thread < b.thread;
    });
    std::vector<std::span<const Member>> groups;
    for (std::size_t i = 0, end; i < sorted.size(); i = end) {
        for (end = i; end < sorted.size() && sorted[end].block == sorted[i].block;) ++end;
        groups.emplace_back(sorted.data() + i, end - i);
    }
    Gathered gathered;
    for (const auto& group : groups) {
        const Block& block = *group.front().block;
        gathered.foreign.push_back({block.ordinal, std::make_shared<Clocks>(together(block, group, gathered))});
    }
    // All get the same list, in which each block finds itself, too.
    Clocks none;
    const std::shared_ptr<const Foreign> all = gathered.without(0, none);
    for (const auto& group : groups) {
        Block& block = *group.front().block;
        auto snapshot = std::make_shared<Snapshot>();
        snapshot->clocks = *std::lower_bound(all->begin(), all->end(), block.ordinal, is_below)->clocks;
        snapshot->foreign = all;
        teach(block, group, std::move(snapshot));
    }
}

void pass_fence(Block& block, int thread, bool device_wide) {
    Thread& t = block.changed_thread(thread);
    const Member self{&block, thread};
    Gathered gathered;
    auto now = std::make_shared<Snapshot>();
    now->clocks = together(block, {&self, 1}, gathered);
    Fences& fences = t.with_fences();
    for (const auto& releases : fences.seen) {
        for (const Released& released : *releases) {
            if (released.ordinal == block.ordinal) {
                raise(now->clocks, released.to_block->clocks);
                gathered.add(released.to_block->foreign);
            } else if (device_wide && released.to_device) {
                gathered.foreign.push_back({released.ordinal, {released.to_device, &released.to_device->clocks}});
                gathered.add(released.to_device->foreign);
            }
        }
    }
    now->foreign = gathered.without(block.ordinal, now->clocks);
    if (!fences.seen.empty()) {
        fences.own = now;
        block.has_own = true;
        // Releases by this block are acquired now; those by other blocks may still be acquired by a later fence for the device.
        std::erase_if(fences.seen, [&](const auto& releases) {
            return device_wide ||
                   std::all_of(releases->begin(), releases->end(), [&](const Released& r) { return r.ordinal == block.ordinal; });
        });
    }
    fences.to_block = now;
    if (device_wide) fences.to_device = now;
    t.fence_clock = block.clocks[thread]++;
    block.is_uniform = false;
    block.crowds[thread] = 0;
}

void pass_atomic(Block& block, int thread, bool reads, bool writes, bool acquires, std::shared_ptr<const Releases>& releases) {
    if (acquires && releases) {
        auto& seen = block.changed_thread(thread).with_fences().seen;
        if (std::find(seen.begin(), seen.end(), releases) == seen.end()) seen.push_back(releases);
    }
    if (!writes) return;
    const Fences* const fences = block.thread(thread).fences.get();
    if (fences == nullptr || !fences->to_block) {
        // Nothing released: a read-modify-write keeps the earlier release, a plain store ends it.
        if (!reads) releases.reset();
        return;
    }
    // What nobody has seen yet needs no copy.
    std::shared_ptr<Releases> more;
    if (!reads || !releases)
        more = std::make_shared<Releases>();
    else if (releases.use_count() == 1)
        more = std::const_pointer_cast<Releases>(std::move(releases));
    else
        more = std::make_shared<Releases>(*releases);
    std::erase_if(*more, [&](const Released& r) { return r.ordinal == block.ordinal && r.thread == thread; });
    more->push_back({block.ordinal, thread, fences->to_block, fences->to_device});
    releases = std::move(more);
}

}  // namespace heddle::emulator::checker

#endif
