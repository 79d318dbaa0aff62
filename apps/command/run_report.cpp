#include "apps/command/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "apps/command/commands.h"
#include "apps/terminal/error_text.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/report/training.h"
#include "apps/translation/run/clock.h"
#include "core/file.h"
#include "core/text.h"

namespace heddle::app {
namespace {

// The command, ready to be run again; a long one is broken before options.
std::string command_of(Arguments arguments) {
    constexpr std::size_t longest_line = 100;
    std::string command = "heddle train";
    std::size_t line = command.size();
    for (const char* argument : arguments) {
        const std::string word = shell_word(argument);
        const bool full = line + word.size() > longest_line && word.starts_with("--");
        command += full ? " \\\n    " + word : " " + word;
        line = full ? 4 + word.size() : line + 1 + word.size();
    }
    return command;
}

std::string version_text() {
    const std::string_view commit = build_commit;
    return commit.empty() ? fmt::format("heddle {}", version) : fmt::format("heddle {} ({})", version, commit);
}

// The folder's name: "x" for runs/x, for runs/x/ and for "." inside it.
std::string name_of(const std::filesystem::path& run) {
    const std::filesystem::path whole = std::filesystem::absolute(run).lexically_normal();
    return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

// The shortest sample of the last validation, else the first sentence of the data.
std::string sentence_of(const TrainingHistory& history, const TrainingData& data) {
    std::string chosen;
    for (const ValidationReport& report : history.validations)
        if (!report.samples.empty()) {
            const auto shorter = [](const TranslatedSample& a, const TranslatedSample& b) {
                return a.source.size() < b.source.size();
            };
            chosen = std::min_element(report.samples.begin(), report.samples.end(), shorter)->source;
        }
    if (chosen.empty() && !data.validation_text.pairs.empty()) chosen = data.validation_text.pairs.front().source;
    return chosen.empty() ? data.vocabularies.source->decode(data.pairs().pair(0).source) : chosen;
}

std::string data_text(const nn::Transformer& model, const TrainingData& data) {
    const Vocabularies& both = data.vocabularies;
    if (model.options().decoder_only)
        return fmt::format("{} parameters; a vocabulary of {} tokens; {} lines to learn from, {} to validate",
                           grouped_text(model.parameter_count()), grouped_text(both.target->size()),
                           grouped_text(data.pairs().size()), grouped_text(std::ssize(data.validation)));
    const std::string source = grouped_text(both.source->size());
    const std::string tokens = both.shared()
                                   ? fmt::format("a vocabulary of {} tokens for both languages", source)
                                   : fmt::format("a vocabulary of {} tokens for the source and one of {} for the target", source,
                                                 grouped_text(both.target->size()));
    return fmt::format("{} parameters; {}; {} sentence pairs to learn from, {} to validate",
                       grouped_text(model.parameter_count()), tokens, grouped_text(data.pairs().size()),
                       grouped_text(static_cast<std::int64_t>(data.validation.size())));
}

LookedAt look_at(const nn::Transformer& model, const Vocabularies& vocabularies, const std::string& sentence) {
    const Translation found = Translator(model, vocabularies, {.beam = 1}).translate({sentence}).front().front();
    TranslationAttention attention = attention_of(model, vocabularies, sentence, found);
    std::vector<DecodingStep> steps = decoding_steps(model, *vocabularies.target, attention, likeliest_shown);
    return {sentence, found.text, std::move(attention), std::move(steps)};
}

}  // namespace

void write_run_report(const RunFolder& folder, const TrainingStart& start, const Trainer& trainer, nn::Transformer& model,
                      TrainingLog& log, const std::string& ended) {
    const auto begin = std::chrono::steady_clock::now();
    const std::filesystem::path file = folder.path() / "report.html";
    model.eval();
    ReportParts parts{.command = command_of(start.arguments),
                      .version = version_text(),
                      .config = {},
                      .machine = description(start.settings.machine),
                      .ended = ended,
                      .data = data_text(model, start.data),
                      .since_last_line = trainer.since_last_line()};
    const auto attempt = [&](const char* what, const std::function<void()>& part) {
        try {
            part();
        } catch (const std::exception& error) {
            parts.remarks.push_back(fmt::format("{}: {}", what, error_text(error)));
        }
    };
    try {
        parts.config = read_regular_file(folder.path() / "config.toml");
        const TrainingHistory history = read_history(folder.log());
        if (!model.options().decoder_only)
            attempt("Without attention", [&] {
                parts.looked_at.push_back(look_at(model, start.data.vocabularies, sentence_of(history, start.data)));
            });
        attempt("Without the time of an update", [&] { parts.times = measure_update(model, trainer); });
        write_file_atomically(file, training_report(name_of(folder.path()), history, parts).html());
        log.note(fmt::format("wrote {} in {:.1f} s", file.string(), seconds_since(begin)));
    } catch (const std::exception& error) {  // anything: a failing report must not hide how the training ended
        log.note(fmt::format("no report: {}", error_text(error)));
    }
}

}  // namespace heddle::app
