// Which build of Heddle this is.
#pragma once

#include "core/version.h"

namespace heddle::app {

/// The git commit that was built: "a160b23c4d5e", with "-dirty" when files differed from it, "" when it was no checkout or this
/// is no program. Written by cmake/commit.cmake at each build and linked into the program only, so that a commit makes nothing
/// else be built again.
extern const char* const build_commit;

}  // namespace heddle::app
