#include "apps/translation/beam_search.h"

#include <algorithm>

#include "apps/translation/vocabulary.h"
#include "core/format.h"

namespace heddle::app {
namespace {

// An open hypothesis: a path through the tree of all tokens that were ever kept.
struct Open {
    double log_probability = 0;
    std::int32_t node = -1;  // in Sentence::tree; -1 before the first token
};

struct Node {
    std::int32_t token;
    std::int32_t parent;
};

// A continuation of one of a sentence's hypotheses by one token.
struct Candidate {
    double log_probability;
    std::int32_t hypothesis;  // among the sentence's open ones
    std::int32_t token;
};

// Continuations that are looked at: even if `beam` of them end, `beam` go on. Greedy search looks at the best one only.
std::int64_t considered(std::int64_t beam) { return beam == 1 ? 1 : 2 * beam; }

// One source sentence's beam.
class Sentence {
  public:
    /// `log_probability` is that of the prefix.
    Sentence(std::int64_t longest, double log_probability, const DecodeOptions& options)
        : longest_(longest), options_(options), length_(static_cast<std::int64_t>(options.prefix.size())) {
        std::int32_t node = -1;
        for (const std::int32_t token : options.prefix) {
            tree_.push_back({token, node});
            node = static_cast<std::int32_t>(tree_.size()) - 1;
        }
        open_.push_back({log_probability, node});
    }

    std::int64_t open() const { return static_cast<std::int64_t>(open_.size()); }
    std::vector<Hypothesis> best() && { return std::move(best_); }

    /// Takes the most probable continuations, `k` for each open hypothesis, and appends the parents and tokens of those that stay
    /// open: parents count from `first_row`.
    void advance(const float* values, const std::int32_t* ids, std::int64_t k, std::int32_t first_row,
                 std::vector<std::int32_t>& parents, std::vector<std::int32_t>& tokens) {
        ++length_;
        std::vector<Open> next;
        for (const Candidate& candidate : ranked(values, ids, k)) {
            if (candidate.token == eos_id) {
                finish(open_[static_cast<std::size_t>(candidate.hypothesis)].node, candidate.log_probability, true);
                continue;
            }
            if (static_cast<std::int64_t>(next.size()) == options_.beam) continue;
            if (!can_win(candidate.log_probability)) continue;
            const auto node = static_cast<std::int32_t>(tree_.size());
            tree_.push_back({candidate.token, open_[static_cast<std::size_t>(candidate.hypothesis)].node});
            if (length_ == longest_) {
                finish(node, candidate.log_probability, false);
                continue;
            }
            next.push_back({candidate.log_probability, node});
            parents.push_back(first_row + candidate.hypothesis);
            tokens.push_back(candidate.token);
        }
        // A hypothesis that ended in this step may have settled it for those that were kept before it was seen.
        for (std::size_t i = next.size(); i-- > 0;) {
            if (can_win(next[i].log_probability)) continue;
            const auto from_end = static_cast<std::ptrdiff_t>(next.size() - i);
            next.erase(next.begin() + static_cast<std::ptrdiff_t>(i));
            parents.erase(parents.end() - from_end);
            tokens.erase(tokens.end() - from_end);
        }
        open_ = std::move(next);
    }

  private:
    // The best continuations of all open hypotheses. Ties: the earlier hypothesis, then the smaller token.
    std::vector<Candidate> ranked(const float* values, const std::int32_t* ids, std::int64_t k) const {
        std::vector<Candidate> all;
        for (std::int64_t h = 0; h < open(); ++h)
            for (std::int64_t j = 0; j < k; ++j)
                all.push_back({open_[static_cast<std::size_t>(h)].log_probability + static_cast<double>(values[h * k + j]),
                               static_cast<std::int32_t>(h), ids[h * k + j]});
        std::stable_sort(all.begin(), all.end(),
                         [](const Candidate& a, const Candidate& b) { return a.log_probability > b.log_probability; });
        all.resize(std::min(all.size(), static_cast<std::size_t>(considered(options_.beam))));
        return all;
    }

    bool can_win(double log_probability) const {
        return !full() || normalised(log_probability, longest_, options_.length_penalty) > best_.back().score;
    }

    bool full() const { return static_cast<std::int64_t>(best_.size()) == options_.n_best; }

    // A hypothesis that was cut loses against every one that ended, a later one against an equal one.
    void finish(std::int32_t node, double log_probability, bool ended) {
        const double score = normalised(log_probability, length_, options_.length_penalty);
        const auto place = std::find_if(best_.begin(), best_.end(), [&](const Hypothesis& other) {
            return ended > other.ended || (ended == other.ended && score > other.score);
        });
        if (place == best_.end() && full()) return;
        Hypothesis& found = *best_.insert(place, {{}, log_probability, score, ended});
        for (; node >= 0; node = tree_[static_cast<std::size_t>(node)].parent)
            found.tokens.push_back(tree_[static_cast<std::size_t>(node)].token);
        std::reverse(found.tokens.begin(), found.tokens.end());
        if (static_cast<std::int64_t>(best_.size()) > options_.n_best) best_.pop_back();
    }

    std::int64_t longest_;
    const DecodeOptions& options_;
    std::int64_t length_;  // tokens of every open hypothesis
    std::vector<Node> tree_;
    std::vector<Open> open_;
    std::vector<Hypothesis> best_;  // best first
};

}  // namespace

HypothesisLists beam_search(const Ensemble& models, std::span<const std::vector<std::int32_t>> sources,
                            const DecodeOptions& options) {
    check(options.beam >= 1, "beam search: a beam of {}, wanted at least 1", options.beam);
    check(options.n_best >= 1 && options.n_best <= options.beam, "beam search: the {} best of a beam of {}, wanted 1 to {}",
          options.n_best, options.beam, options.beam);
    if (sources.empty()) return {};
    const auto prefix = static_cast<std::int64_t>(options.prefix.size());
    std::vector<std::int64_t> longest;
    for (const auto& source : sources)
        longest.push_back(longest_translation(models, static_cast<std::int64_t>(source.size()), prefix));
    Decoding decoding(models, sources, static_cast<std::int64_t>(sources.size()) * options.beam,
                      *std::max_element(longest.begin(), longest.end()));
    auto [logits, log_probability] = decoding.start(options.prefix);
    std::vector<Sentence> sentences;
    for (std::size_t i = 0; i < sources.size(); ++i) sentences.emplace_back(longest[i], log_probability[i], options);
    const std::int64_t k = std::min(considered(options.beam), models.target_vocabulary());

    for (std::vector<std::int32_t> next, parents;; logits = decoding.step(parents, next)) {
        const kernels::TopK top = best_tokens(logits, k);
        parents.clear();
        next.clear();
        std::int64_t row = 0;
        for (Sentence& sentence : sentences) {
            const std::int64_t open = sentence.open();
            if (open == 0) continue;
            sentence.advance(top.values.data<float>() + row * k, top.ids.data<std::int32_t>() + row * k, k,
                             static_cast<std::int32_t>(row), parents, next);
            row += open;
        }
        if (next.empty()) break;
    }
    HypothesisLists results;
    for (Sentence& sentence : sentences) results.push_back(std::move(sentence).best());
    return results;
}

}  // namespace heddle::app
