// The findings of all schedules of a program: each violation once, with how often it was seen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/emulator/violation_record.h"

namespace heddle::emulator::frontend {

/// A violation or a note, and the runs in which it was found.
struct Finding {
    ViolationRecord record;         ///< as it was found first
    std::vector<int> orders;        ///< numbers of the schedules that found it, from 1
    std::uint64_t occurrences = 1;  ///< in all of them
};

/// The lines of a kernel and what they asked of memory.
struct KernelCost {
    ViolationRecord kernel;
    std::vector<ViolationRecord> lines;
};

class Findings {
  public:
    /// Takes a record of the schedule `order`. The finding if it is new: to be printed now; else null.
    const Finding* add(const ViolationRecord& record, int order);
    /// The schedule runs again, in a new process: drops what was counted in it.
    void restart(int order);
    const std::vector<Finding>& all() const { return all_; }
    const std::vector<KernelCost>& costs() const { return costs_; }
    /// Different kernels that the first schedule launched, and its launches.
    std::uint64_t kernels() const { return kernels_; }
    std::uint64_t launches() const { return launches_; }
    /// The number of violations, without the notes.
    std::uint64_t violations() const;
    /// "race" or "race, barrier": the kinds of the violations.
    std::string kinds() const;
    bool has(const std::string& kind) const;

  private:
    std::vector<Finding> all_;
    std::vector<KernelCost> costs_;  // these three are of the first schedule
    std::uint64_t kernels_ = 0, launches_ = 0;
    struct Id {
        int order;
        std::uint64_t id;
        std::size_t finding;
    };
    std::vector<Id> ids_;
};

/// How all of it ended.
struct Outcome {
    Findings findings;
    int orders = 0;            ///< that ran
    std::string failure = {};  ///< why the program failed by itself: "it returned 5"

    /// 0, 1 or 3.
    int status() const;
    /// "1 violation (race) in 3 orders".
    std::string verdict() const;
};

}  // namespace heddle::emulator::frontend
