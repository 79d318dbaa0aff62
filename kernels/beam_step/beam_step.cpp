#include "kernels/beam_step/beam_step.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/check.h"
#include "core/format.h"
#include "core/parallel.h"

namespace heddle::kernels {
namespace {

// A continuation of one of a sentence's hypotheses by one token.
struct Candidate {
    double log_probability;
    std::int32_t hypothesis;  // among the sentence's open ones
    std::int32_t token;
    std::int32_t node;  // of the hypothesis
};

// One sentence's part of Beams.
class Sentence {
  public:
    Sentence(Beams& beams, std::int64_t sentence)
        : options_(beams.options),
          length_(beams.length() + 1),
          first_node_(beams.steps * beams.options.beam),
          considered_(beams.considered()),
          longest_(beams.longest.data<std::int32_t>()[sentence]),
          divisors_(beams.divisors.data<double>()),
          open_(beams.open.mutable_data<std::int32_t>() + sentence),
          log_probability_(beams.log_probability.mutable_data<double>() + sentence * beams.options.beam),
          node_(beams.node.mutable_data<std::int32_t>() + sentence * beams.options.beam),
          tree_(beams.tree.mutable_data<std::int32_t>() + (beams.steps * beams.open.numel() + sentence) * beams.options.beam * 2),
          ended_(beams.ended.mutable_data<std::int32_t>() + sentence),
          found_(beams.found.mutable_data<std::int32_t>() + sentence),
          numbers_(beams.found_numbers.mutable_data<double>() + sentence * beams.options.n_best * 2),
          paths_(beams.found_paths.mutable_data<std::int32_t>() + sentence * beams.options.n_best * 2) {}

    // values and ids [open, k]; parents and tokens [beam], counted from first_row.
    template <class T>
    void advance(const T* values, const std::int32_t* ids, std::int64_t k, std::int32_t first_row, std::int32_t* parents,
                 std::int32_t* tokens) {
        std::vector<Candidate> next;
        std::int64_t rank = 0;
        for (const Candidate& candidate : ranked(values, ids, k)) {
            const bool in_beam = rank++ < options_.beam;
            if (candidate.token == options_.end) {
                if (in_beam && can_beat(1, candidate.log_probability)) ++*ended_;
                finish(candidate.node, -1, candidate.log_probability);
                continue;
            }
            if (static_cast<std::int64_t>(next.size()) == options_.beam || !can_win(candidate.log_probability)) continue;
            if (length_ == longest_)
                finish(candidate.node, candidate.token, candidate.log_probability);
            else
                next.push_back(candidate);
        }
        while (!next.empty() && !can_win(next.back().log_probability)) next.pop_back();  // the best stand first
        if (options_.enough > 0 && *ended_ >= options_.enough) next.clear();
        *open_ = static_cast<std::int32_t>(next.size());
        std::fill_n(parents, options_.beam, first_row);
        std::fill_n(tokens, options_.beam, options_.end);
        for (std::size_t i = 0; i < next.size(); ++i) {
            tree_[2 * i] = tokens[i] = next[i].token;
            tree_[2 * i + 1] = next[i].node;
            log_probability_[i] = next[i].log_probability;
            node_[i] = static_cast<std::int32_t>(first_node_) + static_cast<std::int32_t>(i);
            parents[i] = first_row + next[i].hypothesis;
        }
    }

  private:
    template <class T>
    std::vector<Candidate> ranked(const T* values, const std::int32_t* ids, std::int64_t k) const {
        std::vector<Candidate> all;
        all.reserve(static_cast<std::size_t>(*open_ * k));
        for (std::int32_t h = 0; h < *open_; ++h)
            for (std::int64_t j = 0; j < k; ++j)
                if (std::ranges::find(options_.forbidden, ids[h * k + j]) == options_.forbidden.end())
                    all.push_back({log_probability_[h] + static_cast<double>(values[h * k + j]), h, ids[h * k + j], node_[h]});
        std::stable_sort(all.begin(), all.end(),
                         [](const Candidate& a, const Candidate& b) { return a.log_probability > b.log_probability; });
        all.resize(std::min(all.size(), static_cast<std::size_t>(considered_)));
        return all;
    }

