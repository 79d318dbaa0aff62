
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/format.h"
#include "core/graph.h"
#include "core/storage.h"
#include "kernels/beam_step/beam_step.h"
#include "kernels/gather/gather.h"
#include "kernels/top_k/top_k.h"
#include "nn/search/search.h"

namespace heddle::nn {
namespace {

// On a device the host checks which sentences are finished once in this many steps: it then has to wait for all queued work.
constexpr std::int64_t steps_between_looks = 8;

Tensor i32_tensor(const std::vector<std::int32_t>& numbers, const Shape& shape, Device device) {
    return Tensor::from(numbers, shape).to(device);
}

// The rows of the decoder. On the CPU they are the open hypotheses, which the host sees in each step. On a device they are the
// whole beam of each sentence that was open when the host last looked, so that the host knows their number without waiting.
class Rows {
  public:
    // At first one hypothesis of each sentence.
    Rows(std::int64_t sentences, Device device) : device_(device) {
        std::vector<std::int32_t> slots;
        for (std::int32_t i = 0; i < sentences; ++i) {
            listed_.push_back(i);
            slots.insert(slots.end(), {i, i});
        }
        slots_ = i32_tensor(slots, {sentences, 2}, device_);
    }

    // Where each sentence's hypotheses begin: the argument of beam_step.
    const Tensor& slots() const { return slots_; }
    // The sentence of each row.
    const std::vector<std::int32_t>& sentences() const { return sentences_; }
    // Whether the last follow() changed the set of rows.
    bool changed() const { return changed_; }

    // Moves on to the rows after a step of the search, and cuts the results of the step to them. False when no row is left.
    bool follow(const kernels::Beams& beams, kernels::BeamStep& step) {
        const bool looks = device_ == Device::cpu || beams.steps % steps_between_looks == 0;
        changed_ = false;
        if (!looks && beams.steps > 1) return true;  // the rows stay, all of them
        const std::int64_t beam = beams.options.beam;
        const Tensor open = looks ? beams.open.to(Device::cpu) : Tensor();
        std::vector<std::int32_t> kept, listed, slots, sentences;
        for (std::size_t slot = 0; slot < listed_.size(); ++slot) {
            const std::int32_t sentence = listed_[slot];
            const std::int64_t going_on = looks ? open.data<std::int32_t>()[sentence] : beam;
            const std::int64_t count = device_ == Device::cpu || going_on == 0 ? going_on : beam;
            if (count == 0) continue;
            listed.push_back(sentence);
            slots.insert(slots.end(), {sentence, static_cast<std::int32_t>(kept.size())});
            for (std::int64_t b = 0; b < count; ++b) {
                kept.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(slot) * beam + b));
                sentences.push_back(sentence);
            }
        }
        const auto count = static_cast<std::int64_t>(kept.size());
        if (count < step.parents.numel()) {
            const Tensor rows = i32_tensor(kept, {count}, device_);
            step = {kernels::gather_forward(step.parents, rows), kernels::gather_forward(step.tokens, rows)};
        }
        changed_ = sentences != sentences_;
        if (changed_) slots_ = i32_tensor(slots, {static_cast<std::int64_t>(listed.size()), 2}, device_);
        listed_ = std::move(listed);
        sentences_ = std::move(sentences);
        return count > 0;
    }

  private:
    Device device_;
    bool changed_ = false;
    std::vector<std::int32_t> listed_;  // the sentences that have a slot
    std::vector<std::int32_t> sentences_;
    Tensor slots_;
};

// On a device the token steps between two looks are one graph. Launching it costs the host a few microseconds; launching the
// steps one by one would cost hundreds, and the device would often wait for them. Later steps differ in their arguments (the
// number of tokens so far), so they are captured anew into the same graph.
struct OnDevice {
    MemoryArena arena;
    MemoryArena::Use use{arena};
    device::Graph graph;
};

// The finished hypotheses, read from the trees.
class Finished {
  public:
    Finished(const kernels::Beams& beams, const DecodeOptions& options)
        : options_(options),
          beam_(options.beam),
          sentences_(beams.open.numel()),
          tree_(beams.tree.slice(0, beams.steps).to(Device::cpu)),
          count_(beams.found.to(Device::cpu)),
          numbers_(beams.found_numbers.to(Device::cpu)),
          paths_(beams.found_paths.to(Device::cpu)),
          open_last_(options.max_length ? beams.log_probability.to(Device::cpu) : Tensor()) {}

