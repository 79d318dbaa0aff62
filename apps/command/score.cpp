#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "apps/command/commands.h"
#include "apps/command/memory_advice.h"
#include "apps/command/on_ranks.h"
#include "apps/command/option_rows.h"
#include "apps/command/run.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/decoding/scoring.h"
#include "apps/translation/distributed/distributed_batches.h"
#include "apps/translation/text/corpus.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::app {
namespace {

// Pairs that are scored before their scores are written.
constexpr std::size_t pairs_at_once = 5000;

struct ScoreOptions {
    std::vector<std::string> runs;
    WeightsChoice weights;
    std::string source_file;
    std::string target_file;
    TextFormat format = TextFormat::text;
    bool replace_invalid = false;
    bool normalize = false;
    MachineOptions machine;
};

OptionTable score_table(ScoreOptions& options) {
    OptionTable table("score", "prints the log-probability of each given translation, one per line");
    table.usage =
        "usage: heddle score RUN --source-file FILE --target-file FILE\n"
        "       heddle score RUN --target-file FILE        (of a language model: log p of each line)\n"
        "       mpirun -n 4 heddle score RUN ...    (several processes, the same output)\n\n"
        "log p(target | source) is a sum over the tokens of the target and its end mark, without label smoothing. It is what\n"
        "heddle translate --scores reports as long as the text is cut into the same tokens: of subwords, the model may have\n"
        "chosen others than the vocabulary would. A side without text is its end mark alone. A source that is too long is cut\n"
        "as for translating; a target that is too long for learned positions is scored without what does not fit. For a\n"
        "language model, perplexity and bits per byte of the lines that were not cut are printed at the end.\n";
    table.group(OptionGroup::model);
    add_models_options(table, options.runs, options.weights);
    table.group(OptionGroup::text);
    table.add("source-file", options.source_file, "sources, one per line; - is standard input").called("FILE");
    table.add("target-file", options.target_file, "their translations, one per line; - is standard input").called("FILE");
    add_format_option(table, options.format);
    add_replace_invalid_option(table, options.replace_invalid);
    table.add("normalize", options.normalize, "divide by the number of tokens, end mark included");
    add_machine_options(table, options.machine);
    add_inference_options(table, options.machine);
    return table;
}

// The scores of some pairs as lines.
class Scorer {
  public:
    Scorer(const ScoreOptions& options, Ranks* ranks)
        : normalize_(options.normalize),
          run_(open_ensemble(options.runs, options.weights, options.machine)),
          unknown_source_(spoken_name(options.source_file), *run_.vocabularies().source, say),
          unknown_target_(spoken_name(options.target_file), *run_.vocabularies().target, say) {
        share_models(ranks, run_.runs, options.machine);
        score_batches_ = scoring_on(ranks, run_.models());
    }

    std::string text(std::span<const SentencePair> pairs) {
        std::vector<std::string> sources, targets;
        for (const SentencePair& pair : pairs) {
            sources.push_back(pair.source);
            targets.push_back(pair.target);
        }
        const LineScores lines = score_lines(run_.models(), run_.vocabularies(), sources, targets,
                                             {.source = &unknown_source_, .target = &unknown_target_}, score_batches_);
        cut_sources_ += lines.cut_sources;
        std::string text;
        for (std::size_t i = 0; i < targets.size(); ++i) {
            const nn::PairScore& each = lines.scores[i];
            text += fmt::format("{:.6f}\n", each.log_probability / static_cast<double>(normalize_ ? each.tokens : 1));
            if (!each.complete) {  // its bytes have no log p of their own
                ++cut_targets_;
                continue;
            }
            bytes_ += std::ssize(targets[i]) + 1;
            log_probability_ += each.log_probability;
            tokens_ += each.tokens;
        }
        return text;
    }

    void report() const {
        unknown_source_.report();
        unknown_target_.report();
        if (run_.models().without_source() && tokens_ > 0)
            say(fmt::format("perplexity {:.4f} of {} tokens, {:.4f} bits per byte",
                            std::exp(-log_probability_ / static_cast<double>(tokens_)), grouped_text(tokens_),
                            -log_probability_ / std::log(2.0) / static_cast<double>(bytes_)));
        const std::int64_t most = run_.models().position_table();
        if (cut_sources_ > 0)
            say(fmt::format("{} sources were cut to {} tokens, the length of the model's position table", cut_sources_, most));
        if (cut_targets_ > 0)
            say(fmt::format("of {} targets the first {} tokens were scored: the model's position table ends there{}",
                            cut_targets_, most,
                            run_.models().without_source() ? "; perplexity and bits per byte are those of the others" : ""));
    }

  private:
    bool normalize_;
    EnsembleRun run_;
    UnknownText unknown_source_;
    UnknownText unknown_target_;
    nn::ScoreBatches score_batches_;
    // Sums over the targets that were scored as a whole.
    std::int64_t bytes_ = 0;  // with a line end each
    std::int64_t tokens_ = 0;
    double log_probability_ = 0;
    std::int64_t cut_sources_ = 0;
    std::int64_t cut_targets_ = 0;
};

// The pairs; a language model's have no source.
Corpus corpus_of(const ScoreOptions& options, const TrainSettings& learned, bool assumed) {
    const Reading reading{.replace_invalid = options.replace_invalid, .say = say, .format = options.format, .assumed = assumed};
    if (!learned.model.decoder_only)
        return read_aligned(options.source_file, options.target_file, reading, learned.data.source, learned.data.target);
    Corpus corpus;
    for (std::string& line : read_text_file(options.target_file, reading).lines) corpus.pairs.push_back({{}, std::move(line)});
    return corpus;
}

int score_on_this_rank(Arguments arguments, Ranks* ranks) {
    ScoreOptions options;
    OptionTable table = score_table(options);
    if (!parse_command_line(table, arguments)) return 0;
    check_models("score", options.runs);
    check_weights(table);
    apply(options.machine);
    const TrainSettings learned = read_settings(options.runs.front());
    check_usage(!learned.model.decoder_only || options.source_file.empty(),
                "score: a language model scores texts, which have no source; leave out --source-file");
    check_usage((!options.source_file.empty() || learned.model.decoder_only) && !options.target_file.empty(),
                learned.model.decoder_only ? "score: nothing to score; give --target-file FILE"
                                           : "score: nothing to score; give --source-file FILE and --target-file FILE");
    const Corpus corpus = corpus_of(options, learned, !table.given("format"));
    const std::span<const SentencePair> pairs = corpus.pairs;
    const auto advice = [] { return "split the longest lines"; };
    with_memory_advice(advice, [&] {
        Scorer scorer(options, ranks);
        for (std::size_t begin = 0; begin < pairs.size(); begin += pairs_at_once)
            print(scorer.text(pairs.subspan(begin, std::min(pairs_at_once, pairs.size() - begin))));
        scorer.report();
    });
    return 0;
}

}  // namespace

int score_command(Arguments arguments) {
    return on_ranks(
        arguments, [&](Ranks* ranks) { return score_on_this_rank(arguments, ranks); }, follow_with_models);
}

}  // namespace heddle::app
