#include "apps/translation/training/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "apps/terminal/terminal.h"
#include "apps/translation/run/json.h"
#include "core/file.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::app {

namespace {

std::vector<Scalar> scalars(const ValidationReport& r) {
    const bool mean = r.averaged > 0;
    std::vector<Scalar> all = {{mean ? "average/loss" : "validation/loss", r.loss},
                               {mean ? "average/perplexity" : "validation/perplexity", r.perplexity},
                               {mean ? "average/accuracy" : "validation/accuracy", r.accuracy}};
    if (r.bits_per_byte) all.push_back({mean ? "average/bits_per_byte" : "validation/bits_per_byte", *r.bits_per_byte});
    if (r.chrf) all.push_back({mean ? "average/chrf" : "validation/chrf", *r.chrf});
    if (r.bleu) all.push_back({mean ? "average/bleu" : "validation/bleu", *r.bleu});
    if (r.exact_share()) all.push_back({mean ? "average/exact" : "validation/exact", *r.exact_share()});
    return all;
}

// " | BLEU 31.42, exact 12.5 % of 200 sentences (greedy)", preceded by chrF2 if it is more informative, and with BLEU's
// tokenizer unless it is 13a.
std::string translations_text(const ValidationReport& r) {
    if (r.bits_per_byte) return fmt::format(" | {:.4f} bits per byte", *r.bits_per_byte);
    if (!r.exact_share()) return "";
    std::string scores;
    if (r.chrf) scores += fmt::format("chrF2 {:.2f}, ", *r.chrf);
    const bool western = r.tokenizer == Tokenizer::mteval_13a;
    if (r.bleu && r.bleu_applies)
        scores += fmt::format("BLEU {:.2f}{}, ", *r.bleu, western ? "" : fmt::format(" ({})", word_of(r.tokenizer)));
    return fmt::format(" | {}exact {:.1f} % of {} sentences (greedy)", scores, 100 * *r.exact_share(),
                       grouped_text(r.translated));
}

std::string speed_text(double tokens_per_second) {
    return tokens_per_second > 0 ? grouped_text(std::llround(tokens_per_second)) : "?";
}

// Cuts the file to at most `length` bytes. `whole` tells how many of these are usable; after a power failure some may not be.
void cut(const std::filesystem::path& path, std::int64_t length, std::size_t (*whole)(std::string_view)) {
    const std::string bytes = read_file(path);
    const std::size_t kept = whole(std::string_view(bytes).substr(0, static_cast<std::size_t>(length)));
    std::error_code failed;
    if (kept < bytes.size()) std::filesystem::resize_file(path, kept, failed);
    check(!failed, "{}: cannot be written: {}", path.string(), failed.message());
}

std::size_t whole_lines(std::string_view text) { return text.rfind('\n') + 1; }  // npos + 1 is 0

}  // namespace

TrainingLog::TrainingLog(const std::filesystem::path& file, bool quiet, LogStyle style,
                         std::chrono::steady_clock::duration longest_silence)
    : path_(file), quiet_(quiet), style_(style), terminal_(isatty(STDERR_FILENO) == 1), longest_silence_(longest_silence) {
    if (file.empty()) return;
    file_.emplace(file);
    events_.emplace(file.parent_path() / event_file_name);
}

LogLengths TrainingLog::lengths() {
    if (!file_) return {};
    return {.log = file_->length(), .events = events_->length()};
}

void TrainingLog::cut_back(const LogLengths& to, bool scalars) {
    if (!file_) return;
    const std::filesystem::path events = path_.parent_path() / event_file_name;
    events_.reset();
    cut(path_, to.log, whole_lines);
    cut(events, to.events, whole_records);
    events_.emplace(events);
    const std::filesystem::path exported = path_.parent_path() / scalars_file_name;
    std::error_code failed;
    if (!scalars) std::filesystem::remove(exported, failed);  // it would become outdated
    check(!failed, "{}: cannot be removed: {}", exported.string(), failed.message());
    if (std::filesystem::exists(exported)) export_scalars();
}

TrainingLog::~TrainingLog() { clear_progress(); }

void TrainingLog::clear_progress() {
    if (!showing_progress_) return;
    say_raw("\r\x1b[K");
    showing_progress_ = false;
}

void TrainingLog::line(std::string_view text) {
    if (quiet_) return;
    clear_progress();
    last_line_ = std::chrono::steady_clock::now();
    const bool said = say(text);
    const int error = errno;
    if (!said && !std::exchange(console_failed_, true))
        json(json_text({{"kind", "note"},
                        {"text", fmt::format("stderr: cannot be written: {}; training goes on, and this file alone tells of it",
                                             std::generic_category().message(error))}}));
}

// Returns whether writing succeeded.
bool TrainingLog::written(bool& fails, const std::function<void()>& write) {
    try {
        write();
        fails = false;
    } catch (const Error& error) {
        if (!std::exchange(fails, true)) line(fmt::format("{}; training goes on without", error.what()));
    }
    return !fails;
}