    HypothesisLists lists() const {
        HypothesisLists results(static_cast<std::size_t>(sentences_));
        for (std::int64_t i = 0; i < sentences_; ++i) {
            std::vector<std::int32_t> last_nodes;
            for (std::int64_t n = 0; n < count_.data<std::int32_t>()[i]; ++n) {
                Hypothesis each = hypothesis(i, n);
                const std::int32_t node = paths_.data<std::int32_t>()[2 * (i * options_.n_best + n)];
                const bool too_long =
                    !each.ended && options_.max_length && static_cast<std::int64_t>(each.tokens.size()) > *options_.max_length;
                if (too_long) {
                    // The last place was for the end mark: a hypothesis that did not end there is cut before it. Hypotheses that
                    // differ only in that place are then one.
                    if (std::ranges::find(last_nodes, node) != last_nodes.end()) continue;
                    each.tokens.pop_back();
                    each.log_probability = open_last_.data<double>()[i * beam_ + (node < 0 ? 0 : node % beam_)];
                    each.score = normalised(each.log_probability, *options_.max_length, options_.length_penalty);
                }
                last_nodes.push_back(node);
                results[static_cast<std::size_t>(i)].push_back(std::move(each));
            }
        }
        return results;
    }

  private:
    // The n-th best hypothesis of a sentence, as the search found it.
    Hypothesis hypothesis(std::int64_t sentence, std::int64_t n) const {
        const std::int64_t place = sentence * options_.n_best + n;
        const double* const scores = numbers_.data<double>() + 2 * place;
        const std::int32_t* const path = paths_.data<std::int32_t>() + 2 * place;
        Hypothesis each{{}, scores[0], scores[1], path[1] < 0};
        if (!each.ended) each.tokens.push_back(path[1]);
        for (std::int32_t node = path[0]; node >= 0;) {
            const std::int64_t at = (node / beam_ * sentences_ + sentence) * beam_ + node % beam_;
            each.tokens.push_back(tree_.data<std::int32_t>()[2 * at]);
            node = tree_.data<std::int32_t>()[2 * at + 1];
        }
        each.tokens.insert(each.tokens.end(), options_.prefix.rbegin(), options_.prefix.rend());
        std::reverse(each.tokens.begin(), each.tokens.end());
        return each;
    }

    const DecodeOptions& options_;
    std::int64_t beam_, sentences_;
    Tensor tree_, count_, numbers_, paths_, open_last_;
};

}  // namespace

HypothesisLists beam_search(const Ensemble& models, std::span<const Tokens> sources, const DecodeOptions& options) {
    check(options.beam >= 1, "beam search: a beam of {}, wanted at least 1", options.beam);
    check(options.n_best >= 1 && options.n_best <= options.beam, "beam search: the {} best of a beam of {}, wanted 1 to {}",
          options.n_best, options.beam, options.beam);
    check(options.patience == 0 || options.patience >= 1, "beam search: a patience of {}, wanted 0, or 1 and more",
          options.patience);
    if (sources.empty()) return {};
    const auto prefix = static_cast<std::int64_t>(options.prefix.size()), count = static_cast<std::int64_t>(sources.size());
    std::vector<std::int64_t> longest;
    for (const auto& source : sources)
        longest.push_back(longest_translation(models, static_cast<std::int64_t>(source.size()), prefix, options.max_length));
    const std::int64_t greatest = *std::max_element(longest.begin(), longest.end());
    std::optional<OnDevice> on_device;
    if (models.models().front()->device() == Device::cuda) on_device.emplace();
    Decoding decoding(models, sources, options.marks.begin, count * options.beam, greatest);
    Decoding::Start start = decoding.start(options.prefix, options.first);
    Tensor logits = std::move(start.logits);
    const Device device = logits.device();
    kernels::Beams beams({.beam = options.beam,
                          .n_best = options.n_best,
                          .length_penalty = options.length_penalty,
                          .end = options.marks.end,
                          .enough = static_cast<std::int64_t>(std::ceil(options.patience * static_cast<double>(options.beam))),
                          .prefix_length = prefix,
                          .forbidden = options.forbidden},
                         longest, start.log_probability, device);
    const std::int64_t k = std::min(beams.needed(), models.target_vocabulary());
    Rows rows(count, device);
    kernels::BeamStep step;
    const auto continue_hypotheses = [&] {
        step = kernels::beam_step(beams, kernels::top_k_log_softmax(logits, k), rows.slots());
        const Shape flat{step.parents.numel()};
        step = {step.parents.reshape(flat), step.tokens.reshape(flat)};
    };
    const auto token_step = [&] {
        logits = decoding.step(step.parents, step.tokens, rows.sentences());
        continue_hypotheses();
    };
    const auto until_look = [&] {
        do token_step();
        while (beams.steps % steps_between_looks != 0 && beams.length() < greatest);
    };
    continue_hypotheses();
    while (beams.length() < greatest && rows.follow(beams, step)) {
        if (!on_device || rows.changed()) {
            token_step();  // on a device this uploads the tables of the new rows, which a graph cannot do
        } else {
            on_device->graph.capture(until_look);
            on_device->graph.launch();
        }
    }
    HypothesisLists results = Finished(beams, options).lists();
    // A beam wider than the choice after the prefix also holds tokens that may not follow: their log-probability is -inf.
    for (std::size_t i = 0; i < results.size(); ++i) {
        std::erase_if(results[i], [](const Hypothesis& each) { return std::isinf(each.log_probability); });
        check(!results[i].empty(), "beam search: source {} has no translation, the model gives each one the probability 0", i);
    }
    return results;
}

}  // namespace heddle::nn
