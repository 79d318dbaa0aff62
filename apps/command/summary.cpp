#include "nn/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "apps/command/commands.h"
#include "apps/command/memory_advice.h"
#include "apps/command/option_rows.h"
#include "apps/command/run.h"
#include "apps/command/summary_report.h"
#include "apps/options/suggestion.h"
#include "apps/presets/presets.h"
#include "apps/terminal/option_error.h"
#include "apps/terminal/terminal.h"
#include "core/text.h"

namespace heddle::app {
namespace {

struct SummaryOptions {
    std::string run;
    std::string preset;
    std::optional<std::string> input;
    std::string module;
    std::optional<std::int64_t> depth;
    bool json = false;
    std::int64_t vocab_size = default_subwords;
    std::optional<std::int64_t> source_size;
    std::optional<std::int64_t> target_size;
    std::optional<bool> shared;
    nn::TransformerOptions model = default_model;
};

OptionTable options_table(SummaryOptions& options) {
    OptionTable table("summary", "prints a model as a table: shapes, parameters, mult-adds and memory of each module");
    table.usage =
        "usage: heddle summary RUN\n"
        "       heddle summary PRESET [model options]\n"
        "       heddle summary [model options] --input 32x50 --depth 2\n";
    table.group(OptionGroup::which_model);
    table.add("model", options.run, "the run's folder; model options are then taken from it").called("RUN");
    const std::vector<std::string> presets = add_preset_option(table, options.preset).positional().choices;
    table.find("model")->positional([presets](const std::string& word) {
        return std::filesystem::exists(std::filesystem::path(word) / "config.toml") || did_you_mean(word, presets).empty();
    });
    table.group(OptionGroup::what_to_show);
    table.add("input", options.input, "the batch: sentences x tokens, or sentences x source tokens x target tokens")
        .called("32x50")
        .defaults_to("1x32");
    table.add("depth", options.depth, "do not show deeper modules; the model itself is 0").at_least(0).defaults_to("all");
    table.add("module", options.module, "this module and what lies below; PATH* takes all modules that begin so").called("PATH");
    table.add("json", options.json, "one JSON object instead of the table");
    add_model_options(table, options.model);
    table.group(OptionGroup::vocabulary);
    table.add("vocab-size", options.vocab_size, "tokens").at_least(1);
    table.add("source-vocab-size", options.source_size, "tokens of the source, when the languages share none")
        .at_least(1)
        .defaults_to("as --vocab-size");
    table.add("target-vocab-size", options.target_size, "tokens of the target, when the languages share none")
        .at_least(1)
        .defaults_to("as --vocab-size");
    table.add("shared-vocab", options.shared, "one vocabulary for both languages").defaults_to("unless two sizes are given");
    return table;
}

// The batch is really run through the model, so a larger number must be a mistake.
constexpr std::int64_t most_tokens = 1'000'000;

// Parses "32x50" or "1x32x16".
nn::SummaryBatch batch_of(const std::optional<std::string>& input, const nn::TransformerOptions& model, bool of_run) {
    nn::SummaryBatch batch;
    if (!input) {
        batch.source = batch.target = std::min<std::int64_t>(batch.source, model.longest_sentence().value_or(batch.source));
        return batch;
    }
    const std::string& text = *input;
    std::vector<std::int64_t> numbers;
    const char* at = text.data();
    const char* const end = at + text.size();
    for (bool more = true; more && numbers.size() < 4;) {
        std::int64_t number = 0;
        const auto [rest, error] = std::from_chars(at, end, number);
        if (error != std::errc() || number < 1 || number > most_tokens) break;
        numbers.push_back(number);
        more = rest != end && *rest == 'x';
        at = more ? rest + 1 : rest;
    }
    check_usage(
        at == end && (numbers.size() == 2 || numbers.size() == 3),
        fmt::format("--input is '{}', wanted sentences x tokens such as 32x50, or sentences x source tokens x target tokens "
                    "such as 1x32x16",
                    text));
    batch = {.sentences = numbers[0], .source = numbers[1], .target = numbers.back()};
    const std::int64_t tokens = batch.sentences * std::max(batch.source, batch.target);
    check_usage(tokens <= most_tokens, fmt::format("--input {} has {} tokens on a side, wanted at most {}", text,
                                                   grouped_text(tokens), grouped_text(most_tokens)));
    if (const auto longest = model.longest_sentence())
        check_option(
            std::max(batch.source, batch.target) <= *longest, {"input", "position-table"},
            fmt::format("--input {} has sentences of {} tokens, but positions are learned for {}; give {}shorter sentences", text,
                        std::max(batch.source, batch.target), *longest, of_run ? "" : "a larger --position-table, or "));
    return batch;
}

std::unique_ptr<nn::Transformer> new_model(SummaryOptions& options) {
    VocabularyRequest vocabulary;
    vocabulary.shared = options.shared.value_or(!options.source_size && !options.target_size);
    vocabulary.source_size = options.source_size;
    vocabulary.target_size = options.target_size;
    resolve(options.model, vocabulary);
    const std::int64_t source = options.source_size.value_or(options.vocab_size),
                       target = options.target_size.value_or(options.vocab_size);
    const nn::TransformerOptions model = options.model.with_vocabularies(source, target);
    check_model_fits(model);
    return std::make_unique<nn::Transformer>(model);
}

// Reports an unknown --module as a usage error.
void check_module(const nn::Transformer& model, const std::string& module) {
    try {
        nn::part_of(model, module);
    } catch (const Error& error) {
        throw UsageError(fmt::format("--module {}: {}; heddle summary without it lists all modules", module, error.what()));
    }
}

int summary(SummaryOptions& options) {
    const std::unique_ptr<nn::Transformer> model = options.run.empty() ? new_model(options) : open_run(options.run).model;
    const nn::SummaryBatch batch = batch_of(options.input, model->options(), !options.run.empty());
    check_module(*model, options.module);
    const auto smaller_input = [&](std::int64_t less) {
        return fmt::format(
            "--input {}x{}x{} goes through the model: give fewer sentences, such as --input {}x{}x{}, or fewer tokens, or a "
            "smaller model",
            batch.sentences, batch.source, batch.target, std::max<std::int64_t>(1, batch.sentences / less), batch.source,
            batch.target);
    };
    const nn::ModelSummary summary =
        with_memory_advice(smaller_input, [&] { return nn::summarize(*model, batch, options.module); });
    print(options.json ? summary_json(summary, batch, options.depth) : summary_table(summary, batch, options.depth));
    return 0;
}

}  // namespace

int summary_command(Arguments arguments) {
    SummaryOptions options;
    OptionTable table = options_table(options);
    if (!parse_command_line(table, arguments)) return 0;
    if (!options.run.empty()) {
        for (const Option& option : table.options())
            check_usage(!option.given || option.name == "model" || option.group == OptionGroup::what_to_show,
                        "--" + option.name + " cannot be combined with --model, whose options are fixed; leave one out");
    }
    return with_preset(table, options.preset, [&] { return summary(options); });
}

}  // namespace heddle::app
