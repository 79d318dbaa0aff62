#include <unistd.h>

#include <bit>
#include <cmath>

#include "apps/translation/run/events.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace heddle::fuzz {
namespace {

bool same(const app::ReadScalar& a, const app::ReadScalar& b) {
    const bool same_value = std::bit_cast<std::uint32_t>(a.value) == std::bit_cast<std::uint32_t>(b.value) ||
                            (std::isnan(a.value) && std::isnan(b.value));  // on their way through a double NaNs become quiet
    return a.tag == b.tag && a.step == b.step && same_value &&
           std::bit_cast<std::uint64_t>(a.wall_time) == std::bit_cast<std::uint64_t>(b.wall_time);
}

}  // namespace

// What was read can be written, and is read again as it was.
void events(std::string_view bytes) {
    const InputFile input(bytes);
    const std::vector<app::ReadScalar> scalars = app::read_scalars(input.path());
    if (scalars.empty()) return;
    const std::filesystem::path path = output_file("events");
    std::filesystem::remove(path);
    app::EventFile file(path);
    for (const app::ReadScalar& scalar : scalars) {
        const app::Scalar one{.tag = scalar.tag, .value = scalar.value};
        file.add(scalar.step, scalar.wall_time, std::span(&one, 1));
    }
    const std::vector<app::ReadScalar> again = app::read_scalars(path);
    must(again.size() == scalars.size(), "as many numbers");
    for (std::size_t i = 0; i < scalars.size(); ++i) must(same(again[i], scalars[i]), "the same number");
}

}  // namespace heddle::fuzz
