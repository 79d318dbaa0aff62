#include "apps/translation/training/encode_text.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/format.h"
#include "core/text.h"

namespace heddle::app {
namespace {

// How the text is read.
struct Pass {
    std::string verb;  // of progress messages: "encoded"
    const Say& progress;
    const Say& notes;    // on the text itself
    bool once;           // one pass is enough
    std::int64_t piece;  // pairs that are held at once
};

const Say nothing_said;

// Calls use(pairs) with pieces of the text, in order and without pairs that have an empty side. Returns how many of these there
// are.
std::int64_t for_each_piece(const DataOptions& options, const Pass& pass, const std::function<void(Corpus)>& use) {
    constexpr std::int64_t pairs_in_line = 1 << 20;
    CorpusReader reader(options.training_text(), options.source, options.target, reading_of(options, pass.notes));
    check(pass.once || reader.can_be_read_again(),
          "{}: the text is read more than once to learn a vocabulary, which only a file allows; give one, or a --vocab-model",
          options.training_text());
    std::int64_t left_out = 0, read = 0;
    for (Corpus corpus = reader.next(pass.piece); corpus.size() > 0; corpus = reader.next(pass.piece)) {
        const std::int64_t before = std::exchange(read, read + corpus.size());
        TrainingPairs pairs =
            options.text.empty() ? without_empty_sides(std::move(corpus)) : TrainingPairs{.corpus = std::move(corpus)};
        left_out += pairs.left_out;
        use(std::move(pairs.corpus));
        if (read / pairs_in_line > before / pairs_in_line)
            pass.progress(fmt::format("{} {} pairs", pass.verb, grouped_text(read)));
    }
    return left_out;
}

// Lines of both sides.
struct Lines {
    std::vector<std::string> source, target;
};

Lines all_lines(const DataOptions& options, const Say& say, std::int64_t piece_size) {
    Lines lines;
    const Pass pass{.verb = "read", .progress = say, .notes = nothing_said, .once = false, .piece = piece_size};
    for_each_piece(options, pass, [&](Corpus piece) {
        for (SentencePair& pair : piece.pairs) {
            if (options.text.empty()) lines.source.push_back(std::move(pair.source));
            lines.target.push_back(std::move(pair.target));
        }
    });
    return lines;
}

// The chosen lines, `count` of `lines`, that are among `pairs` lines from `first` on, as numbers of pairs; ascending.
std::vector<std::int64_t> at_even_distances(std::int64_t count, std::int64_t lines, std::int64_t first, std::int64_t pairs) {
    std::vector<std::int64_t> chosen;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto line = static_cast<std::int64_t>(
            line_at_even_distance(static_cast<std::size_t>(i), static_cast<std::size_t>(count), static_cast<std::size_t>(lines)));
        if (line >= first && line < first + pairs) chosen.push_back(line - first);
    }
    return chosen;
}

// The lines that train_vocabulary() would choose of all for one vocabulary, or two.
Lines chosen_lines(const DataOptions& options, const VocabularyRequest& request, const Say& say, std::int64_t piece_size) {
    std::int64_t pairs = 0;
    Pass pass{.verb = "counted", .progress = say, .notes = nothing_said, .once = false, .piece = piece_size};
    for_each_piece(options, pass, [&](const Corpus& piece) { pairs += piece.size(); });
    const bool text = !options.text.empty();  // has no sources
    const std::int64_t lines = request.shared && !text ? 2 * pairs : pairs, count = std::min(request.max_lines, lines);
    const std::vector<std::int64_t> firsts = at_even_distances(count, lines, 0, pairs),
                                    seconds = at_even_distances(count, lines, pairs, pairs), none,
                                    &sources = text ? none : firsts, &targets = request.shared && !text ? seconds : firsts;
    Lines chosen;
    std::int64_t first = 0;
    pass.verb = "chose lines of";
    for_each_piece(options, pass, [&](const Corpus& piece) {
        const auto take = [&](const std::vector<std::int64_t>& wanted, std::vector<std::string>& taken,
                              std::string SentencePair::*side) {
            for (; taken.size() < wanted.size() && wanted[taken.size()] < first + piece.size();)
                taken.push_back(piece.pairs[static_cast<std::size_t>(wanted[taken.size()] - first)].*side);
        };
        take(sources, chosen.source, &SentencePair::source);
        take(targets, chosen.target, &SentencePair::target);
        first += piece.size();
    });
    return chosen;
}

}  // namespace

Vocabularies learn_vocabularies(const DataOptions& options, VocabularyRequest& request, const Say& say, std::int64_t piece) {
    if (!request.model_file.empty()) return make_vocabularies(request, VocabularyLines(), say);
    const Lines lines = request.max_lines > 0 ? chosen_lines(options, request, say, piece) : all_lines(options, say, piece);
    check(!lines.source.empty() || !lines.target.empty(), "{}: there is no training pair; wanted lines with text on both sides",
          options.training_text());
    return make_vocabularies(request,
                             VocabularyLines{.source = {lines.source.begin(), lines.source.end()},
                                             .target = {lines.target.begin(), lines.target.end()},
                                             .names = training_text_names(options)},
                             say);
}

std::int64_t encode_text(const DataOptions& options, const Vocabularies& vocabularies, PreparedWriter& writer, const Say& say,
                         std::int64_t piece) {
    const Pass pass{.verb = "encoded", .progress = say, .notes = say, .once = true, .piece = piece};
    TextLoss loss(training_text_names(options), vocabularies);
    const std::int64_t left_out = for_each_piece(options, pass, [&](const Corpus& part) {
        const std::vector<TokenPair> pairs = encode_corpus(part, *vocabularies.source, *vocabularies.target);
        loss.look_at(part, pairs);
        writer.add(pairs);
    });
    if (say) loss.report(say);
    if (left_out > 0) say(fmt::format("{} training pairs with an empty side are left out", grouped_text(left_out)));
    return left_out;
}

}  // namespace heddle::app
