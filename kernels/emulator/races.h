// Races between streams: operations that touch the same device memory, at least one of them writing, without an event between
// them.
#pragma once

#include <vector>

#include "kernels/emulator/streams.h"

namespace heddle::emulator {

/// What the operations that ran touched, as long as others may still conflict with it.
class RaceHistory {
  public:
    /// Adds what the operation touches. Throws Violation when an earlier one that is not ordered before it conflicts.
    void add(const std::shared_ptr<Operation>& operation, const std::vector<Rows>& reads, const std::vector<Rows>& writes);
    /// Drops operations that happened before everything that is still to run.
    void forget(const Clock& before_all);

  private:
    struct Access {
        std::shared_ptr<Operation> operation;
        Rows rows;
        bool written;
    };
    void add(const std::shared_ptr<Operation>& operation, const Rows& rows, bool written);
    std::vector<Access> accesses_;
};

}  // namespace heddle::emulator
