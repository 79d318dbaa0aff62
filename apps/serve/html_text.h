// The text of an HTML fragment, apart from its tags.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::app {

/// A fragment cut into markup, which stays as it is, and lines of text to translate. Text between two tags is one line; white
/// space at its ends is markup. The content of script, style, code, pre, textarea and of elements with translate="no" is markup,
/// too.
class HtmlText {
  public:
    explicit HtmlText(std::string_view html);

    /// The texts in their order, with character references replaced by what they stand for.
    const std::vector<std::string>& lines() const { return lines_; }
    /// The fragment with `translations` in place of lines(), as many, escaped.
    std::string with(const std::vector<std::string>& translations) const;

  private:
    std::vector<std::string> markup_;  // one more than lines: before, between and behind them
    std::vector<std::string> lines_;
};

}  // namespace heddle::app
