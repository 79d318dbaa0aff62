#include "apps/command/run_search.h"

#include <fmt/format.h>

#include <chrono>
#include <sstream>

#include "apps/translation/run/clock.h"
#include "core/file.h"
#include "core/text.h"

namespace heddle::app {
namespace {

// Trying five penalties on a sentence, with beam 5, takes about as long as learning from 5 pairs: 2 % of the training.
constexpr std::int64_t learned_pairs_for_one = 250;

OptionTable search_table(DecodeOptions& decode, bool& forbid_unknown) {
    OptionTable table("translate", "");
    add_length_penalty_option(table, decode);
    add_forbid_unknown_option(table, forbid_unknown);
    return table;
}

}  // namespace

DecodeOptions RunSearch::options() const {
    DecodeOptions decode;
    decode.length_penalty = length_penalty.value_or(decode.length_penalty);
    if (forbid_unknown) decode.forbidden = {unk_id};
    return decode;
}

RunSearch read_search(const std::filesystem::path& run) {
    const std::filesystem::path file = run / search_file_name;
    if (!std::filesystem::exists(file)) return {};
    std::istringstream text(read_regular_file(file));
    DecodeOptions decode;
    RunSearch search;
    OptionTable table = search_table(decode, search.forbid_unknown);
    table.read_config(text, file.string());
    if (table.given("length-penalty")) search.length_penalty = decode.length_penalty;
    return search;
}

bool take_search_of(const std::filesystem::path& run, const OptionTable& table, DecodeOptions& decode, bool& forbid_unknown) {
    const bool takes_penalty = !table.given("length-penalty"), takes_unknown = !table.given("forbid-unknown");
    if (!takes_penalty && !takes_unknown) return false;
    const RunSearch search = read_search(run);
    if (takes_unknown) forbid_unknown = search.forbid_unknown;
    if (!takes_penalty || !search.length_penalty) return false;
    decode.length_penalty = *search.length_penalty;
    return true;
}

void write_search(const std::filesystem::path& run, const RunSearch& search) {
    DecodeOptions decode = search.options();
    bool forbid_unknown = search.forbid_unknown;
    const OptionTable table = search_table(decode, forbid_unknown);
    std::string text = "# what heddle translate and evaluate take unless it is given; heddle evaluate --tune RUN chooses again\n";
    for (const Option& option : table.options()) {
        const bool holds = option.name == "length-penalty" ? search.length_penalty.has_value() : search.forbid_unknown;
        if (holds) text += fmt::format("{} = {}\n", option.name, option.write());
    }
    write_file_atomically(run / search_file_name, text);
}

std::string trial_text(const PenaltyTrial& trial, const Criterion& criterion) {
    if (!criterion.metric) return fmt::format("length penalty {}: {:.2f} % exact", trial.length_penalty, trial.score);
    const bool names_tokenizer = criterion.metric == Metric::bleu && criterion.tokenizer != Tokenizer::mteval_13a;
    return fmt::format("length penalty {}: {} {:.2f} ({}brevity penalty {:.3f})", trial.length_penalty, name(*criterion.metric),
                       trial.score, names_tokenizer ? fmt::format("{}, ", word_of(criterion.tokenizer)) : "",
                       trial.brevity_penalty);
}

std::string choice_text(const PenaltyChoice& choice, const Criterion& criterion, std::int64_t sentences) {
    const std::string best =
        fmt::format("{} of {} validation pairs", trial_text(choice.best, criterion), grouped_text(sentences));
    if (choice.best.length_penalty == choice.before.length_penalty) return best;
    return best + ", instead of " + trial_text(choice.before, criterion);
}

bool tune_search(const std::filesystem::path& run, const nn::Transformer& model, const Vocabularies& vocabularies,
                 const Corpus& validation, bool by_exact, std::int64_t learned, const Say& say, const std::function<bool()>& stop,
                 const Decoders& decoders) {
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t affordable = std::min(learned / learned_pairs_for_one, most_tuning_sentences);
    const Corpus sample = tuning_sample(validation, affordable);
    if (sample.size() < least_tuning_sentences) return true;
    const Criterion criterion = by_exact ? Criterion{} : criterion_of(sample);
    say(fmt::format("choosing the length penalty by {} validation pairs", grouped_text(sample.size())));
    const auto tried = [&](const PenaltyTrial& trial) { say("  " + trial_text(trial, criterion)); };
    RunSearch search{.forbid_unknown = read_search(run).forbid_unknown};
    const std::optional<PenaltyChoice> choice =
        choose_length_penalty(model, vocabularies, sample, search.options(), criterion, {tried, stop}, decoders);
    if (!choice) return false;
    search.length_penalty = choice->best.length_penalty;
    write_search(run, search);
    say(fmt::format("{} (chosen in {:.1f} s, in {})", choice_text(*choice, criterion, sample.size()), seconds_since(start),
                    (run / search_file_name).string()));
    return true;
}

}  // namespace heddle::app
