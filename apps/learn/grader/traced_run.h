// One run of an answer with all its accesses. The grader writes it to a file, from which `heddle learn explain` makes a page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "kernels/emulator/trace/trace.h"

namespace heddle::learn {

/// An array of the harness on the device.
struct TracedArray {
    std::string name;
    std::vector<int> extents;
    DType dtype = DType::f32;
    std::uint64_t start = 0;  ///< address
};

struct TracedRun {
    std::vector<std::string> axes;  ///< names of the sizes
    std::vector<int> sizes;
    std::vector<TracedArray> arrays;
    std::vector<emulator::TracedLaunch> launches;
};

/// Replaces the file. False if it cannot be written.
bool write_traced_run(TracedRun run, const std::string& path);
/// Reads a file of write_traced_run(); nothing if it is missing or incomplete.
std::optional<TracedRun> read_traced_run(const std::string& path);

}  // namespace heddle::learn
