// Training that ran away.
#pragma once

#include "core/error.h"

namespace heddle::app {

/// The loss or the gradient is NaN or infinite; the program ends with status 3.
class Divergence : public Error {
  public:
    using Error::Error;
};

}  // namespace heddle::app
