// The access that the checker reported last, as fields for programs. Its message (run/report.h) says the same in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace heddle::emulator {

enum class Mistake : std::uint8_t {
    race,
    copy,       ///< touches what an asynchronous copy on its way reads or writes
    unwritten,  ///< reads memory that was never written
    bounds,     ///< memory that is not allocated, or that a GPU cannot reach
    misaligned
};
/// Its kind in a ViolationRecord.
constexpr const char* kind_of(Mistake kind) {
    switch (kind) {
        case Mistake::race:
        case Mistake::copy: return "race";
        case Mistake::unwritten: return "uninitialized";
        case Mistake::bounds: return "out-of-bounds";
        default: return "misaligned";
    }
}

struct ReportedAccess {
    Mistake mistake = Mistake::race;
    std::string what = {};   ///< the message behind the kernel, block and thread
    std::string verb = {};   ///< "writes", "atomically changes"
    std::string place = {};  ///< "kernels/softmax/softmax.cu:41"
    std::uint64_t address = 0;
    std::size_t bytes = 0;
    std::uint64_t allocation = 0;  ///< start of the device allocation that contains it or lies nearest; 0: none, or shared memory
    bool is_freed = false;         ///< that allocation
    // The earlier access, if the mistake is a race or touches a copy's memory:
    std::string earlier_thread = {};  ///< "thread (27, 0, 0)", with its block if that is another one
    std::string earlier_verb = {};    ///< "wrote", "issued"
    std::string earlier_place = {};
    std::string missing = {};        ///< for a race: what would order the two accesses: "without a barrier between"
    bool is_between_blocks = false;  ///< for a race: both are plain accesses, by different blocks
    bool both_write = false;         ///< for a race: both are plain writes
};

/// The access for which the last launch was reported, if it was. Called by the thread that launched it, after it has waited.
std::optional<ReportedAccess> last_reported_access();

}  // namespace heddle::emulator
