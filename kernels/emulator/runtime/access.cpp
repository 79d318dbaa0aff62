#include "kernels/emulator/runtime/access.h"

#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"

namespace heddle::emulator {

std::string device_error(const Rows& rows, const std::string& what) {
    if (rows.empty() || lives(rows.start, rows.extent())) return "";
    const std::string text = what + " " + std::to_string(rows.extent()) + " bytes from " + describe(rows.start);
    const std::optional<Allocation> found = nearest_allocation(rows.start);
    if (!found || found->freed || rows.start < found->start || rows.start >= found->start + found->bytes) return text;
    return text + ": " + std::to_string(rows.start + rows.extent() - found->start - found->bytes) + " bytes too many";
}

void check_device(const Rows& rows, bool written) {
    if (const std::string why = device_error(rows, written ? "writes" : "reads"); !why.empty())
        throw Violation(why, "out-of-bounds");
    if (written || memory_kind(rows.start) == MemoryKind::managed) return;
    for (std::size_t y = 0; y < rows.height; ++y) {
        const auto* const missing =
            static_cast<const std::byte*>(checker::first_unwritten(rows.start + y * rows.pitch, rows.width));
        if (missing != nullptr) throw Violation("reads memory that was never written: " + describe(missing), "uninitialized");
    }
}

void wrote(const Rows& rows) {
    for (std::size_t y = 0; y < rows.height; ++y) checker::host_wrote(rows.start + y * rows.pitch, rows.width);
}

}  // namespace heddle::emulator
