// The page of `heddle explain` for an answer of `heddle learn`.
#pragma once

#include "apps/explain/explanation.h"
#include "apps/learn/check.h"

namespace heddle::learn {

/// Of a check that kept its run: the kernels as far as they ran, with the verdict as finding unless it is a pass. `result.run`
/// must be there; it is moved from.
explain::Explanation explanation_of(const ExercisePage& page, CheckResult& result);

}  // namespace heddle::learn
