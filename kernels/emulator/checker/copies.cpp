// Asynchronous copies: between issue and the issuer's wait no thread may touch what they write, or write what they read.
#include "kernels/emulator/run/checker_hooks.h"

#if defined(HEDDLE_EMULATOR_CHECK)

#include <algorithm>

#include "kernels/emulator/checker/state.h"

namespace heddle::emulator::checker {

namespace {

Space* space_of(const void* address) {
    State& s = state();
    if (s.device && s.device->holds(address)) return s.device.get();
    for (const auto& arena : s.arenas)
        if (arena->shadow->holds(address)) return arena->shadow.get();
    return nullptr;
}

template <class Change>
void for_words(const std::byte* start, int bytes, Change change) {
    Space* const space = space_of(start);
    if (!space || bytes <= 0) return;
    const std::size_t first = space->offset(start) / 4 * 4, end = space->offset(start) + static_cast<std::size_t>(bytes);
    for (std::size_t at = first; at < end; at += 4) {
        Page& page = space->make_page(at);
        if (page.marks == nullptr) page.marks = std::make_unique<std::array<Marks, kPage / 4>>();
        Marks& marks = (*page.marks)[at % kPage / 4];
        const bool had = (marks.destination | marks.sources) != 0;
        change(marks);
        const bool has = (marks.destination | marks.sources) != 0;
        page.marked += has && !had ? 1 : 0;
        page.marked -= had && !has ? 1 : 0;
    }
}

void lift_marks(Copy& copy) {
    for_words(copy.to, copy.bytes, [](Marks& marks) { marks.destination = 0; });
    for_words(copy.from, copy.valid, [](Marks& marks) { marks.sources -= marks.sources > 0 ? 1 : 0; });
}

void retire(std::size_t index) {
    state().in_flight.erase(state().copies[index].number);
    state().copies[index] = {};
    state().free_copies.push_back(static_cast<std::uint32_t>(index));
}

}  // namespace

void copy_issued(std::uint64_t number, void* to, const void* from, int bytes, int valid, Place place) {
    Block* const block = running.block;
    if (!block) return;
    const Origin origin = intern(place);
    State& s = state();
    s.copy_step = State::CopyStep::issue;
    check(from, static_cast<std::size_t>(valid), Kind::read, origin);
    check(to, static_cast<std::size_t>(bytes), Kind::write, origin);
    s.copy_step = State::CopyStep::none;
    if (s.free_copies.empty()) {
        s.copies.emplace_back();
        s.free_copies.push_back(static_cast<std::uint32_t>(s.copies.size() - 1));
    }
    const std::uint32_t index = s.free_copies.back();
    s.free_copies.pop_back();
    const std::uint32_t clock = block->clocks[running.thread];
    s.copies[index] = {number,
                       static_cast<std::byte*>(to),
                       static_cast<const std::byte*>(from),
                       bytes,
                       valid,
                       make_access(time_of(block->ordinal, clock), running.thread, Kind::write, origin_number(origin), false)};
    s.in_flight[number] = index;
    for_words(s.copies[index].to, bytes, [&](Marks& marks) { marks.destination = index + 1; });
    for_words(s.copies[index].from, valid, [](Marks& marks) { ++marks.sources; });
}

void copy_landed(std::uint64_t number) {
    State& s = state();
    const auto found = s.in_flight.find(number);
    if (found == s.in_flight.end()) return;
    const std::uint32_t index = found->second;
    const Copy landed = s.copies[index];
    lift_marks(s.copies[index]);
    retire(index);
    // The copy reads and writes between issue and wait, so the next access of another thread must come after the wait.
    s.copy_step = State::CopyStep::landing;
    check(landed.from, static_cast<std::size_t>(landed.valid), Kind::read, origin_of(landed.issue));
    check(landed.to, static_cast<std::size_t>(landed.bytes), Kind::write, origin_of(landed.issue));
    s.copy_step = State::CopyStep::none;
}

const Copy* copy_reading(const std::byte* first, std::size_t bytes) {
    for (const Copy& copy : state().copies)
        if (copy.issue.block() != 0 && copy.from < first + bytes && first < copy.from + copy.valid) return &copy;
    return nullptr;
}

void drop_copies(std::uint32_t block_ordinal) {
    std::vector<Copy>& copies = state().copies;
    for (std::size_t i = 0; i < copies.size(); ++i) {
        if (copies[i].issue.block() != block_ordinal) continue;
        lift_marks(copies[i]);
        retire(i);
    }
}

Action traced_action(Kind kind) {
    if (state().copy_step != State::CopyStep::none) return kind == Kind::read ? Action::copy_read : Action::copy_write;
    return is_atomic(kind) ? Action::atomic : kind == Kind::read ? Action::read : Action::write;
}

}  // namespace heddle::emulator::checker

#endif
