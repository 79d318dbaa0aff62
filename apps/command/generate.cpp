#include "apps/translation/decoding/generate.h"

#include <fmt/format.h>

#include "apps/command/commands.h"
#include "apps/command/memory_advice.h"
#include "apps/command/option_rows.h"
#include "apps/command/run.h"
#include "apps/terminal/option_error.h"
#include "apps/terminal/terminal.h"
#include "core/text.h"

namespace heddle::app {
namespace {

struct GenerateOptions {
    std::vector<std::string> runs;
    WeightsChoice weights;
    std::string prompt;
    std::int64_t samples = 1;
    bool scores = false;
    std::optional<std::int64_t> max_tokens;
    Sampling sampling;
    MachineOptions machine;
};

OptionTable generate_table(GenerateOptions& options) {
    OptionTable table("generate", "draws texts from a language model that heddle train --task names or text made");
    table.usage =
        "usage: heddle generate RUN                                  (a text)\n"
        "       heddle generate RUN --prompt TEXT --samples 10       (ten texts that begin with TEXT)\n"
        "       heddle generate RUN --prompt TEXT --temperature 0    (the most probable token each time)\n\n"
        "Each text is one line, until the model ends it.\n";
    table.group(OptionGroup::model);
    add_models_options(table, options.runs, options.weights);
    table.group(OptionGroup::output);
    table.add("prompt", options.prompt, "every text begins with this, as the vocabulary reads it").called("TEXT");
    table.add("samples", options.samples, "texts to draw").at_least(1).at_most(100'000);
    table.add("scores", options.scores, "TEXT ||| log p, the prompt and the end mark counted");
    table.add("max-tokens", options.max_tokens, "tokens of a text at most, the prompt counted; longer ones are cut")
        .at_least(1)
        .at_most(1'000'000)
        .defaults_to("the prompt and --position-table more, as far as learned positions reach");
    table.group(OptionGroup::sampling);
    add_sampling_options(table, options.sampling, "the texts").at_least(0).help += "; 0: the likeliest";
    add_machine_options(table, options.machine);
    add_inference_options(table, options.machine);
    return table;
}

void check_sampling(const GenerateOptions& options, const OptionTable& table) {
    if (options.sampling.temperature > 0) return;
    for (const char* name : {"top-k", "top-p", "seed"})
        check_option(
            !table.given(name), {name, "temperature"},
            fmt::format("--{} draws, and --temperature 0 takes the most probable token each time; give one of them", name));
    check_option(options.samples == 1, {"samples", "temperature"},
                 fmt::format("--samples {} with --temperature 0 would be one text, {} times; leave one of them out",
                             options.samples, options.samples));
}

// Error unless a text may be longer than the prompt (or as long, where --max-tokens says so). `table`: what learned positions
// hold.
void check_prompt_fits(const GenerateOptions& options, std::int64_t prompt, std::optional<std::int64_t> table) {
    check_option(prompt <= options.max_tokens.value_or(prompt), {"prompt", "max-tokens"},
                 fmt::format("--prompt '{}' has {} tokens, and --max-tokens {} counts them; give --max-tokens {} or more",
                             options.prompt, prompt, options.max_tokens.value_or(0), prompt + 1));
    check_option(prompt < table.value_or(prompt + 1), {"prompt"},
                 fmt::format("--prompt has {} tokens, but the model's position table ends after {}; give a shorter prompt",
                             prompt, table.value_or(0)));
}

void generate(const GenerateOptions& options) {
    const EnsembleRun run = open_ensemble(options.runs, options.weights, options.machine);
    const Vocabulary& vocabulary = *run.vocabularies().target;
    const std::optional<std::int64_t> table = run.models().longest_sentence();
    nn::Tokens prompt = prompt_tokens("--prompt", options.prompt, vocabulary);
    check_prompt_fits(options, std::ssize(prompt), table);
    const std::vector<Translation> texts = generate_texts(
        run.models(), vocabulary,
        {.prompt = std::move(prompt), .count = options.samples, .sampling = options.sampling, .max_tokens = options.max_tokens});
    std::string lines;
    std::int64_t cut = 0;
    for (const Translation& each : texts) {
        lines += each.text;
        if (options.scores) lines += fmt::format(" ||| {:.6f}", each.log_probability);
        lines += '\n';
        cut += each.ended ? 0 : 1;
    }
    print(lines);
    const bool at_table = table && options.max_tokens.value_or(*table) >= *table;
    if (cut > 0)
        say(fmt::format(
            "{} of {} texts were cut before their end; {}", grouped_text(cut), grouped_text(std::ssize(texts)),
            at_table ? fmt::format("the model's position table ends after {} tokens", *table) : "--max-tokens sets the length"));
}

}  // namespace

int generate_command(Arguments arguments) {
    GenerateOptions options;
    OptionTable table = generate_table(options);
    if (!parse_command_line(table, arguments)) return 0;
    check_models("generate", options.runs);
    check_weights(table);
    check_sampling(options, table);
    for (const std::string& run : options.runs) check_writes_text("generate", run);
    apply(options.machine);
    with_memory_advice([](std::int64_t) { return std::string("give a smaller --samples"); }, [&] { generate(options); });
    return 0;
}

}  // namespace heddle::app
