#include "apps/explain/arithmetic.h"

#include <fmt/format.h>

#include "apps/picture/text.h"

namespace heddle::explain {
namespace {

constexpr Chip kChips[] = {{"A100", "SXM 80 GB", 2039e9, 19.5e12, 312e12, "NVIDIA's A100 data sheet"},
                           {"H100", "SXM", 3352e9, 66.9e12, 989.4e12, "NVIDIA's Hopper white paper"}};

std::string limit(const Arithmetic& a, const Chip& chip, double per_byte) {
    return fmt::format("{} {:.1f}", a.is_limited_by_bandwidth(chip, per_byte) ? "bandwidth: below" : "arithmetic: at least",
                       chip.balance(a.tensor_cores));
}

}  // namespace

std::span<const Chip> chips() { return kChips; }

std::string peaks_text() {
    std::string text;
    for (const Chip& chip : kChips)
        text += fmt::format("{}{} {} {} GB/s, {} TFLOP/s f32, {} TFLOP/s dense bf16 on tensor cores ({})",
                            text.empty() ? "Peaks: " : "; ", chip.name, chip.form, picture::whole_number(chip.bytes_second / 1e9),
                            chip.f32_second / 1e12, chip.bf16_second / 1e12, chip.source);
    return text + ".";
}

std::optional<Arithmetic> arithmetic_of(const Explanation& explanation) {
    if (!explanation.operations) return {};
    double moved = 0, least = 0;
    for (const LaunchReport& report : explanation.launches) {
        moved += 32 * static_cast<double>(report.totals.sectors);
        least += static_cast<double>(report.least_bytes);
    }
    const double operations = *explanation.operations;
    return Arithmetic{.operations = operations,
                      .per_moved_byte = operations / moved,
                      .per_least_byte = operations / least,
                      .tensor_cores = explanation.bf16};
}

nlohmann::ordered_json json_of(const Arithmetic& a) {
    nlohmann::ordered_json limits = nlohmann::ordered_json::array();
    const auto name = [&](const Chip& chip, double per_byte) {
        return a.is_limited_by_bandwidth(chip, per_byte) ? "bandwidth" : "arithmetic";
    };
    for (const Chip& chip : chips())
        limits.push_back({{"chip", chip.name},
                          {"balance", chip.balance(a.tensor_cores)},
                          {"moved", name(chip, a.per_moved_byte)},
                          {"least", name(chip, a.per_least_byte)}});
    return {{"operations", a.operations},
            {"peak", a.tensor_cores ? "bf16 tensor cores" : "f32"},
            {"per_moved_byte", a.per_moved_byte},
            {"per_least_byte", a.per_least_byte},
            {"limits", limits}};
}

std::vector<std::vector<std::string>> arithmetic_rows(std::span<const Explanation> explanations) {
    std::vector<std::vector<std::string>> rows = {{"arithmetic"}, {"operations, two for each multiply-add"}};
    for (const char* bytes : {"  for each byte moved", "  for each byte read once and written once"}) {
        rows.push_back({bytes});
        for (const Chip& chip : chips()) rows.push_back({fmt::format("    limit on {}", chip.name)});
    }
    bool is_stated = false;
    for (const Explanation& one : explanations) {
        const std::optional<Arithmetic> a = arithmetic_of(one);
        is_stated |= a.has_value();
        std::vector<std::string> column = {one.name};
        if (a) {
            column.push_back(fmt::format("{:.0f}", a->operations));
            for (const double per_byte : {a->per_moved_byte, a->per_least_byte}) {
                column.push_back(fmt::format("{:.2f}", per_byte));
                for (const Chip& chip : chips()) column.push_back(limit(*a, chip, per_byte));
            }
        }
        column.resize(rows.size(), "-");
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(std::move(column[i]));
    }
    if (!is_stated) rows.clear();
    return rows;
}

}  // namespace heddle::explain
