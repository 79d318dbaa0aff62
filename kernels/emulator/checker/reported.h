// The access that the checker reported last, for programs; its message (report.h) says the same to people.
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

struct ReportedAccess {
    Mistake mistake = Mistake::race;
    std::string what = {};   ///< the message behind the kernel, block and thread
    std::string verb = {};   ///< "writes", "atomically changes"
    std::string place = {};  ///< "kernels/softmax/softmax.cu:41"
    std::uint64_t address = 0;
    std::size_t bytes = 0;
    std::uint64_t allocation = 0;  ///< start of the device allocation that contains it or lies nearest; 0: none, or shared memory
    bool is_freed = false;         ///< that allocation
    // Of a race and of a copy: the earlier access.
    std::string earlier_thread = {};  ///< "thread (27, 0, 0)", with its block if that is another one
    std::string earlier_verb = {};    ///< "wrote", "issued"
    std::string earlier_place = {};
    std::string missing = {};        ///< of a race, what would order the two: "without a barrier between"
    bool is_between_blocks = false;  ///< of a race: plain accesses of two blocks
    bool both_write = false;         ///< of a race: plainly
};

/// Of the last launch, if it ended with such a report. For the thread that launched it, once it has waited.
std::optional<ReportedAccess> last_reported_access();

}  // namespace heddle::emulator
