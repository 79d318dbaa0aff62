// The version and commit of this build.
#pragma once

#include "core/version.h"

namespace heddle::app {

/// The git commit that was built: "a160b23c4d5e", with "-dirty" if files differed from it; "" outside a checkout and in tests.
/// Written by cmake/commit.cmake at each build and linked into the program only, so that a commit recompiles nothing else.
extern const char* const build_commit;

}  // namespace heddle::app
