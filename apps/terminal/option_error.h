// Errors about options of the command line.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace heddle::app {

/// A UsageError that knows which options it is about: a preset that set one of them can then be named.
class OptionError : public UsageError {
  public:
    /// `options`: their names, without the dashes.
    OptionError(std::vector<std::string> options, const std::string& message)
        : UsageError(message), options_(std::move(options)) {}
    const std::vector<std::string>& options() const { return options_; }

  private:
    std::vector<std::string> options_;
};

/// Throws an OptionError about these options unless `good`.
inline void check_option(bool good, std::initializer_list<std::string_view> options, const std::string& message) {
    if (!good) throw OptionError({options.begin(), options.end()}, message);
}

}  // namespace heddle::app
