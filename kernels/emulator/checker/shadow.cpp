#include "kernels/emulator/checker/shadow.h"

#if defined(HEDDLE_EMULATOR_CHECK)

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

namespace heddle::emulator::checker {

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

void Space::forget(std::size_t offset, std::size_t bytes) {
    const std::size_t end = (offset + bytes) / kPage * kPage;
    for (offset = (offset + kPage - 1) / kPage * kPage; offset < end; offset += kPage) {
        if (Page* const page = this->page(offset)) page->forget_accesses();
    }
}

}  // namespace heddle::emulator::checker

#endif
