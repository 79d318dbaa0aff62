#include "core/version.h"

namespace heddle {

const char* const version = HEDDLE_VERSION;

}  // namespace heddle
