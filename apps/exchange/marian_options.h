// The options of a Marian model, which Marian keeps as YAML in model.npz (special:model.yml), model.npz.yml and decoder.yml.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::app {

/// The part of YAML that Marian writes: `key: value` lines, and lists as `[a, b]` or a line `- value` for each. A value is plain
/// or in quotes.
class MarianOptions {
  public:
    /// Error, with `name` and the line, for anything else and for a key that occurs twice.
    MarianOptions(std::string_view text, std::string_view name);

    const std::string& name() const { return name_; }
    bool contains(std::string_view key) const { return values_.contains(key); }
    /// The values of a list, or the one value; none if the option is not there.
    const std::vector<std::string>& list(std::string_view key) const;
    /// The one value; `fallback` if the option is not there. Error when it has another number of values or is not of the type.
    std::string text(std::string_view key, std::string_view fallback = "") const;
    bool flag(std::string_view key, bool fallback = false) const;
    std::int64_t number(std::string_view key, std::int64_t fallback) const;
    double real(std::string_view key, double fallback) const;

  private:
    [[noreturn]] void wrong(std::string_view key, std::string_view wanted) const;

    std::string name_;
    std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

}  // namespace heddle::app
