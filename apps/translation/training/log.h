// The log of a training run: lines on stderr, JSON lines in a file, and numbers as events for TensorBoard.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "apps/translation/run/append_file.h"
#include "apps/translation/run/events.h"
#include "apps/translation/run/state.h"
#include "apps/translation/training/results.h"
#include "core/enum_words.h"

namespace heddle::app {

/// What a log line says: "update": tokens per second, gradient, rate and ETA; "batch": `epoch 1, batch 5/88, loss 6.1034, acc
/// 0.0812` and the times of loading and step.
enum class LogStyle : std::uint8_t { update, batch };
constexpr auto enum_words(LogStyle) { return words_for<LogStyle>({{LogStyle::update, "update"}, {LogStyle::batch, "batch"}}); }

/// Writes to stderr and, if a file is given, appends JSON lines to it and the numbers to the event file beside it. A failing log
/// does not stop training: lines that cannot be written are lost, which is reported once, on stderr or, if stderr fails, in the
/// file.
class TrainingLog {
  public:
    /// `file` may be empty: no JSON. Error when it cannot be opened. If stderr is not a terminal, progress() writes a line after
    /// a silence of more than `longest_silence`.
    explicit TrainingLog(const std::filesystem::path& file = {}, bool quiet = false, LogStyle style = LogStyle::update,
                         std::chrono::steady_clock::duration longest_silence = std::chrono::seconds(30));
    ~TrainingLog();

    /// The lengths of the files so far; 0 without files.
    LogLengths lengths();
    /// Cuts the files back to their lengths at a save, and to whole lines and records, since they may have been shortened or
    /// replaced. Without `scalars` all_scalars.json is removed, otherwise it is rewritten if it exists. Error when that fails.
    void cut_back(const LogLengths& to, bool scalars);

    /// Writes the log line, and its numbers to the file.
    void interval(const IntervalReport& report);
    /// Writes the numbers for TensorBoard.
    void events(const IntervalReport& report);
    /// Writes all numbers written for TensorBoard so far to all_scalars.json.
    void export_scalars();
    void validation(const ValidationReport& report);
    /// Writes a line of text, such as what was read or why the run ended.
    void note(std::string_view text);
    /// From now on gives each note that begins with "warning: " to this, too; empty: to nobody.
    void pass_warnings(std::function<void(std::string_view)> warned) { warned_ = std::move(warned); }
    /// On a terminal: shows a progress line, updated at most twice a second. Otherwise writes a log line after a long silence,
    /// so that a slow run does not seem to hang. Not written to the file.
    void progress(const IntervalReport& report);
    /// True if progress() would write such a log line now.
    bool progress_is_due() const;

  private:
    void line(std::string_view text);
    void line(const IntervalReport& report);
    void json(std::string_view object);
    bool written(bool& fails, const std::function<void()>& write);
    void add_event(std::int64_t update, std::span<const Scalar> numbers);
    void clear_progress();

    std::filesystem::path path_;
    std::optional<AppendFile> file_;
    std::optional<EventFile> events_;
    // Outputs whose last write failed, so that each failure is reported once.
    struct Fails {
        bool file = false, events = false, scalars = false;
    } fails_;
    bool console_failed_ = false;  // stays set: a stderr that comes and goes is reported once, too
    std::int64_t missing_ = 0;     // lines of the file lost since the last one that could be written
    bool quiet_;
    std::function<void(std::string_view)> warned_;
    LogStyle style_;
    bool terminal_;
    bool showing_progress_ = false;
    std::chrono::steady_clock::time_point last_progress_{};
    std::chrono::steady_clock::duration longest_silence_;
    std::chrono::steady_clock::time_point last_line_ = std::chrono::steady_clock::now();
};

}  // namespace heddle::app