void TrainingLog::line(const IntervalReport& r) {
    if (style_ == LogStyle::batch)
        line(fmt::format("epoch {}, batch {}/{}, loss {:.4f}, acc {:.4f}, loading {:.3f} s, step {:.3f} s", r.epoch, r.batch,
                         r.batches, r.loss, r.accuracy, r.loading, r.step));
    else
        line(fmt::format(
            "epoch {:>3} | update {:>6} | sentences {:>9} | loss {:.4f} | {:>7} tokens/s | gradient {:.3f} | rate {:.2e} "
            "| ETA {}",
            r.epoch, r.update, grouped_text(r.sentences), r.loss, speed_text(r.tokens_per_second), r.gradient_norm,
            r.learning_rate, duration_text(r.eta)));
}

void TrainingLog::json(std::string_view object) {
    if (!file_) return;
    std::string lines;
    if (missing_ > 0) lines = json_text({{"kind", "note"}, {"text", fmt::format("{} lines are missing here", missing_)}}) + "\n";
    lines.append(object).append("\n");
    missing_ = written(fails_.file, [&] { file_->append(lines); }) ? 0 : missing_ + 1;
}

void TrainingLog::note(std::string_view text) {
    line(text);
    if (warned_ && text.starts_with("warning: ")) warned_(text);
    if (file_) json(json_text({{"kind", "note"}, {"text", text}}));
}

void TrainingLog::interval(const IntervalReport& r) {
    line(r);
    if (!file_) return;
    json(json_text({{"kind", "training"},
                    {"epoch", r.epoch},
                    {"update", r.update},
                    {"sentences", r.sentences},
                    {"loss", r.loss},
                    {"accuracy", r.accuracy},
                    {"loading_seconds", r.loading},
                    {"step_seconds", r.step},
                    {"tokens_per_second", std::round(r.tokens_per_second)},
                    {"gradient_norm", r.gradient_norm},
                    {"learning_rate", r.learning_rate},
                    {"seconds", r.elapsed},
                    {"eta", r.eta}}));
}

void TrainingLog::add_event(std::int64_t update, std::span<const Scalar> numbers) {
    if (events_) written(fails_.events, [&] { events_->add(update, wall_time(), numbers); });
}

void TrainingLog::events(const IntervalReport& r) {
    const Scalar numbers[] = {{"train/loss", r.loss},
                              {"train/accuracy", r.accuracy},
                              {"train/tokens_per_second", r.tokens_per_second},
                              {"train/gradient_norm", r.gradient_norm},
                              {"train/learning_rate", r.learning_rate}};
    add_event(r.update, numbers);
}

void TrainingLog::export_scalars() {
    if (!file_) return;
    written(fails_.scalars, [&] {
        nlohmann::ordered_json all = nlohmann::ordered_json::object();
        for (const ReadScalar& scalar : read_scalars(path_.parent_path() / event_file_name))
            all[scalar.tag].push_back({scalar.wall_time, scalar.step, scalar.value});
        write_file_atomically(path_.parent_path() / scalars_file_name, json_text(all) + "\n");
    });
}

void TrainingLog::validation(const ValidationReport& r) {
    const std::string what = r.averaged > 0 ? fmt::format("average of {} validations", r.averaged) : "validation";
    line(fmt::format("{} | update {} | loss {:.4f} | perplexity {:.3f} | accuracy {:.2f} %{} | {:.1f} s{}", what, r.update,
                     r.loss, r.perplexity, 100 * r.accuracy, translations_text(r), r.seconds, r.best ? " | best so far" : ""));
    for (const TranslatedSample& sample : r.samples) {
        if (r.bits_per_byte) {
            line("    sample      " + sample.hypothesis);
            continue;
        }
        line("    source      " + sample.source);
        line("    reference   " + sample.reference);
        line("    translation " + sample.hypothesis);
    }
    if (!file_) return;
    add_event(r.update, scalars(r));
    nlohmann::ordered_json object = {{"kind", r.averaged > 0 ? "average" : "validation"},
                                     {"epoch", r.epoch},
                                     {"update", r.update},
                                     {"loss", r.loss},
                                     {"perplexity", r.perplexity},
                                     {"accuracy", r.accuracy}};
    if (r.bits_per_byte) object["bits_per_byte"] = *r.bits_per_byte;
    if (r.bleu) {
        object["bleu"] = *r.bleu;
        object["bleu_applies"] = r.bleu_applies;
        object["translated"] = r.translated;
        object["exact"] = r.exact;
    }
    if (r.exact_share()) object["exact_share"] = *r.exact_share();
    if (r.bleu) object["bleu_tokenizer"] = word_of(r.tokenizer);
    if (r.chrf) object["chrf"] = *r.chrf;
    object["seconds"] = r.seconds;
    object["best"] = r.best;
    for (const TranslatedSample& sample : r.samples)
        object["samples"].push_back(
            {{"source", sample.source}, {"reference", sample.reference}, {"translation", sample.hypothesis}});
    json(json_text(object));
}

bool TrainingLog::progress_is_due() const {
    return !quiet_ && !terminal_ && std::chrono::steady_clock::now() - last_line_ >= longest_silence_;
}

void TrainingLog::progress(const IntervalReport& r) {
    if (progress_is_due()) return line(r);
    if (quiet_ || !terminal_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_progress_ < std::chrono::milliseconds(500)) return;
    last_progress_ = now;
    showing_progress_ = true;
    const std::string text = fmt::format("\r\x1b[Kepoch {} | update {} | loss {:.4f} | {} tokens/s | ETA {}", r.epoch, r.update,
                                         r.loss, speed_text(r.tokens_per_second), duration_text(r.eta));
    say_raw(text);
}

}  // namespace heddle::app
