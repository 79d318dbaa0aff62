// An op's place in a roofline: the arithmetic it states, divided by the bytes its kernels move.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/explain/explanation.h"

namespace heddle::explain {

/// Peak rates of one chip. A kernel takes at least bytes / bandwidth and at least operations / peak; the longer of the two
/// limits it (Williams, Waterman, Patterson: Roofline, 2009).
struct Chip {
    std::string_view name;    ///< "A100"
    std::string_view form;    ///< "SXM 80 GB"
    double bytes_second;      ///< from and to its memory
    double f32_second;        ///< operations outside of tensor cores
    double bf16_second;       ///< operations of tensor cores on dense bf16
    std::string_view source;  ///< where the figures come from

    /// Operations per byte at which both limits meet: with fewer a kernel is limited by bandwidth, with more by arithmetic.
    double balance(bool tensor_cores) const { return (tensor_cores ? bf16_second : f32_second) / bytes_second; }
};
/// A100 and H100.
std::span<const Chip> chips();
/// "Peaks: A100 SXM 80 GB: 2,039 GB/s, 19.5 TFLOP/s f32, ...", of all chips.
std::string peaks_text();

struct Arithmetic {
    double operations;      ///< of the formula, two for each multiply-add
    double per_moved_byte;  ///< over all sectors of all launches: no cache helps
    double per_least_byte;  ///< over LaunchReport::least_bytes of all launches: a cache catches all that a launch repeats
    bool tensor_cores;

    bool is_limited_by_bandwidth(const Chip& chip, double per_byte) const { return per_byte < chip.balance(tensor_cores); }
};

/// No value for an example that states no operations.
std::optional<Arithmetic> arithmetic_of(const Explanation& explanation);
/// Schema: docs/explain.md.
nlohmann::ordered_json json_of(const Arithmetic& arithmetic);
/// A table with a header and one column per explanation. Empty when none of them states operations.
std::vector<std::vector<std::string>> arithmetic_rows(std::span<const Explanation> explanations);

}  // namespace heddle::explain
