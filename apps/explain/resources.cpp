#include "apps/explain/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "apps/explain/scripts.h"

namespace heddle::explain {
namespace {

// kernels/emulator/run/limits.cpp has the limits of a launch, too, but gives out those of the emulated chip only.
constexpr int kWarpsOfAnSm = 64, kBlocksOfAnSm = 32, kQuarters = 4, kRegistersOfAQuarter = 16384, kRegisterUnit = 256;
constexpr std::size_t kSharedUnit = 128, kSharedOfTheSystem = 1024;

// The table's rows by "sm_80 KERNEL". A row is "| `relu_forward_kernel<float, 4>` |", then for each chip
// " registers | stack | spills stored | loaded |", with "-" for a chip that the kernel was not compiled for.
std::map<std::string, Registers, std::less<>> table() {
    constexpr std::array chips = {"sm_80", "sm_90a"};
    std::map<std::string, Registers, std::less<>> rows;
    for (std::string_view rest = resources_md.substr(0, resources_md.find("\n## ")); !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (!line.starts_with("| `")) continue;
        const std::size_t end = line.find('`', 3);
        std::size_t at = line.find('|', end);
        for (const char* chip : chips) {
            std::array<int, 4> cells{};
            bool compiled = true;
            for (int& cell : cells) {
                const char* const begin = line.data() + std::min(at + 2, line.size());
                compiled = std::from_chars(begin, line.data() + line.size(), cell).ec == std::errc() && compiled;
                at = line.find('|', at + 1);
            }
            if (compiled)
                rows[fmt::format("{} {}", chip, line.substr(3, end - 3))] = {.registers = cells[0], .spilled_bytes = cells[2]};
        }
    }
    return rows;
}

// A learner's kernel may have the name of a library kernel, whose row is not its own.
bool is_learners(const Explanation& explanation) { return !explanation.sources.empty(); }

unsigned threads_of(const emulator::TracedLaunch& launch) { return launch.block.x * launch.block.y * launch.block.z; }

}  // namespace

std::optional<Registers> registers_of(const Chip& chip, std::string_view kernel) {
    static const auto rows = table();
    std::string name = fmt::format("{} {}", chip.architecture, kernel);
    constexpr std::string_view room = "kernels::";  // omitted in the table
    for (std::size_t at; (at = name.find(room)) != std::string::npos;) name.erase(at, room.size());
    const auto found = rows.find(name);
    return found == rows.end() ? std::nullopt : std::optional(found->second);
}

Occupancy occupancy_of(const Chip& chip, int registers, unsigned threads, std::size_t shared_bytes) {
    const int warps = static_cast<int>((threads + 31) / 32);
    const int of_a_warp = (std::max(registers, 1) * 32 + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
    const std::size_t of_a_block = (shared_bytes + kSharedOfTheSystem + kSharedUnit - 1) / kSharedUnit * kSharedUnit;
    const std::pair<int, std::string_view> limits[] = {
        {kWarpsOfAnSm / warps, "warps"},
        {kRegistersOfAQuarter / of_a_warp * kQuarters / warps, "registers"},
        {static_cast<int>(chip.shared_bytes / of_a_block), "shared memory"},
        {kBlocksOfAnSm, "blocks"},
    };
    const auto& [blocks, limit] = *std::ranges::min_element(limits, {}, &std::pair<int, std::string_view>::first);
    return {.warps = blocks * warps, .limit = limit};
}

std::vector<std::vector<std::string>> resource_rows(const Explanation& explanation, const emulator::TracedLaunch& launch) {
    std::vector<std::vector<std::string>> rows;
    if (is_learners(explanation)) return rows;
    for (const Chip& chip : chips()) {
        const std::optional<Registers> registers = registers_of(chip, launch.kernel);
        std::string count = "not in docs/measured/resources.md", warps = "-";
        if (registers) {
            const Occupancy occupancy = occupancy_of(chip, registers->registers, threads_of(launch), launch.shared_bytes);
            count = fmt::format("{}", registers->registers);
            if (registers->spilled_bytes > 0) count += fmt::format(", and {} bytes spilled", registers->spilled_bytes);
            warps = fmt::format("{}, limited by {}", occupancy.warps, occupancy.limit);
            if (occupancy.warps == kWarpsOfAnSm) warps = "64";
        }
        rows.push_back({fmt::format("{}: registers of a thread", chip.name), std::move(count)});
        rows.push_back({fmt::format("  warps that an SM holds, of {}", kWarpsOfAnSm), std::move(warps)});
    }
    return rows;
}

nlohmann::ordered_json resources_json(const Explanation& explanation, const emulator::TracedLaunch& launch) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    if (is_learners(explanation)) return all;
    for (const Chip& chip : chips()) {
        const std::optional<Registers> registers = registers_of(chip, launch.kernel);
        if (!registers) continue;
        const Occupancy occupancy = occupancy_of(chip, registers->registers, threads_of(launch), launch.shared_bytes);
        all.push_back({{"chip", chip.name},
                       {"registers", registers->registers},
                       {"spilled_bytes", registers->spilled_bytes},
                       {"warps", occupancy.warps},
                       {"limit", occupancy.limit}});
    }
    return all;
}

}  // namespace heddle::explain
