#include "kernels/emulator/checker/shadow.h"

#if defined(HEDDLE_EMULATOR_CHECK)

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <vector>

namespace heddle::emulator::checker {

namespace {

/// Cells of pages that are done with, by size. They are handed out as they are: accesses of earlier launches count for nothing,
/// since blocks and crowds have numbers of their own in the process. So a program needs the cells of its largest launch, not of
/// all.
struct SpareCells {
    std::size_t bytes;
    std::vector<void*> blocks;
};
std::array<SpareCells, 4>& spare_cells() {
    static auto& spare = *new std::array<SpareCells, 4>{{{kPage / 4 * sizeof(SmallCell), {}},
                                                         {kPage / 4 * sizeof(Cell), {}},
                                                         {kPage * sizeof(Cell), {}},
                                                         {kPage / 4 * sizeof(Settled), {}}}};
    return spare;
}
void give_back(void* block, std::size_t kind) {
    if (block != nullptr) spare_cells()[kind].blocks.push_back(block);
}

}  // namespace

void* Page::take(std::size_t bytes) {
    for (SpareCells& spare : spare_cells()) {
        if (spare.bytes != bytes || spare.blocks.empty()) continue;
        void* const block = spare.blocks.back();
        spare.blocks.pop_back();
        return block;
    }
    void* const block = std::calloc(1, bytes);
    if (block == nullptr) std::abort();
    return block;
}

void Page::make_words() {
    words = taken<Cell>(kPage / 4);
    settled = taken<Settled>(kPage / 4);
    if (small == nullptr) return;
    for (std::size_t i = 0; i < kPage / 4; ++i) {
        words[i] = {};
        words[i].write = small[i].write;
        words[i].reads[0] = small[i].read;
        settled[i] = {};
    }
    std::memset(static_cast<void*>(small), 0, kPage / 4 * sizeof(SmallCell));  // its accesses are of this launch
    give_back(small, 0);
    small = nullptr;
}

void Page::forget_accesses() {
    give_back(small, 0);
    give_back(words, 1);
    give_back(bytes, 2);
    give_back(settled, 3);
    small = nullptr;
    words = bytes = nullptr;
    settled = nullptr;
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
