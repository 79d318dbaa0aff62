// How a program of the front end tells its mistakes, at once and whatever it does next: it may ignore errors, close its streams,
// or end by _exit or abort.
#pragma once

#include <atomic>
#include <string>

#include "kernels/emulator/foreign.h"
#include "kernels/emulator/violation_record.h"

namespace heddle::emulator {

/// A record of this kind about this place.
ViolationRecord mistake(const char* kind, Place place, std::string text);
/// Writes the record to the descriptor that HEDDLE_EMULATOR_REPORTS names, as "200:/proc/1/fd/7" with the path by which it is
/// opened again if the program has closed it; without one, its text to stderr as it was at the
/// start. A violation that was told before (kind, kernel and both lines are equal) is only counted. Does nothing in a process
/// that was forked from the program's, and in one that is no program of the front end.
void write_record(ViolationRecord record);

/// HEDDLE_EMULATOR_SAME_VALUE, _LEAKS and _COST, in a program of the front end.
bool tolerates_same_values();
bool leaks_are_mistakes();
bool is_cost_counted();
/// Whether the process is the one that called foreign_program(), and no fork of it.
bool tells();

/// Runs `work` when the program ends in whatever way, before the destructors of its static objects: at exit, _exit, quick_exit
/// and abort. `last`: after those destructors where there are any. Later ones first.
void at_end(void (*work)(), bool last = false);

// The time of a run, HEDDLE_EMULATOR_SECONDS (time_limit.cpp).

/// While one lives, the launch on this CPU thread ends when the time is over, even in a loop that calls nothing.
class Timed {
  public:
    Timed();
    ~Timed();
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;
};
namespace detail {
extern constinit std::atomic<bool> time_is_over;
}
inline bool is_time_over() { return detail::time_is_over.load(std::memory_order_relaxed); }

}  // namespace heddle::emulator
