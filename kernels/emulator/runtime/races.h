// Races between streams: operations on the same device memory, at least one of them writing, that no event orders.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "kernels/emulator/runtime/streams.h"

namespace heddle::emulator {

/// Throws Violation if the host has touched managed memory, after the operation was queued, that the operation touches: one of
/// the two writing.
void check_host_accesses(const Operation& operation, const std::vector<Rows>& reads, const std::vector<Rows>& writes);

/// The memory touched by operations that ran, as long as others may conflict with it.
class RaceHistory {
  public:
    /// Adds what the operation touches. Throws Violation if it conflicts with an unordered operation of another stream.
    void add(const std::shared_ptr<Operation>& operation, const std::vector<Rows>& reads, const std::vector<Rows>& writes);
    /// Drops operations that happened before everything still queued.
    void forget(const Clock& before_all);

  private:
    struct Entry {
        std::shared_ptr<Operation> operation;
        std::vector<Rows> reads, writes;  // by address
    };
    std::vector<std::deque<Entry>> streams_;  // by number, in each the order of the operations
};

}  // namespace heddle::emulator