    bool full() const { return *found_ == options_.n_best; }

    // Whether a hypothesis of this log-probability may yet come among the `count` best finished ones.
    bool can_beat(std::int64_t count, double log_probability) const {
        return *found_ < count || log_probability / divisors_[longest_] > numbers_[2 * (count - 1) + 1];
    }
    bool can_win(double log_probability) const { return can_beat(options_.n_best, log_probability); }

    // The hypothesis that ends in `token` after `node`; -1: in the end mark.
    void finish(std::int32_t node, std::int32_t token, double log_probability) {
        const double score = log_probability / divisors_[length_];
        const bool ended = token < 0;
        std::int32_t place = 0;
        for (; place < *found_; ++place) {
            const bool other_ended = paths_[2 * place + 1] < 0;
            if (ended != other_ended ? ended : score > numbers_[2 * place + 1]) break;
        }
        if (place == options_.n_best) return;
        if (!full()) ++*found_;
        std::copy_backward(numbers_ + 2 * place, numbers_ + 2 * (*found_ - 1), numbers_ + 2 * *found_);
        std::copy_backward(paths_ + 2 * place, paths_ + 2 * (*found_ - 1), paths_ + 2 * *found_);
        numbers_[2 * place] = log_probability;
        numbers_[2 * place + 1] = score;
        paths_[2 * place] = node;
        paths_[2 * place + 1] = token;
    }

