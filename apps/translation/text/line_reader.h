// Splits bytes into lines of clean text, by rules that all commands share.
//
//     A line ends with LF or CRLF; the last one needs no end. Nothing else ends a line: neither a lone CR (as old Macintosh files
//     have it) nor U+0085, U+2028 or U+2029; they stay in it, as tabs, control characters and all kinds of spaces do. A byte
//     order mark at the start of the text is dropped. Bytes that are not UTF-8, and NUL, are an error or become U+FFFD. A line
//     too long to be a sentence is cut.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/translation/text/byte_source.h"
#include "apps/translation/text/unreadable_text.h"

namespace heddle::app {

/// Receives one line for the user.
using Say = std::function<void(std::string_view)>;

/// Maximum bytes of a line; longer ones are cut, between characters. That is some ten thousand words, far more than a position
/// table holds, and little enough that a file without line ends costs no memory.
inline constexpr std::size_t longest_line = 65536;

/// Numbers of lines that were changed.
struct LineChanges {
    std::int64_t replaced = 0;  ///< had bytes that are not UTF-8, or NUL: each became U+FFFD
    std::int64_t cut = 0;       ///< were longer than longest_line
};

class LineReader {
  public:
    /// `path` "-" is standard input. `replace_invalid`: bytes that are not text become U+FFFD instead of an error.
    LineReader(const std::string& path, bool replace_invalid) : source_(path), replace_invalid_(replace_invalid) {}
    /// Reads from an open descriptor; `name` is used in errors.
    LineReader(int descriptor, std::string name, bool replace_invalid)
        : source_(descriptor, std::move(name)), replace_invalid_(replace_invalid) {}

    /// The beginning of the text, some thousand bytes or all there are, without consuming it. Waits for it. Only before anything
    /// was read.
    std::string_view beginning();
    /// Stops cutting long lines: for text whose lines are not sentences.
    void keep_whole_lines() { longest_ = std::string::npos; }

    /// Waits for the next line and returns it without its end; false at the end of the text. Error with name and line number
    /// when it is not UTF-8; errors of ByteSource.
    bool next(std::string& line);
    /// The next line if it is in memory already, or false. After at_end() this includes the last line.
    bool take(std::string& line);
    /// Waits for bytes and reads one block of them.
    void read_more();
    bool at_end() const { return at_end_; }
    /// True if read_more() can read without waiting, or within this many milliseconds.
    bool ready(int milliseconds = 0) const { return source_.ready(milliseconds); }

    const std::string& name() const { return source_.name(); }
    /// The number of the last line, from 1.
    std::int64_t number() const { return number_; }
    const LineChanges& changes() const { return changes_; }
    /// Says one line for each kind of change that occurred.
    void say_changes(const Say& say) const;

  private:
    std::string finished();
    [[noreturn]] void fail_at(const UnreadableLine& line) const;

    ByteSource source_;
    bool replace_invalid_;
    std::vector<char> block_ = std::vector<char>(1 << 16);
    std::string_view rest_;  // unread part of block_
    std::string begun_;      // the current line so far, up to the limit
    std::int64_t number_ = 0;
    bool at_end_ = false;
    bool in_utf8_ = false;  // a line had non-ASCII characters
    std::size_t longest_ = longest_line;
    LineChanges changes_;
};

/// The largest number of bytes, at most `size` and less than the text has, that ends with a complete character.
std::size_t whole_characters(std::string_view text, std::size_t size);
/// "1 line", "1,234 lines".
std::string counted_lines(std::int64_t count);

}  // namespace heddle::app
