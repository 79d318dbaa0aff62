// Steps of a beam search on every device, against a search that keeps whole hypotheses in lists.
#include "kernels/beam_step/beam_step.h"

#include <cmath>

#include "core/random.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

using Tokens = std::vector<std::int32_t>;

struct Path {
    Tokens tokens;
    double log_p = 0;
};
struct Finished {
    Tokens tokens;
    double log_p = 0, score = 0;
    bool ended = false;

    friend bool operator==(const Finished&, const Finished&) = default;
};
struct Continuation {
    double log_p;
    std::size_t hypothesis;
    std::int32_t token;
};

// One sentence, as the header describes it.
struct PlainSearch {
    BeamOptions options;
    std::int64_t longest = 0;
    std::vector<Path> open;
    std::vector<Finished> finished;
    Tokens parents;  // of the open ones, in the step before
    std::int64_t ended = 0;

    double score(double log_p, std::int64_t length) const {
        return log_p / std::pow(static_cast<double>(length), options.length_penalty);
    }
    bool can_win(const Path& path) const {
        return static_cast<std::int64_t>(finished.size()) < options.n_best || score(path.log_p, longest) > finished.back().score;
    }
    void finish(const Finished& one) {
        finished.push_back(one);
        std::stable_sort(finished.begin(), finished.end(),
                         [](const Finished& a, const Finished& b) { return a.ended != b.ended ? a.ended : a.score > b.score; });
        finished.resize(std::min(finished.size(), static_cast<std::size_t>(options.n_best)));
    }
    // tops[h]: of each open hypothesis.
    void step(const std::vector<std::vector<std::pair<double, std::int32_t>>>& tops, std::int64_t length) {
        std::vector<Continuation> all;
        for (std::size_t h = 0; h < open.size(); ++h)
            for (const auto& [log_p, token] : tops[h])
                if (std::ranges::count(options.forbidden, token) == 0) all.push_back({open[h].log_p + log_p, h, token});
        std::stable_sort(all.begin(), all.end(), [](const Continuation& a, const Continuation& b) { return a.log_p > b.log_p; });
        all.resize(std::min(all.size(), static_cast<std::size_t>(options.beam == 1 ? 1 : 2 * options.beam)));
        std::vector<Path> next;
        parents.clear();
        for (std::size_t rank = 0; rank < all.size(); ++rank) {
            const Continuation& each = all[rank];
            Path path{open[each.hypothesis].tokens, each.log_p};
            if (each.token == options.end) {
                const bool could_win = finished.empty() || score(each.log_p, longest) > finished.front().score;
                ended += could_win && rank < static_cast<std::size_t>(options.beam) ? 1 : 0;
                finish({path.tokens, each.log_p, score(each.log_p, length), true});
                continue;
            }
            if (static_cast<std::int64_t>(next.size()) == options.beam || !can_win(path)) continue;
            path.tokens.push_back(each.token);
            if (length == longest) {
                finish({path.tokens, each.log_p, score(each.log_p, length), false});
                continue;
            }
            next.push_back(path);
            parents.push_back(static_cast<std::int32_t>(each.hypothesis));
        }
        while (!next.empty() && !can_win(next.back())) next.pop_back();
        if (options.enough > 0 && ended >= options.enough) next.clear();
        open = next;
    }
};

Tensor read(const Tensor& tensor) { return tensor.to(Device::cpu); }

// What a sentence's finished hypotheses are, read from the trees.
std::vector<Finished> finished(const Beams& beams, std::int64_t sentence) {
    const Tensor tree = read(beams.tree), numbers = read(beams.found_numbers), paths = read(beams.found_paths);
    const std::int64_t beam = beams.options.beam, n_best = beams.options.n_best;
    std::vector<Finished> result;
    for (std::int64_t i = 0; i < read(beams.found).data<std::int32_t>()[sentence]; ++i) {
        const std::int64_t at = 2 * (sentence * n_best + i);
        Finished one{{}, numbers.data<double>()[at], numbers.data<double>()[at + 1], paths.data<std::int32_t>()[at + 1] < 0};
        if (!one.ended) one.tokens.push_back(paths.data<std::int32_t>()[at + 1]);
        for (std::int32_t node = paths.data<std::int32_t>()[at]; node >= 0;) {
            const std::int64_t place = ((node / beam) * beams.open.numel() + sentence) * beam + node % beam;
            one.tokens.push_back(tree.data<std::int32_t>()[2 * place]);
            node = tree.data<std::int32_t>()[2 * place + 1];
        }
        std::reverse(one.tokens.begin(), one.tokens.end());
        result.push_back(one);
    }
    return result;
}

struct Case {
    std::int64_t sentences, beam, n_best, k;
    double alpha;
    std::int64_t prefix = 0, enough = 0;
    Tokens forbidden = {};
};

