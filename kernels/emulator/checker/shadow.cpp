#include "kernels/emulator/checker/shadow.h"

#if defined(HEDDLE_EMULATOR_CHECK)

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <vector>

namespace heddle::emulator::checker {

int clock_bits = kTimeBits / 2;

namespace {

/// Memory for the accesses of pages that are done with, by size. So a program needs that of its largest launch, not of all.
std::vector<void*>& spare(int grain) {
    static auto& all = *new std::array<std::vector<void*>, 3>;
    return all[static_cast<std::size_t>(grain)];
}
std::size_t bytes_at(int grain) { return (kPage >> grain) * sizeof(Access); }

Access* take(int grain) {
    std::vector<void*>& blocks = spare(grain);
    void* block = nullptr;
    if (!blocks.empty()) {
        block = blocks.back();
        blocks.pop_back();
    } else {
        block = std::aligned_alloc(64, bytes_at(grain));
    }
    if (block == nullptr) std::abort();
    return static_cast<Access*>(block);
}

constexpr std::uint64_t kMostCells = Access::kCell + 1;

}  // namespace

std::uint64_t Cells::next() {
    if (start_ == nullptr) {
        void* const memory =
            mmap(nullptr, kMostCells * sizeof(Cell), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        start_ = static_cast<Cell*>(memory);
    }
    if (used_ == kMostCells) throw std::bad_alloc();
    return used_++;
}

Cell& Cells::move(Access& access) {
    const std::uint64_t number = next();
    Cell& cell = start_[number];
    cell = {};
    switch (access.kind()) {
        case Kind::write: cell.write = access; break;
        default: cell.reads[0] = access; break;
    }
    access.bits = Access::kInCell | number;
    return cell;
}

Access Cells::copy(Access in_cell) {
    const std::uint64_t number = next();
    start_[number] = (*this)[in_cell];
    return {(in_cell.bits & ~Access::kCell) | number};
}

void Page::begin() {
    if (accesses_ != nullptr && grain_ != 2) forget_accesses();
    if (accesses_ == nullptr) accesses_ = take(2);
    std::memset(static_cast<void*>(accesses_), 0, bytes_at(2));
}

void Page::refine(int grain, Cells& cells) {
    Access* const finer = take(grain);
    const std::size_t each = std::size_t{1} << (grain_ - grain);
    for (std::size_t i = 0; i < kPage >> grain_; ++i)
        for (std::size_t k = 0; k < each; ++k)
            finer[i * each + k] = k > 0 && accesses_[i].is_in_cell() ? cells.copy(accesses_[i]) : accesses_[i];
    const std::uint32_t its_stamp = stamp;
    forget_accesses();
    stamp = its_stamp;
    accesses_ = finer;
    grain_ = grain;
}

void Page::forget_accesses() {
    if (accesses_ != nullptr) spare(grain_).push_back(accesses_);
    accesses_ = nullptr;
    grain_ = 2;
    stamp = 0;
}

Space::Space(std::span<std::byte> range) : start_(range.data()), bytes_(range.size()) {
    table_bytes_ = std::max<std::size_t>(1, (bytes_ + kPage - 1) / kPage) * sizeof(Page*);
    void* const table = mmap(nullptr, table_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED) throw std::bad_alloc();
    pages_ = static_cast<Page**>(table);
}

Space::~Space() {
    for (std::size_t i = 0; i < table_bytes_ / sizeof(Page*); ++i) delete pages_[i];
    munmap(pages_, table_bytes_);
}

Page& Space::make_page(std::size_t offset) {
    Page*& page = pages_[offset / kPage];
    if (!page) page = new Page;
    return *page;
}

void Space::set(Bits bits, std::size_t offset, std::size_t bytes, bool value, bool only_existing) {
    for (const std::size_t end = offset + bytes; offset < end;) {
        const std::size_t page_end = std::min(end, offset / kPage * kPage + kPage);
        Page* const page = only_existing ? this->page(offset) : &make_page(offset);
        if (!page) {
            offset = page_end;
            continue;
        }
        while (offset < page_end) {
            const std::size_t first = offset % 64, count = std::min<std::size_t>(64 - first, page_end - offset);
            const std::uint64_t mask = (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << first;
            std::uint64_t& word = (page->*bits)[offset % kPage / 64];
            word = value ? word | mask : word & ~mask;
            offset += count;
        }
    }
}

std::size_t Space::first_clear(Bits bits, std::size_t offset, std::size_t bytes) const {
    for (const std::size_t end = offset + bytes; offset < end;) {
        const Page* const page = this->page(offset);
        if (!page) return offset;
        const std::size_t first = offset % 64;
        const std::uint64_t clear = ~(page->*bits)[offset % kPage / 64] >> first;
        const auto distance = static_cast<std::size_t>(std::countr_zero(clear));
        if (clear != 0) return std::min(end, offset + distance);
        offset += 64 - first;
        if (offset >= end) return end;
    }
    return offset;
}

std::size_t Space::first_missing(std::size_t offset, std::size_t bytes, bool array) const {
    constexpr std::size_t kWidest = 16;
    const std::size_t end = offset + bytes;
    const auto is_padding = [&](std::size_t first, std::size_t next) {
        if (first == offset) return false;
        if (array) return next % 4 == 0 && (next - first == 2 || next - first == 3);
        for (std::size_t alignment = 2; alignment <= kWidest && alignment < bytes; alignment *= 2)
            if ((offset | bytes | next) % alignment == 0 && next - first < alignment) return true;
        return false;
    };
    for (std::size_t at = offset;;) {
        const std::size_t first = first_clear(&Page::written, at, end - at);
        if (first == end) return end;
        at = first;
        while (at < end && at - first < kWidest && first_clear(&Page::written, at, 1) == at) ++at;
        if (!is_padding(first, at)) return first;
    }
}

void Space::forget(std::size_t offset, std::size_t bytes) {
    const std::size_t end = (offset + bytes) / kPage * kPage;
    for (offset = (offset + kPage - 1) / kPage * kPage; offset < end; offset += kPage) {
        if (Page* const page = this->page(offset)) page->forget_accesses();
    }
}

}  // namespace heddle::emulator::checker

#endif
