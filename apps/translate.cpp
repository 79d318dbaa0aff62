#include "apps/translation/translate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "apps/commands.h"
#include "apps/ensemble_run.h"
#include "apps/line_stream.h"
#include "apps/option_rows.h"
#include "apps/output.h"

namespace heddle::app {
namespace {

struct TranslateOptions {
    std::vector<std::string> runs;
    std::string weights = "average";
    std::string format = "text";
    bool replace_invalid = false;
    DecodeOptions decode;
    std::optional<std::int64_t> n_best;
    bool scores = false;
    std::string prefix;
    std::int64_t flush_every = 500;
    bool sample = false;
    Sampling sampling;
    MachineOptions machine;
};

OptionTable translate_table(TranslateOptions& options) {
    OptionTable table("translate", "translates stdin to stdout: one line in, one line out; an empty line stays empty");
    table.usage =
        "usage: heddle translate --model RUN < in > out\n"
        "       heddle translate --model RUN --n-best 5 --scores < in      (id ||| text ||| log p, log p / length^A)\n"
        "       heddle translate --model RUN --sample --top-k 10 < in\n";
    table.group("Model");
    add_models_options(table, options.runs, options.weights);
    table.group("Text");
    add_format_option(table, options.format);
    add_replace_invalid_option(table, options.replace_invalid);
    add_decode_options(table, options.decode);
    table.add("prefix", options.prefix, "every translation begins with this text, in whole words and as the vocabulary reads it")
        .called("TEXT");
    table.group("Output");
    table.add("n-best", options.n_best, "the N best (or N samples) of each line, as ID ||| TEXT; ids count lines from 0")
        .at_least(1)
        .at_most(1000)
        .defaults_to("the best alone, as plain text");
    table.add("scores", options.scores, "ID ||| TEXT ||| log p and log p / length^A; the end mark counts in both");
    table.add("flush-every", options.flush_every, "lines read at most before their translations are written").at_least(1);
    table.group("Sampling");
    table.add("sample", options.sample, "draw translations instead of searching for the best; --n-best in the order drawn");
    table.add("top-k", options.sampling.top_k, "draw each token from the N most probable ones; 0: from all").at_least(0);
    table.add("temperature", options.sampling.temperature, "draw from p^(1/X): below 1 bolder, above 1 more varied")
        .at_least(0.001);
    table.add("seed", options.sampling.seed, "a line's samples follow from this and the line's number");
    add_machine_options(table, options.machine);
    add_inference_options(table, options.machine);
    return table;
}

void check_options(const TranslateOptions& options, const OptionTable& table) {
    check_models("translate", options.runs);
    const std::int64_t n_best = options.n_best.value_or(1);
    check_usage(options.sample || n_best <= options.decode.beam,
                fmt::format("--n-best {} of --beam {}: a beam has no more translations than it is wide; use --beam {}", n_best,
                            options.decode.beam, n_best));
    check_usage(!options.sample || !table.given("beam"), "--beam searches and --sample draws; give one of them");
    for (const char* name : {"top-k", "temperature", "seed"})
        check_usage(options.sample || !table.given(name), fmt::format("--{} is for --sample; give it, too", name));
}

// The prefix as tokens of this vocabulary.
std::vector<std::int32_t> prefix_tokens(const std::string& prefix, const Vocabulary& vocabulary) {
    std::vector<std::int32_t> tokens = vocabulary.encode(prefix);
    check_usage(std::find(tokens.begin(), tokens.end(), unk_id) == tokens.end(),
                fmt::format("--prefix '{}': the target vocabulary reads it as '{}'; use words and signs that it knows", prefix,
                            vocabulary.decode(tokens)));
    return tokens;
}

std::string plain(const std::vector<std::vector<Translation>>& lines) {
    std::string text;
    for (const auto& line : lines) text += line.front().text + '\n';
    return text;
}

// The form that Moses gave n-best lists: one line per translation, fields between " ||| ".
std::string listed(const std::vector<std::vector<Translation>>& lines, std::int64_t first, bool scores) {
    std::string text;
    for (const auto& line : lines) {
        for (const Translation& each : line) {
            text += fmt::format("{} ||| {}", first, each.text);
            if (scores) text += fmt::format(" ||| {:.6f} {:.6f}", each.log_probability, each.score);
            text += '\n';
        }
        ++first;
    }
    return text;
}

}  // namespace

int translate_command(Arguments arguments) {
    TranslateOptions options;
    OptionTable table = translate_table(options);
    if (!parse_command_line(table, arguments)) return 0;
    check_options(options, table);
    apply(options.machine);

    const EnsembleRun run = open_ensemble(options.runs, weights_file(options.weights), options.machine);
    options.decode.n_best = options.n_best.value_or(1);
    options.decode.prefix = prefix_tokens(options.prefix, *run.vocabularies().target);
    if (options.sample) options.decode.sampling = options.sampling;
    Translator translator(run.models(), run.vocabularies(), options.decode);
    LineStream input(STDIN_FILENO, options.replace_invalid, text_format(options.format));
    std::int64_t first = 0;
    for (;;) {
        const std::vector<std::string> lines = input.next(static_cast<std::size_t>(options.flush_every));
        if (lines.empty()) break;
        const std::vector<std::vector<Translation>> translations = translator.translate(lines);
        print(options.n_best || options.scores ? listed(translations, first, options.scores) : plain(translations));
        first += static_cast<std::int64_t>(lines.size());
    }
    input.say_changes(say);
    translator.report_cuts();
    return 0;
}

}  // namespace heddle::app