    const BeamOptions& options_;
    std::int64_t length_, first_node_, considered_;
    std::int32_t longest_;
    const double* divisors_;
    std::int32_t* open_;
    double* log_probability_;  // [beam]
    std::int32_t* node_;       // [beam]
    std::int32_t* tree_;       // [beam, 2], of this step
    std::int32_t* ended_;
    std::int32_t* found_;
    double* numbers_;      // [n_best, 2]
    std::int32_t* paths_;  // [n_best, 2]
};

Tensor i32_of(std::span<const std::int64_t> numbers) {
    std::vector<std::int32_t> result;
    for (const std::int64_t number : numbers) result.push_back(static_cast<std::int32_t>(number));
    return Tensor::from(result, {static_cast<std::int64_t>(result.size())});
}

}  // namespace

Beams::Beams(const BeamOptions& given, std::span<const std::int64_t> lengths, std::span<const double> log_probabilities,
             Device device)
    : options(given) {
    const auto sentences = static_cast<std::int64_t>(lengths.size());
    const std::int64_t beam = options.beam, prefix = options.prefix_length;
    check(beam >= 1, "beam search: a beam of {}, wanted at least 1", beam);
    check(options.n_best >= 1 && options.n_best <= beam, "beam search: the {} best of a beam of {}, wanted 1 to {}",
          options.n_best, beam, beam);
    check(options.enough == 0 || options.enough >= options.n_best,
          "beam search: it would end after {} hypotheses, but {} are wanted; 0: when none can win any more", options.enough,
          options.n_best);
    check(std::ranges::find(options.forbidden, options.end) == options.forbidden.end(),
          "beam search: the end mark {} is forbidden, so that no hypothesis could end", options.end);
    check(log_probabilities.size() == lengths.size(), "beam search: {} sentences, but {} log-probabilities", lengths.size(),
          log_probabilities.size());
    std::int64_t greatest = prefix;
    for (const std::int64_t length : lengths) {
        check(length > prefix, "beam search: at most {} tokens, but a prefix of {}", length, prefix);
        greatest = std::max(greatest, length);
    }
    check((greatest - prefix) * beam <= std::numeric_limits<std::int32_t>::max(),
          "beam search: {} tokens of a beam of {}, more nodes than an i32 can number", greatest - prefix, beam);
    std::vector<double> powers;
    for (std::int64_t n = 0; n <= greatest; ++n) powers.push_back(std::pow(static_cast<double>(n), options.length_penalty));
    std::vector<double> first(static_cast<std::size_t>(sentences * beam), 0);
    for (std::int64_t i = 0; i < sentences; ++i)
        first[static_cast<std::size_t>(i * beam)] = log_probabilities[static_cast<std::size_t>(i)];
    const Shape hypotheses{sentences, beam}, best{sentences, options.n_best, 2};
    longest = i32_of(lengths).to(device);
    divisors = Tensor::from(powers, {greatest + 1}).to(device);
    forbidden = Tensor::from(options.forbidden, {static_cast<std::int64_t>(options.forbidden.size())}).to(device);
    open = Tensor::full({sentences}, 1, DType::i32).to(device);
    log_probability = Tensor::from(first, hypotheses).to(device);
    node = Tensor::full(hypotheses, -1, DType::i32).to(device);
    tree = Tensor::zeros({greatest - prefix, sentences, beam, 2}, DType::i32, device);
    ended = Tensor::zeros({sentences}, DType::i32, device);
    found = Tensor::zeros({sentences}, DType::i32, device);
    found_numbers = Tensor::zeros(best, DType::f64, device);
    found_paths = Tensor::zeros(best, DType::i32, device);
}

BeamStep beam_step(Beams& beams, const TopK& top, const Tensor& slots) {
    check_rank("beam_step", "slots", slots, 2);
    const Shape shape{slots.dim(0), beams.options.beam};
    const Device device = beams.open.device();
    BeamStep result{Tensor::empty(shape, DType::i32, device), Tensor::empty(shape, DType::i32, device)};
    beam_step_into(beams, top, slots, result);
    return result;
}

void beam_step_into(Beams& beams, const TopK& top, const Tensor& slots, BeamStep& result) {
    const char* op = "beam_step";
    check_rank(op, "values", top.values, 2);
    check_shape(op, "ids", top.ids, top.values.shape());
    check_dtype(op, "ids", top.ids, DType::i32);
    check_dtype(op, "slots", slots, DType::i32);
    check_rank(op, "slots", slots, 2);
    check_shape(op, "slots", slots, {slots.dim(0), 2});
    check_device(op, {{"open", beams.open}, {"values", top.values}, {"ids", top.ids}, {"slots", slots}});
    check(beams.steps < beams.tree.dim(0) || beams.growth.replays != nullptr,
          "{}: {} steps were made, and the longest sentence has no more", op, beams.steps);
    const std::int64_t count = slots.dim(0), beam = beams.options.beam, k = top.values.cols(), rows = top.values.rows();
    const Device device = beams.open.device();
    check_shape(op, "parents", result.parents, {count, beam});
    check_shape(op, "tokens", result.tokens, {count, beam});
    check_device(op, {{"open", beams.open}, {"parents", result.parents}, {"tokens", result.tokens}});
    if (device == Device::cuda) {
        beam_step_cuda(beams, top, slots, result);
        ++beams.steps;
        return;
    }
    const std::int32_t* const slot_numbers = slots.data<std::int32_t>();
    for (std::int64_t slot = 0; slot < count; ++slot) {
        const std::int32_t sentence = slot_numbers[2 * slot], first = slot_numbers[2 * slot + 1];
        check(sentence >= 0 && sentence < beams.open.numel(), "{}: slots[{}] is of sentence {}, but there are {}", op, slot,
              sentence, beams.open.numel());
        const std::int32_t open = beams.open.data<std::int32_t>()[sentence];
        check(first >= 0 && first + open <= rows, "{}: slots[{}] has {} hypotheses from row {}, but there are {}", op, slot, open,
              first, rows);
    }
    dispatch_float(op, top.values, [&]<class T>(TypeTag<T>) {
        parallel_for(count, grain_for(64 * beam * k), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t slot = begin; slot < end; ++slot) {
                const std::int32_t first = slot_numbers[2 * slot + 1];
                Sentence(beams, slot_numbers[2 * slot])
                    .advance(top.values.data<T>() + first * k, top.ids.data<std::int32_t>() + first * k, k, first,
                             result.parents.mutable_data<std::int32_t>() + slot * beam,
                             result.tokens.mutable_data<std::int32_t>() + slot * beam);
            }
        });
    });
    ++beams.steps;
}

}  // namespace heddle::kernels