// k continuations with different tokens, falling: few distinct values, so that many are equal, also across hypotheses.
std::vector<std::pair<double, std::int32_t>> some_top(std::int64_t k, Sequence& random) {
    std::vector<std::pair<double, std::int32_t>> top;
    double log_p = 0;
    const std::uint64_t first = random.below(5);
    for (std::int64_t j = 0; j < k; ++j) {
        log_p -= 0.25 * static_cast<double>(random.below(4));
        if (random.below(60) == 0) log_p = -std::numeric_limits<double>::infinity();
        top.emplace_back(log_p, static_cast<std::int32_t>((first + static_cast<std::uint64_t>(j) * 2) %
                                                          static_cast<std::uint64_t>(2 * k + 1)));
    }
    return top;
}

// Rows lie one behind the other, or `beam` for each sentence; finished sentences lose their slots now and then; slots come in an
// order of their own.
void expect_the_plain_search(const Case& c, const Numbers& numbers, std::uint64_t seed) {
    const std::string what = "beam " + std::to_string(c.beam) + ", " + std::to_string(c.n_best) + " best of " +
                             std::to_string(c.sentences) + " sentences, k " + std::to_string(c.k) + ", on " + to_string(numbers);
    Sequence random(seed);
    const BeamOptions options{.beam = c.beam,
                              .n_best = c.n_best,
                              .length_penalty = c.alpha,
                              .end = 1,
                              .enough = c.enough,
                              .prefix_length = c.prefix,
                              .forbidden = c.forbidden};
    std::vector<PlainSearch> plain;
    std::vector<std::int64_t> longest;
    std::vector<double> first;
    for (std::int64_t s = 0; s < c.sentences; ++s) {
        longest.push_back(c.prefix + 1 + static_cast<std::int64_t>(random.below(9)));
        first.push_back(-0.5 * static_cast<double>(s));
        plain.push_back({options, longest.back(), {{{}, first.back()}}, {}, {}, 0});
    }
    Beams beams(options, longest, first, numbers.device);
    const std::int64_t greatest = *std::max_element(longest.begin(), longest.end());
    for (std::int64_t length = c.prefix + 1; length <= greatest; ++length) {
        const bool packed = random.below(2) == 0, all = random.below(3) > 0;
        std::vector<std::int32_t> slots;
        std::vector<double> values;
        std::vector<std::int32_t> ids;
        std::vector<std::vector<std::vector<std::pair<double, std::int32_t>>>> tops(plain.size());
        for (std::int64_t n = 0; n < c.sentences; ++n) {
            const std::int64_t s = packed ? n : c.sentences - 1 - n;
            const auto open = static_cast<std::int64_t>(plain[static_cast<std::size_t>(s)].open.size());
            if (open == 0 && !all) continue;
            slots.push_back(static_cast<std::int32_t>(s));
            slots.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(ids.size()) / c.k));
            for (std::int64_t h = 0; h < (packed ? open : c.beam); ++h) {
                const auto top = some_top(c.k, random);
                if (h < open) tops[static_cast<std::size_t>(s)].push_back(top);
                for (const auto& [log_p, id] : top) {
                    values.push_back(log_p);
                    ids.push_back(id);
                }
            }
        }
        const auto count = static_cast<std::int64_t>(slots.size()) / 2;
        const Shape shape{static_cast<std::int64_t>(ids.size()) / c.k, c.k};
        const Tensor given = Tensor::from(values, shape).to(numbers.dtype == DType::f64 ? DType::f64 : DType::f32);
        const BeamStep step = beam_step(beams, {given.to(numbers.device), Tensor::from(ids, shape).to(numbers.device)},
                                        Tensor::from(slots, {count, 2}).to(numbers.device));
        const Tensor parents = read(step.parents), tokens = read(step.tokens), open = read(beams.open);
        ASSERT_EQ(beams.length(), length);
        for (std::int64_t slot = 0; slot < count; ++slot) {
            const auto s = static_cast<std::size_t>(slots[static_cast<std::size_t>(2 * slot)]);
            const std::int32_t row = slots[static_cast<std::size_t>(2 * slot + 1)];
            plain[s].step(tops[s], length);
            ASSERT_EQ(open.data<std::int32_t>()[s], static_cast<std::int32_t>(plain[s].open.size()))
                << what << ", length " << length;
            for (std::int64_t b = 0; b < c.beam; ++b) {
                const auto h = static_cast<std::size_t>(b);
                const bool goes_on = h < plain[s].open.size();
                const std::int64_t at = slot * c.beam + b;
                ASSERT_EQ(parents.data<std::int32_t>()[at], row + (goes_on ? plain[s].parents[h] : 0)) << what;
                ASSERT_EQ(tokens.data<std::int32_t>()[at], goes_on ? plain[s].open[h].tokens.back() : 1) << what;
                if (goes_on) {
                    ASSERT_EQ(read(beams.log_probability).data<double>()[static_cast<std::int64_t>(s) * c.beam + b],
                              plain[s].open[h].log_p);
                }
            }
        }
    }
    for (std::int64_t s = 0; s < c.sentences; ++s) {
        ASSERT_TRUE(plain[static_cast<std::size_t>(s)].open.empty());
        ASSERT_TRUE(finished(beams, s) == plain[static_cast<std::size_t>(s)].finished) << what << ", sentence " << s;
    }
}

