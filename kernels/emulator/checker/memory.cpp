// Which memory is allocated and written, as the runtime and the scheduler tell it, and which belongs to the program itself.
#include "kernels/emulator/run/checker_hooks.h"

#if defined(HEDDLE_EMULATOR_CHECK)

#include <link.h>

#include <algorithm>
#include <bit>
#include <mutex>

#include "kernels/emulator/checker/state.h"
#include "kernels/emulator/foreign.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"

namespace heddle::emulator::checker {

namespace {
/// Never destroyed, because destructors of statics may free memory.
std::recursive_mutex& mutex() {
    static auto* const mutex = new std::recursive_mutex;
    return *mutex;
}
}  // namespace

Alone::Alone() { mutex().lock(); }
Alone::~Alone() { mutex().unlock(); }

/// Allocations that no kernel or copy has touched have no pages: a page gets its allocated bits when it is created.
Page& new_device_page(std::size_t offset) {
    State& s = state();
    Page& page = s.device->make_page(offset);
    std::byte* const start = s.device->start() + offset / kPage * kPage;
    auto allocation = s.allocations.upper_bound(start);
    if (allocation != s.allocations.begin()) --allocation;
    for (; allocation != s.allocations.end() && allocation->first < start + kPage; ++allocation) {
        std::byte* const from = std::max(start, allocation->first);
        std::byte* const to = std::min(start + kPage, allocation->first + allocation->second.bytes);
        if (from >= to) continue;
        s.device->set(&Page::allocated, s.device->offset(from), static_cast<std::size_t>(to - from), true);
        if (allocation->second.written)
            s.device->set(&Page::written, s.device->offset(from), static_cast<std::size_t>(to - from), true);
    }
    return page;
}

Page& new_mapped_page(Space& space, std::size_t offset) {
    Page& page = space.make_page(offset);
    const std::size_t first = offset / kPage * kPage, count = std::min(kPage, space.bytes() - first);
    space.set(&Page::allocated, first, count, true);
    space.set(&Page::written, first, count, true);
    return page;
}

MappedRange* mapped_range(const void* address) {
    State& s = state();
    if (s.mapped.empty()) return nullptr;
    auto* const byte = static_cast<std::byte*>(const_cast<void*>(address));
    auto found = s.mapped.upper_bound(byte);
    if (found == s.mapped.begin()) return nullptr;
    --found;
    if (byte >= found->first + found->second.bytes) return nullptr;
    if (found->second.shadow == nullptr)
        found->second.shadow = std::make_unique<Space>(std::span(found->first, found->second.bytes));
    return &found->second;
}

void mapped(std::byte* start, std::size_t bytes, bool constant) {
    const Alone alone;
    state().mapped.insert_or_assign(start, MappedRange{bytes, constant, nullptr});
}

void unmapped(const void* start) {
    const Alone alone;
    state().mapped.erase(static_cast<std::byte*>(const_cast<void*>(start)));
}

void allocated(std::byte* start, std::size_t bytes, bool written) {
    const Alone alone;
    State& s = state();
    if (!s.device) {
        auto* const first = const_cast<std::byte*>(emulator::detail::device_range_start);
        s.device =
            std::make_unique<Space>(std::span(first, static_cast<std::size_t>(emulator::detail::device_range_end - first)));
    }
    s.allocations[start] = {bytes, written};
    s.device->set(&Page::allocated, s.device->offset(start), bytes, true, true);
    s.device->set(&Page::written, s.device->offset(start), bytes, written, true);
}

void released(std::byte* start, std::size_t bytes) {
    const Alone alone;
    State& s = state();
    if (s.allocations.erase(start) == 0) return;
    s.device->set(&Page::allocated, s.device->offset(start), bytes, false, true);
    s.device->set(&Page::written, s.device->offset(start), bytes, false, true);
    s.device->forget(s.device->offset(start), bytes);
}

void host_wrote(const void* start, std::size_t bytes) {
    const Alone alone;
    State& s = state();
    if (!s.device || !s.device->holds(start)) return;
    const std::size_t first = s.device->offset(start);
    for (std::size_t at = first; at < first + bytes; at = at / kPage * kPage + kPage)
        if (!s.device->page(at)) new_device_page(at);
    s.device->set(&Page::written, first, bytes, true);
}

void forgive_unwritten() {
    const Alone alone;
    state().forgives_unwritten = true;
}

std::uint64_t writes() { return state().writes; }

void report_unwritten_shared(bool reported) {
    const Alone alone;
    state().unwritten_shared_is_reported = reported;
}

const void* first_unwritten(const void* start, std::size_t bytes) {
    const Alone alone;
    State& s = state();
    if (!s.device || !s.device->holds(start) || s.forgives_unwritten) return nullptr;
    const std::size_t first = s.device->offset(start), found = is_foreign_program()
                                                                   ? s.device->first_missing(first, bytes, true)
                                                                   : s.device->first_clear(&Page::written, first, bytes);
    return found < first + bytes ? s.device->start() + found : nullptr;
}

std::vector<Touched> touched() {
    const Alone alone;
    State& s = state();
    std::sort(s.touched.begin(), s.touched.end());
    std::vector<Touched> all;
    const auto add = [&](std::byte* start, std::size_t bytes, bool written) {
        if (!all.empty() && all.back().written == written && all.back().start + all.back().bytes == start)
            all.back().bytes += bytes;
        else
            all.push_back({start, bytes, written});
    };
    for (const bool written : {false, true})
        for (const std::size_t page : s.touched) {
            const Uses& uses = *s.device->page(page)->uses;
            const auto& bits = written ? uses.changed : uses.read;
            for (std::size_t i = 0; i < bits.size(); ++i)
                for (std::uint64_t left = bits[i]; left != 0;) {  // runs of ones
                    const auto first = static_cast<std::size_t>(std::countr_zero(left));
                    const auto count = static_cast<std::size_t>(std::countr_one(left >> first));
                    add(s.device->start() + page + i * 64 + first, count, written);
                    left = first + count == 64 ? 0 : left & ~std::uint64_t{0} << (first + count);
                }
        }
    return all;
}

void shared_piece(std::byte* start, std::size_t bytes) {
    Block* const block = running.block;
    if (!block || bytes == 0) return;
    for (const auto& arena : state().arenas) {
        if (arena->block != block || !arena->shadow->holds(start)) continue;
        for (const ArenaPiece& piece : arena->pieces)
            if (piece.start == start && piece.bytes >= bytes) return;
        arena->pieces.push_back({start, bytes});
        arena->shadow->set(&Page::allocated, arena->shadow->offset(start), bytes, true);
    }
}

void name_shared_piece(std::byte* start, const char* name, const cuda::Shape& shape) {
    for (const auto& arena : state().arenas)
        for (ArenaPiece& piece : arena->pieces)
            if (arena->block != nullptr && piece.start == start) {
                piece.name = name;
                piece.shape = &shape;
            }
}

bool is_in_program(const void* address, bool writable_too) {
    struct Segment {
        std::uintptr_t start, end;
        bool writable;
    };
    static const std::vector<Segment> segments = [] {
        std::vector<Segment> found;
        dl_iterate_phdr(
            [](dl_phdr_info* info, std::size_t, void* out) {
                for (int i = 0; i < info->dlpi_phnum; ++i) {
                    const auto& header = info->dlpi_phdr[i];
                    if (header.p_type != PT_LOAD && header.p_type != PT_GNU_RELRO) continue;
                    const std::uintptr_t start = info->dlpi_addr + header.p_vaddr;
                    const bool writable = header.p_type == PT_LOAD && (header.p_flags & PF_W) != 0;
                    static_cast<std::vector<Segment>*>(out)->push_back({start, start + header.p_memsz, writable});
                }
                return 0;
            },
            &found);
        return found;
    }();
    const auto a = reinterpret_cast<std::uintptr_t>(address);
    return std::any_of(segments.begin(), segments.end(),
                       [&](const Segment& s) { return a >= s.start && a < s.end && (writable_too || !s.writable); });
}

bool is_constant_data(const void* address) { return is_in_program(address, false); }

bool is_library_code(Origin origin) {
    if (origin.is_place()) return false;
    static auto& known = *new std::unordered_map<std::uint64_t, bool>;
    const auto [entry, is_new] = known.try_emplace(origin.value());
    if (is_new) {
        const std::string place = place_of_code(reinterpret_cast<const void*>(origin.value()));
        entry->second = place.starts_with("/usr/") || place.find("kernels/emulator/") != std::string::npos;
    }
    return entry->second;
}

}  // namespace heddle::emulator::checker

#endif
