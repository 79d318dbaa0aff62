// For programs that the front end built (kernels/emulator/frontend): how they tell mistakes, and what their kernels call beside
// CUDA's functions. Their files read it, so it includes nothing.
#pragma once

#include "kernels/emulator/place.h"

namespace heddle::emulator {

/// This process runs a program of the front end: its violations are told as records (violation_record.h), what is queued when it
/// ends is run, and the variables HEDDLE_EMULATOR_REPORTS, _SECONDS, _LEAKS, _SAME_VALUE and _COST count. Called before main().
void foreign_program();
/// Whether foreign_program() was called.
bool is_foreign_program();

/// assert(expression) failed, in a kernel or in host code.
[[noreturn]] void failed_assertion(const char* expression, const char* file, int line, const char* function);
/// __trap(): ends the launch with an error.
[[noreturn]] void trap(Place place = Place::current());

}  // namespace heddle::emulator
