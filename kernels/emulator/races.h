// Races between streams: operations that touch the same device memory, at least one of them writing, without an event between
// them.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "kernels/emulator/streams.h"

namespace heddle::emulator {

/// What the operations that ran touched, as long as others may still conflict with it.
class RaceHistory {
  public:
    /// Adds what the operation touches. Throws Violation when one of another stream that nothing orders before it conflicts.
    void add(const std::shared_ptr<Operation>& operation, const std::vector<Rows>& reads, const std::vector<Rows>& writes);
    /// Drops operations that happened before everything that is still to run.
    void forget(const Clock& before_all);

  private:
    struct Entry {
        std::shared_ptr<Operation> operation;
        std::vector<Rows> reads, writes;  // by address
    };
    std::vector<std::deque<Entry>> streams_;  // by number, in each the order of the operations
};

}  // namespace heddle::emulator
