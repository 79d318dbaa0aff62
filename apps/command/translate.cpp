#include "apps/translation/decoding/translate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "apps/command/commands.h"
#include "apps/command/line_stream.h"
#include "apps/command/memory_advice.h"
#include "apps/command/on_ranks.h"
#include "apps/command/option_rows.h"
#include "apps/command/run.h"
#include "apps/command/run_search.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/decoding/generate.h"
#include "apps/translation/distributed/distributed_batches.h"
#include "apps/translation/report/attention.h"
#include "apps/translation/text/unicode.h"
#include "core/format.h"

namespace heddle::app {
namespace {

struct TranslateOptions {
    std::vector<std::string> runs;
    WeightsChoice weights;
    TextFormat format = TextFormat::text;
    bool replace_invalid = false;
    DecodeOptions decode;
    bool forbid_unknown = false;
    std::optional<std::int64_t> n_best;
    bool scores = false;
    bool alignment = false;
    std::string attention;
    std::int64_t attention_lines = 20;
    bool svg = false;
    std::string prefix;
    std::int64_t flush_every = 500;
    bool sample = false;
    Sampling sampling;
    MachineOptions machine;
};

OptionTable translate_table(TranslateOptions& options) {
    OptionTable table("translate", "translates stdin to stdout: one line in, one line out; an empty line stays empty");
    table.usage =
        "usage: heddle translate RUN < in > out\n"
        "       heddle translate RUN --n-best 5 --scores < in      (id ||| text ||| log p, log p / length^A)\n"
        "       heddle translate RUN --sample --top-k 10 < in\n"
        "       heddle translate RUN --attention FOLDER < in       (attention maps in FOLDER/index.html)\n"
        "       mpirun -n 4 heddle translate RUN < in > out        (several processes, the same output)\n";
    table.group(OptionGroup::model);
    add_models_options(table, options.runs, options.weights);
    table.group(OptionGroup::text);
    add_format_option(table, options.format);
    add_replace_invalid_option(table, options.replace_invalid);
    add_decode_options(table, options.decode);
    add_forbid_unknown_option(table, options.forbid_unknown).defaults_to("the run's; of several the first's; else false");
    table
        .add("prefix", options.prefix,
             "every translation begins with this text, as the vocabulary reads it; a space at its end ends its last word")
        .called("TEXT");
    table.group(OptionGroup::output);
    table.add("n-best", options.n_best, "the N best (or N samples) of each line, as ID ||| TEXT; ids count lines from 0")
        .at_least(1)
        .at_most(1000)
        .defaults_to("the best alone, as plain text");
    table.add("scores", options.scores, "ID ||| TEXT ||| log p and log p / length^A; the end mark counts in both");
    table.add(
        "alignment", options.alignment,
        "TEXT ||| 0-0 1-2: for each word of the translation the source word that it attends to most, as source-target, counted "
        "from 0; the last field of a list, too");
    table.add("attention", options.attention, "writes FOLDER/index.html, an interactive page: choose a line, a layer and a head")
        .called("FOLDER");
    table.add("attention-lines", options.attention_lines, "the first lines that --attention shows").at_least(1);
    table.add("svg", options.svg, "--attention writes each map as FOLDER/line-N/NAME.svg, too");
    table
        .add("flush-every", options.flush_every,
             "lines read at most before their translations are written, for each process under mpirun")
        .at_least(1);
    table.group(OptionGroup::sampling);
    table.add("sample", options.sample, "draw translations instead of searching for the best; --n-best in the order drawn");
    add_sampling_options(table, options.sampling, "with a line's number its samples").at_least(0.001);
    add_machine_options(table, options.machine);
    add_inference_options(table, options.machine);
    return table;
}

void check_options(const TranslateOptions& options, const OptionTable& table) {
    check_models("translate", options.runs);
    for (const std::string& run : options.runs) check_translates("translate", run);
    check_weights(table);
    check_decoding(options.decode);
    const std::int64_t n_best = options.n_best.value_or(1);
    check_usage(options.sample || n_best <= options.decode.beam,
                fmt::format("--n-best {} of --beam {}: a beam has no more translations than it is wide; use --beam {}", n_best,
                            options.decode.beam, n_best));
    for (const char* name : {"beam", "beam-patience"})
        check_usage(!options.sample || !table.given(name),
                    fmt::format("--{} searches and --sample draws; give one of them", name));
    for (const char* name : {"attention-lines", "svg"})
        check_usage(!table.given(name) || !options.attention.empty(), fmt::format("--{} is for --attention; give it, too", name));
    check_usage(options.runs.size() == 1 || (options.attention.empty() && !options.alignment),
                fmt::format("--{} works with one model, but --model names {}; give one",
                            options.alignment ? "alignment" : "attention", options.runs.size()));
    for (const char* name : {"top-k", "top-p", "temperature", "seed"})
        check_usage(options.sample || !table.given(name), fmt::format("--{} is for --sample; give it, too", name));
}

// White space at the end of a text as one plain space: a vocabulary may lack the other spaces.
std::string with_plain_space_at_end(const std::string& text) {
    std::u32string characters = decode_utf8(text);
    if (characters.empty() || !is_space(characters.back())) return text;
    while (!characters.empty() && is_space(characters.back())) characters.pop_back();
    return encode_utf8(characters) + " ";
}

// The tokens that may follow a prefix with a space at its end: those before which the text has a space, and the end mark; not the
// unknown token, whose text has spaces around it wherever it stands. Nothing, which allows all tokens, for another prefix, or
// where a token of it is that space. Subwords need it: they read "the " as "the", which could become "them".
std::vector<std::int32_t> tokens_after(const std::string& prefix, std::vector<std::int32_t> tokens,
                                       const Vocabulary& vocabulary) {
    const auto ends_with_space = [](const std::string& text) {
        const std::u32string characters = decode_utf8(text);
        return !characters.empty() && is_space(characters.back());
    };
    const std::string read = vocabulary.decode(tokens);
    if (!ends_with_space(prefix) || read.empty() || ends_with_space(read)) return {};
    std::vector<std::int32_t> after = {eos_id};
    tokens.push_back(pad_id);
    for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
        tokens.back() = id;
        if (id != unk_id && vocabulary.decode(tokens).starts_with(read + ' ')) after.push_back(id);
    }
    check_usage(after.size() > 1,
                fmt::format("--prefix '{}': no token of the target vocabulary begins with a space; leave out the "
                            "space at the end",
                            prefix));
    return after;
}

// The format that Moses gave its output: fields between " ||| ", a line for each translation of a list.
struct OutputFormat {
    bool list = false;       // ids in front
    bool scores = false;     // log p and log p / length^A
    bool alignment = false;  // the pairs come last
};

using TranslationLists = std::vector<std::vector<Translation>>;

// Where the model looked for some lines' translations.
struct AttentionOutput {
    std::vector<std::vector<std::string>> alignments;  // of every translation, when they are wanted
    std::vector<TranslationAttention> shown;           // the first lines' first translations
};

// No translation goes through the model twice for both.
AttentionOutput attention_output(const nn::Transformer& model, const Vocabularies& vocabularies,
                                 const std::vector<std::string>& lines, const TranslationLists& translations, bool alignments,
                                 std::int64_t shown) {
    AttentionOutput output;
    output.alignments.resize(lines.size());
    output.shown.resize(std::min(lines.size(), static_cast<std::size_t>(shown)));
    std::vector<TranslatedLine> pairs;
    std::vector<std::pair<std::size_t, std::size_t>> places;  // line, and place in its list
    for (std::size_t i = 0; i < lines.size(); ++i) {
        output.alignments[i].resize(translations[i].size());
        for (std::size_t j = 0; j < translations[i].size(); ++j) {
            if (!alignments && (j > 0 || i >= output.shown.size())) continue;
            pairs.push_back({lines[i], &translations[i][j]});
            places.emplace_back(i, j);
        }
    }
    attend(model, vocabularies, pairs, [&](std::size_t pair, TranslationAttention attention) {
        const auto [i, j] = places[pair];
        if (alignments) output.alignments[i][j] = alignment_text(word_attention(attention));
        if (i < output.shown.size() && j == 0) output.shown[i] = std::move(attention);
    });
    return output;
}

// The text of the translations; the first line has the number `first`.
std::string written(const OutputFormat& format, std::int64_t first, const TranslationLists& translations,
                    const AttentionOutput& output) {
    std::string text;
    for (std::size_t i = 0; i < translations.size(); ++i)
        for (std::size_t j = 0; j < translations[i].size(); ++j) {
            const Translation& each = translations[i][j];
            if (format.list) text += fmt::format("{} ||| ", first + static_cast<std::int64_t>(i));
            text += each.text;
            if (format.scores) text += fmt::format(" ||| {:.6f} {:.6f}", each.log_probability, each.score);
            if (format.alignment) text += fmt::format(" ||| {}", output.alignments[i][j]);
            text += '\n';
        }
    return text;
}

// A launcher passes a file on as a pipe, piece by piece. Without this wait, windows would end where a piece does, and there would
// be few batches at a time to hand out.
constexpr int wait_for_more = 100;  // ms

// Tells an interactive user what was loaded, and how to end.
void greet(const TranslateOptions& options, const EnsembleRun& run) {
    for (std::size_t i = 0; i < run.runs.size(); ++i) say(description(options.runs[i], run.runs[i], options.weights));
    say(fmt::format("on {}; type a line to have it translated, ^D to end", description(options.machine)));
}

void translate(TranslateOptions& options, Ranks* ranks) {
    const EnsembleRun run = open_ensemble(options.runs, options.weights, options.machine);
    share_models(ranks, run.runs, options.machine);
    const Decoders decoders = decoders_on(ranks, run.models());
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() / decoders.processes,
                       lines_at_once = std::min(options.flush_every, most) * decoders.processes;
    options.decode.n_best = options.n_best.value_or(1);
    const std::string prefix = with_plain_space_at_end(options.prefix);
    options.decode.prefix = prompt_tokens("--prefix", prefix, *run.vocabularies().target);
    options.decode.first = tokens_after(prefix, options.decode.prefix, *run.vocabularies().target);
    if (const std::optional<std::int64_t> most = options.decode.max_length)
        check(std::ssize(options.decode.prefix) <= *most,
              "a prefix of {} tokens, but translations of {} at most; use a shorter prefix, or --max-output-length {}",
              options.decode.prefix.size(), *most, options.decode.prefix.size() + 1);
    if (options.sample) options.decode.sampling = options.sampling;
    const nn::Transformer& model = *run.runs.front().model;
    const OutputFormat format{.list = options.n_best || options.scores, .scores = options.scores, .alignment = options.alignment};
    std::optional<AttentionReport> report;
    if (!options.attention.empty()) report.emplace(options.attention, options.attention_lines, options.svg);

    Translator translator(run.models(), run.vocabularies(), options.decode, decoders);
    LineStream input(STDIN_FILENO, options.replace_invalid, options.format,
                     {.role = SegmentRole::source, .language = run.runs.front().settings.data.source});
    UnknownText unknown("standard input", *run.vocabularies().source, say);
    translator.show(unknown);
    if (isatty(STDIN_FILENO) == 1) greet(options, run);
    std::int64_t first = 0;
    for (;;) {
        const std::vector<std::string> lines =
            input.next(static_cast<std::size_t>(lines_at_once), ranks != nullptr ? wait_for_more : 0);
        if (lines.empty()) break;
        const TranslationLists translations = translator.translate(lines, options.flush_every);
        const std::int64_t shown = report ? report->room() : 0;
        AttentionOutput output;
        if (format.alignment || shown > 0)
            output = attention_output(model, run.vocabularies(), lines, translations, format.alignment, shown);
        print(written(format, first, translations, output));
        first += static_cast<std::int64_t>(lines.size());
        for (std::size_t i = 0; report && i < lines.size(); ++i)
            if (i < output.shown.size())
                report->add(lines[i], translations[i].front().text, output.shown[i],
                            decoding_steps(model, *run.vocabularies().target, output.shown[i], likeliest_shown));
            else
                report->leave_out();
    }
    if (report) {
        report->write();
        say(report->summary());
    }
    input.say_changes(say);
    unknown.report();
    translator.report_cuts();
    translator.report_limit();
}

// heddle translate RUN < file >> file would read its own translations, without an end.
void check_output_is_not_input() {
    std::error_code ignored;
    const std::filesystem::path in = "/dev/stdin", out = "/dev/stdout";
    check(!std::filesystem::is_regular_file(in, ignored) || !std::filesystem::equivalent(in, out, ignored),
          "translate: standard input and standard output are one file; write the translations to another one");
}

int translate_on_this_rank(Arguments arguments, Ranks* ranks) {
    TranslateOptions options;
    OptionTable table = translate_table(options);
    if (!parse_command_line(table, arguments)) return 0;
    check_options(options, table);
    check_output_is_not_input();
    take_search_of(options.runs.front(), table, options.decode, options.forbid_unknown);
    if (options.forbid_unknown) options.decode.forbidden = {unk_id};
    apply(options.machine);
    with_memory_advice([&](std::int64_t less) { return search_advice(options.decode, less); },
                       [&] { translate(options, ranks); });
    return 0;
}

}  // namespace

int translate_command(Arguments arguments) {
    return on_ranks(
        arguments, [&](Ranks* ranks) { return translate_on_this_rank(arguments, ranks); }, follow_with_models);
}

}  // namespace heddle::app
