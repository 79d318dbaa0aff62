#include "apps/picture/ramp.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace heddle::picture {
namespace {

using Color = std::array<double, 3>;

constexpr Color viridis[] = {{68, 1, 84},    {72, 40, 120},  {62, 73, 137},  {49, 104, 142}, {38, 130, 142},
                             {31, 158, 137}, {53, 183, 121}, {110, 206, 88}, {181, 222, 43}, {253, 231, 37}};

Color at(int level) {
    const double along = static_cast<double>(level) / (ramp_levels - 1) * static_cast<double>(std::size(viridis) - 1);
    const std::size_t before = std::min(static_cast<std::size_t>(along), std::size(viridis) - 2);
    const double share = along - static_cast<double>(before);
    Color mixed;
    for (std::size_t i = 0; i < 3; ++i) mixed[i] = (1 - share) * viridis[before][i] + share * viridis[before + 1][i];
    return mixed;
}

}  // namespace

int ramp_level(double share) { return static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * (ramp_levels - 1))); }

std::string ramp_color(int level) {
    const Color color = at(level);
    return fmt::format("#{:02x}{:02x}{:02x}", std::lround(color[0]), std::lround(color[1]), std::lround(color[2]));
}

bool ramp_is_bright(int level) {
    const Color color = at(level);
    return 0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2] > 140;
}

}  // namespace heddle::picture
