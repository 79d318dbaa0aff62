#include "apps/command/run_search.h"
#include "core/number_text.h"

#include <fmt/format.h>

#include <chrono>
#include <sstream>

#include "apps/command/option_rows.h"
#include "apps/translation/run/log.h"
#include "apps/translation/training/clock.h"
#include "core/file.h"

namespace heddle::app {
namespace {

// To translate a sentence with beam 5 takes about as long as to learn from a pair once, and five penalties are tried.
constexpr std::int64_t learned_pairs_for_one = 250;

OptionTable search_table(DecodeOptions& decode) {
    OptionTable table("translate", "");
    add_length_penalty_option(table, decode);
    return table;
}

}  // namespace

bool take_search_of(const std::filesystem::path& run, const OptionTable& table, DecodeOptions& decode) {
    const std::filesystem::path file = run / search_file_name;
    if (table.given("length-penalty") || !std::filesystem::exists(file)) return false;
    std::istringstream text(read_regular_file(file));
    search_table(decode).read_config(text, file.string());
    return true;
}

void write_search(const std::filesystem::path& run, double length_penalty) {
    DecodeOptions decode{.length_penalty = length_penalty};
    const OptionTable table = search_table(decode);
    std::string text = "# what heddle translate and evaluate take unless it is given; heddle evaluate --tune RUN chooses again\n";
    for (const Option& option : table.options()) text += fmt::format("{} = {}\n", option.name, option.write());
    write_file_atomically(run / search_file_name, text);
}

Aim aim_of(const DataOptions& data) { return data.task.empty() ? Aim::bleu : Aim::exact; }

std::string trial_text(const PenaltyTrial& trial, Aim aim) {
    const std::string score = aim == Aim::exact
                                  ? fmt::format("{:.2f} % exact", trial.score)
                                  : fmt::format("BLEU {:.2f} (brevity penalty {:.3f})", trial.score, trial.brevity_penalty);
    return fmt::format("length penalty {}: {}", trial.length_penalty, score);
}

std::string choice_text(const PenaltyChoice& choice, Aim aim, std::int64_t sentences) {
    const std::string best = fmt::format("{} of {} validation pairs", trial_text(choice.best, aim), grouped_text(sentences));
    if (choice.best.length_penalty == choice.before.length_penalty) return best;
    return best + ", instead of " + trial_text(choice.before, aim);
}

bool tune_search(const std::filesystem::path& run, const nn::Transformer& model, const Vocabularies& vocabularies,
                 const Corpus& validation, Aim aim, std::int64_t learned, const Say& say, const std::function<bool()>& stop,
                 const Decoders& decoders) {
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t affordable = std::min(learned / learned_pairs_for_one, most_tuning_sentences);
    const Corpus sample = tuning_sample(validation, affordable);
    if (sample.size() < least_tuning_sentences) return true;
    say(fmt::format("choosing the length penalty by {} validation pairs", grouped_text(sample.size())));
    const auto tried = [&](const PenaltyTrial& trial) { say("  " + trial_text(trial, aim)); };
    const std::optional<PenaltyChoice> choice =
        choose_length_penalty(model, vocabularies, sample, {}, aim, {tried, stop}, decoders);
    if (!choice) return false;
    write_search(run, choice->best.length_penalty);
    say(fmt::format("{} (chosen in {:.1f} s, in {})", choice_text(*choice, aim, sample.size()), seconds_since(start),
                    (run / search_file_name).string()));
    return true;
}

}  // namespace heddle::app
