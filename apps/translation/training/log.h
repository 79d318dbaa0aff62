// The log of a training run: lines on stderr, everything also as JSON lines in a file, the numbers as events for TensorBoard.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// Writes to stderr and, when a file is given, appends JSON lines to it and the numbers to the event file beside it. A failing
/// log does not stop a training: lines that cannot be written are lost, and that is reported once where it still can be: on
/// stderr, or in the file if stderr fails.
class TrainingLog {
  public:
    /// `file` may be empty: no JSON then. Error when it cannot be opened.
    /// Where stderr is no terminal, progress() breaks a silence of more than `longest_silence`.
    explicit TrainingLog(const std::filesystem::path& file = {}, bool quiet = false, LogStyle style = LogStyle::update,
                         std::chrono::steady_clock::duration longest_silence = std::chrono::seconds(30));
    ~TrainingLog();

    /// Of the files so far; 0 without files.
    LogLengths lengths();
    /// Cuts the files back to what they were when a save was made, and to whole lines and records: they may have been shortened
    /// or replaced since. all_scalars.json is rewritten if it exists or, without `scalars`, removed. Error when that fails.
    void cut_back(const LogLengths& to, bool scalars);

    /// The log line, and its numbers in the file.
    void interval(const IntervalReport& report);
    /// The numbers for TensorBoard.
    void events(const IntervalReport& report);
    /// Writes all numbers for TensorBoard so far into all_scalars.json.
    void export_scalars();
    void validation(const ValidationReport& report);
    /// A line of text, for example what was read or why the run ended.
    void note(std::string_view text);
    /// On a terminal: a progress line, updated at most twice a second. Elsewhere a log line after a long silence, so that a slow
    /// run does not seem to hang; the file gets neither.
    void progress(const IntervalReport& report);
    /// Whether progress() would write such a log line now.
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
    // What could not be written the last time, so that it is reported once.
    struct Fails {
        bool file = false, events = false, scalars = false;
    } fails_;
    bool console_failed_ = false;  // at least once: a stderr that comes and goes is reported once, too
    std::int64_t missing_ = 0;     // lines of the file, since the last one that could be written
    bool quiet_;
    LogStyle style_;
    bool terminal_;
    bool showing_progress_ = false;
    std::chrono::steady_clock::time_point last_progress_{};
    std::chrono::steady_clock::duration longest_silence_;
    std::chrono::steady_clock::time_point last_line_ = std::chrono::steady_clock::now();
};

}  // namespace heddle::app
