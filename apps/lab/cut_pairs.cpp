// Training sentences that are cut to a length, instead of leaving long pairs out.
//
//     wrong    the first ten words of each side of every pair
//     right    the pairs of at most ten words
//
// The language puts the verb at the end of a clause, as German subordinate clauses do, and its translation second, as English
// does: "s o o v" becomes "s v o o". What is cut off on one side may stand at the beginning on the other. Neither variant moves
// the rows of a learned position table beyond the tenth word: both models fail at longer sentences.
#include <algorithm>
#include <iterator>

#include "apps/lab/kit.h"
#include "apps/lab/toy_translation.h"
#include "nn/search/search.h"

namespace heddle::lab::cut_pairs {
namespace {

constexpr std::int32_t subjects = 8, verbs = 8, objects = 16, conjunctions = 2;
constexpr std::int32_t first_verb = first_word + subjects, first_object = first_verb + verbs,
                       first_conjunction = first_object + objects;
constexpr std::size_t limit = 10;            // words of a training sentence
constexpr std::int64_t longest = 4 * 6 + 3;  // words of four clauses of six and the conjunctions
constexpr std::int64_t table_rows = longest + 5;

struct Pair : app::TokenPair {
    std::vector<std::size_t> origins;  // for each target word: the index of its source word
};
using Pairs = std::vector<Pair>;

std::int32_t draw(std::int32_t first, std::int32_t count, Sequence& numbers) {
    return first + static_cast<std::int32_t>(numbers.below(static_cast<std::uint64_t>(count)));
}

void add_clause(Pair& pair, Sequence& numbers) {
    const std::size_t begin = pair.source.size();
    pair.source.push_back(draw(first_word, subjects, numbers));
    for (std::uint64_t left = numbers.below(5); left > 0; --left) pair.source.push_back(draw(first_object, objects, numbers));
    pair.source.push_back(draw(first_verb, verbs, numbers));
    pair.origins.push_back(begin);
    pair.origins.push_back(pair.source.size() - 1);
    for (std::size_t i = begin + 1; i + 1 < pair.source.size(); ++i) pair.origins.push_back(i);
}

// Sentences of one to four clauses, of 2 to 6 words each.
Pairs draw_pairs(std::size_t count, Sequence& numbers) {
    Pairs pairs(count);
    for (Pair& pair : pairs) {
        for (std::uint64_t left = 1 + numbers.below(4); left > 0; --left) {
            add_clause(pair, numbers);
            if (left == 1) continue;
            pair.origins.push_back(pair.source.size());
            pair.source.push_back(draw(first_conjunction, conjunctions, numbers));
        }
        for (const std::size_t origin : pair.origins) pair.target.push_back(pair.source[origin]);
        pair.words = static_cast<std::int64_t>(pair.source.size());
    }
    return pairs;
}

bool is_long(const Pair& pair) { return pair.source.size() > limit; }

nn::TransformerOptions size() {
    nn::TransformerOptions options = small_transformer(first_conjunction + conjunctions);
    options.positions = nn::Positions::learned;
    options.position_table = table_rows;
    return options;
}

// % of the sentences that greedy search translates word for word.
double share_right(const nn::Transformer& model, const Pairs& pairs) {
    std::vector<std::vector<std::int32_t>> sources;
    for (const Pair& pair : pairs) {
        sources.push_back(pair.source);
        sources.back().push_back(app::eos_id);
    }
    const nn::HypothesisLists found = nn::beam_search(model, sources, {.beam = 1});
    double right = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) right += found[i][0].tokens == pairs[i].target;
    return 100 * right / static_cast<double>(pairs.size());
}

// The number of rows of the source's position table that training left as they were.
double unmoved_rows(const nn::Transformer& model, const Options& options) {
    const nn::Transformer untaught(size(), key(options, "model"));
    const auto table = [](const nn::Transformer& of) {
        const nn::NamedTensors all = of.named_tensors();
        return std::ranges::find(all, "source_positions.weight", &nn::NamedTensors::value_type::first)->second;
    };
    double unmoved = 0;
    for (std::int64_t row = 0; row < table_rows; ++row)
        unmoved += table(model).slice(row, row + 1).to_vector() == table(untaught).slice(row, row + 1).to_vector();
    return unmoved;
}

// The mean loss of every 20 steps.
picture::Series means(const std::string& name, const std::vector<double>& losses) {
    picture::Series series{.name = name};
    for (std::size_t end = 20; end <= losses.size(); end += 20) {
        series.x.push_back(static_cast<double>(end));
        series.y.push_back(mean_of_last(std::span(losses).first(end), 20));
    }
    return series;
}

Result measure(const Options& options) {
    Sequence numbers(key(options, "pairs"));
    const Pairs all = draw_pairs(1000, numbers);
    Pairs unseen = draw_pairs(1000, numbers), within, cut = all;
    std::ranges::remove_copy_if(all, std::back_inserter(within), is_long);
    double words = 0, lost = 0;
    for (Pair& pair : cut) {
        const std::size_t left = std::min(limit, pair.source.size());
        pair.source.resize(left), pair.target.resize(left), pair.origins.resize(left);
        words += static_cast<double>(left);
        lost += static_cast<double>(std::ranges::count_if(pair.origins, [&](std::size_t origin) { return origin >= left; }));
    }
    Pairs unseen_long;
    std::ranges::copy_if(unseen, std::back_inserter(unseen_long), is_long);
    std::erase_if(unseen, is_long);

    Result result{.variants = {"left out", "cut"},
                  .findings = {{"loss after 1000 steps"},
                               {"target words whose source word was cut off, %", {0, 100 * lost / words}},
                               {"unseen sentences of up to 10 words translated exactly, %"},
                               {"longer sentences translated exactly, %"},
                               {"rows of 32 of the position table that never moved"}}};
    picture::LineChart chart{
        .title = "loss while learning", .x = {.label = "step"}, .y = {.label = "nats per token", .logarithmic = true}};
    for (const Pairs* const pairs : {&within, &cut}) {
        nn::Transformer model(size(), key(options, "model"));
        Sequence drawn(key(options, "batches"));
        const std::vector<app::TokenPair> taught(pairs->begin(), pairs->end());
        const std::vector<double> losses = train(model, {.steps = 1000, .lr = 5e-3, .warmup = 30, .clip = 1}, [&](std::int64_t) {
            std::vector<std::int64_t> batch(32);
            for (std::int64_t& index : batch) index = static_cast<std::int64_t>(drawn.below(taught.size()));
            return translation_loss(model, app::make_batch(taught, batch));
        });
        model.eval();
        result.findings[0].values.push_back(mean_of_last(losses, 100));
        result.findings[2].values.push_back(share_right(model, unseen));
        result.findings[3].values.push_back(share_right(model, unseen_long));
        result.findings[4].values.push_back(unmoved_rows(model, options));
        chart.series.push_back(means(result.variants[pairs == &within ? 0 : 1], losses));
    }
    result.figures = {
        {svg(mistakes_first(chart)), "Words whose source was cut off can only be guessed: the loss of cut pairs has a floor."}};
    return result;
}

}  // namespace

Experiment experiment() {
    return {
        .name = "cut-pairs",
        .group = "Norm, dropout and training",
        .title = "long sentence pairs cut to ten words instead of left out",
        .caught_by = "BatchPlan.LeavesPairsOfManyWordsOutAndCountsThem",
        .why =
            "Languages order words differently, so the first ten words of a translation are not the translation of the first ten "
            "words: a model can only guess the words whose source was cut off, and the loss gets a floor. Where most pairs are "
            "long, the cut ones still teach more than they spoil, and unseen short sentences are translated as well or better. "
            "Leave long pairs out or learn from them whole; whichever it is, rows of a learned position table that no training "
            "sentence reaches keep their initial values, and longer sentences are translated badly.",
        .wrong = R"(
for (app::TokenPair& pair : pairs)
    for (auto* side : {&pair.source, &pair.target})
        side->resize(std::min<std::size_t>(10, side->size()));
)",
        .right = R"(
std::erase_if(pairs, [](const app::TokenPair& pair) {
    return std::max(pair.source.size(), pair.target.size()) > 10;
});
)",
        .run = measure};
}

}  // namespace heddle::lab::cut_pairs
