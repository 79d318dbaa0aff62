#include "core/error.h"

namespace heddle {

void fail(const std::string& message) { throw Error(message); }

}  // namespace heddle