TEST(BeamStepDevice, FindsWhatASearchWithWholeHypothesesFinds) {
    const std::vector<Case> cases = {
        {1, 1, 1, 1, 1},
        {7, 1, 1, 1, 0.6},
        {3, 2, 1, 4, 1},
        {3, 2, 2, 4, 0},
        {5, 5, 1, 10, 1},
        {5, 5, 3, 10, 0.6},
        {2, 5, 5, 10, 2},
        {4, 5, 2, 3, 1},
        {2, 8, 4, 16, 1, 3},
        {2, 33, 7, 20, 1},
        {5, 5, 1, 10, 1, 0, 5},
        {5, 5, 3, 10, 0.6, 2, 3},
        {6, 5, 3, 10, 0, 0, 5},
        {6, 4, 4, 8, 0, 0, 4},
        {4, 3, 1, 6, 1, 0, 1},
        {4, 8, 2, 16, 1, 0, 12},
        // Forbidden tokens: one, several, all but the end mark, with as many continuations as needed and with fewer.
        {7, 1, 1, 2, 1, 0, 0, {2}},
        {5, 5, 2, 11, 1, 0, 5, {0}},
        {4, 5, 3, 13, 0.6, 2, 5, {0, 4, 9}},
        {4, 3, 1, 4, 1, 0, 3, {2, 3}},
        {3, 2, 2, 2, 1, 0, 0, {0, 2, 3, 4}},
        {3, 33, 7, 20, 1, 0, 40, {5, 7, 30}},
    };
    for (const Numbers& numbers : all_numbers()) {
        if (numbers.dtype == DType::bf16) continue;  // top_k gives f32 for it
        for (const Case& c : cases)
            for (std::uint64_t seed = 1; seed <= 3; ++seed) expect_the_plain_search(c, numbers, seed);
    }
}

TEST(BeamStepDevice, LargeBeams) {
    for (const Numbers& numbers : all_numbers())
        if (numbers.dtype == DType::f32) {
            expect_the_plain_search({2, 150, 40, 300, 1}, numbers, 5);
            expect_the_plain_search({60, 6, 2, 12, 1}, numbers, 6);
        }
}

TEST(BeamStepDevice, WrongUseIsAnError) {
    const std::vector<std::int64_t> longest{3, 4};
    const std::vector<double> none{0, 0};
    const auto make = [&](const BeamOptions& options) { return [&, options] { Beams(options, longest, none, Device::cpu); }; };
    expect_error(make({.beam = 0}), "beam search: a beam of 0, wanted at least 1");
    expect_error(make({.beam = 2, .n_best = 3}), "the 3 best of a beam of 2, wanted 1 to 2");
    expect_error(make({.beam = 4, .n_best = 3, .enough = 2}),
                 "would end after 2 hypotheses, but 3 are wanted; 0: when none can win");
    expect_error(make({.end = 3, .forbidden = {1, 3}}), "the end mark 3 is forbidden, so that no hypothesis could end");
    expect_error(make({.prefix_length = 3}), "at most 3 tokens, but a prefix of 3");
    expect_error([&] { Beams({}, longest, std::vector<double>{0}, Device::cpu); }, "2 sentences, but 1 log-probabilities");
    Beams beams({.beam = 2}, longest, none, Device::cpu);
    const TopK top{Tensor::zeros({2, 4}, DType::f32), Tensor::full({2, 4}, 3, DType::i32)};
    const auto step = [&](const std::vector<std::int32_t>& slots) {
        return [&, slots] { beam_step(beams, top, Tensor::from(slots, {static_cast<std::int64_t>(slots.size()) / 2, 2})); };
    };
    expect_error(step({0, 0, 2, 1}), "slots[1] is of sentence 2, but there are 2");
    expect_error(step({0, 2}), "slots[0] has 1 hypotheses from row 2, but there are 2");
    expect_error([&] { beam_step(beams, {top.values, top.values}, Tensor::zeros({1, 2}, DType::i32)); }, "ids");
    beams.steps = 4;
    expect_error(step({0, 0}), "4 steps were made, and the longest sentence has no more");
    if (!device::available() || !device::emulated()) return;  // it ends the context of a real device
    const TopK there{top.values.to(Device::cuda), top.ids.to(Device::cuda)};
    const auto on_device = [&](const std::vector<std::int32_t>& slots) {
        return [&, slots] {
            Beams fresh({.beam = 2}, longest, none, Device::cuda);
            read(beam_step(fresh, there, Tensor::from(slots, {1, 2}).to(Device::cuda)).tokens);
        };
    };
    expect_error(on_device({2, 0}), "a slot is of a sentence that does not exist");
    expect_error(on_device({0, 2}), "a slot's hypotheses leave the continuations");
}

}  // namespace
}  // namespace heddle::kernels
