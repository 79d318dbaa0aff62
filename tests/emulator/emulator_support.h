// Runs a kernel in the emulator without streams or device memory, for tests of the emulator itself.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/emulator/launch.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"

namespace heddle::emulator {

/// Geometry of a launch; one warp by default.
struct Geometry {
    dim3 grid{1};
    dim3 block{32};
    std::size_t shared = 0;
    int cluster = 1;
    bool cooperative = false;
};

template <class... Parameters, class... Arguments>
LaunchRequest request_for(const Geometry& geometry, void (*kernel)(Parameters...), Arguments... arguments) {
    const LaunchConfig config{.grid = geometry.grid,
                              .block = geometry.block,
                              .shared = geometry.shared,
                              .cluster = geometry.cluster,
                              .cooperative = geometry.cooperative};
    return request(config, kernel, static_cast<Parameters>(arguments)...);
}

template <class... Parameters, class... Arguments>
void run_kernel(const Geometry& geometry, void (*kernel)(Parameters...), Arguments... arguments) {
    run(request_for(geometry, kernel, arguments...));
}

/// The message with which the launch is abandoned; "" if nothing is wrong.
template <class... Parameters, class... Arguments>
std::string violation_of(const Geometry& geometry, void (*kernel)(Parameters...), Arguments... arguments) {
    try {
        run(request_for(geometry, kernel, arguments...));
    } catch (const Violation& violation) {
        return violation.what();
    }
    return "";
}

/// Expects that in each of 20 random orders the launch is abandoned with a message that has all of `parts`.
template <class... Parameters, class... Arguments>
void expect_violation(const std::vector<std::string>& parts, const Geometry& geometry, void (*kernel)(Parameters...),
                      Arguments... arguments) {
    for (std::uint64_t order = 0; order < 20; ++order) {
        set_seed(order);
        const std::string text = violation_of(geometry, kernel, arguments...);
        for (const std::string& part : parts)
            EXPECT_NE(text.find(part), std::string::npos)
                << "seed " << order << ": missing \"" << part << "\" in \"" << text << "\"";
    }
}

}  // namespace heddle::emulator
