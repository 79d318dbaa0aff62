
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

// On a device this many steps are one graph, after which the host looks which sentences are finished. It looks at an earlier
// graph's result while the device works at the next one, so neither waits; at worst two graphs run for nothing.
constexpr std::int64_t steps_of_graph = 8;

Tensor i32_tensor(const std::vector<std::int32_t>& numbers, const Shape& shape, Device device) {
    return Tensor::from(numbers, shape).to(device);
}

// The rows of the decoder. On the CPU they are the open hypotheses, which the host sees in each step. On a device they are the
// whole beam of each sentence that was open when the rows were last chosen, so that the host knows their number without waiting.
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
    // Whether so many sentences have ended that other rows are worth their tables and graphs; open[sentence]: its open
    // hypotheses.
    bool many_ended(const std::int32_t* open) const {
        const auto left = std::ranges::count_if(listed_, [&](std::int32_t sentence) { return open[sentence] > 0; });
        return 4 * left <= 3 * std::ssize(listed_);
    }

    // Moves on to the rows after a step of the search, and cuts the results of the step to them. `open`: the open hypotheses of
    // each sentence now or, on a device, at some earlier step; null: all of the beam. False when no row is left.
    bool follow(const kernels::Beams& beams, const std::int32_t* open, kernels::BeamStep& step) {
        const std::int64_t beam = beams.options.beam;
        std::vector<std::int32_t> kept, listed, slots, sentences;
        for (std::size_t slot = 0; slot < listed_.size(); ++slot) {
            const std::int32_t sentence = listed_[slot];
            const std::int64_t going_on = open != nullptr ? open[sentence] : beam;
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
        if (count > 0 && count < step.parents.numel()) {
            const Tensor rows = i32_tensor(kept, {count}, device_);
            step = {kernels::gather_forward(step.parents, rows), kernels::gather_forward(step.tokens, rows)};
        }
        if (sentences != sentences_) slots_ = i32_tensor(slots, {static_cast<std::int64_t>(listed.size()), 2}, device_);
        listed_ = std::move(listed);
        sentences_ = std::move(sentences);
        return count > 0;
    }

  private:
    Device device_;
    std::vector<std::int32_t> listed_;  // the sentences that have a slot
    std::vector<std::int32_t> sentences_;
    Tensor slots_;
};

// The finished hypotheses, read from the trees.
class Finished {
  public:
    Finished(const kernels::Beams& beams, const DecodeOptions& options)
        : options_(options),
          beam_(options.beam),
          sentences_(beams.open.numel()),
          tree_(beams.tree.slice(0, std::min(beams.steps, beams.tree.dim(0))).to(Device::cpu)),
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

// A search under way: the decoder, the beams, and the rows between them.
class Search {
  public:
    Search(const Ensemble& models, std::span<const Tokens> sources, const DecodeOptions& options,
           const std::vector<std::int64_t>& longest)
        : count_(static_cast<std::int64_t>(sources.size())),
          greatest_(*std::max_element(longest.begin(), longest.end())),
          on_device_(models.models().front()->device() == Device::cuda),
          decoding_(models, sources, options.marks.begin, count_ * options.beam,
                    greatest_ + (on_device_ ? 2 * steps_of_graph : 0)),  // graphs run beyond the end
          start_(decoding_.start(options.prefix, options.first)),
          beams_({.beam = options.beam,
                  .n_best = options.n_best,
                  .length_penalty = options.length_penalty,
                  .end = options.marks.end,
                  .enough = static_cast<std::int64_t>(std::ceil(options.patience * static_cast<double>(options.beam))),
                  .prefix_length = static_cast<std::int64_t>(options.prefix.size()),
                  .forbidden = options.forbidden},
                 longest, start_.log_probability, start_.logits.device()),
          k_(std::min(beams_.needed(), models.target_vocabulary())),
          rows_(count_, start_.logits.device()) {}

    // Until nothing is open.
    const kernels::Beams& run() {
        continue_hypotheses(start_.logits);
        if (on_device_) {
            run_on_device();
            return beams_;
        }
        while (beams_.length() < greatest_ && rows_.follow(beams_, beams_.open.data<std::int32_t>(), step_)) token_step();
        return beams_;
    }

  private:
    void continue_hypotheses(const Tensor& logits) {
        step_ = kernels::beam_step(beams_, kernels::top_k_log_softmax(logits, k_), rows_.slots());
        const Shape flat{step_.parents.numel()};
        step_ = {step_.parents.reshape(flat), step_.tokens.reshape(flat)};
    }
    void token_step() { continue_hypotheses(decoding_.step(step_.parents, step_.tokens, rows_.sentences())); }

    // Steps that read where the one before them wrote.
    void captured_steps() {
        const Shape beams{rows_.slots().dim(0), beams_.options.beam};
        kernels::BeamStep result{step_.parents.reshape(beams), step_.tokens.reshape(beams)};
        for (std::int64_t i = 0; i < steps_of_graph; ++i) {
            const Tensor logits = decoding_.step(step_.parents, step_.tokens, rows_.sentences());
            kernels::beam_step_into(beams_, kernels::top_k_log_softmax(logits, k_), rows_.slots(), result);
        }
    }

    void run_on_device() {
        kernels::Replays replays;
        MemoryArena arena;  // what the graph works in: no tensor that is made between its replays may lie there
        device::Graph graph;
        device::Readback readback;
        const std::int32_t* open = nullptr;
        while (beams_.length() < greatest_ && rows_.follow(beams_, open, step_)) {
            token_step();  // uploads the tables of these rows, which a graph cannot do
            open = nullptr;
            for (bool captured = false; beams_.length() < greatest_ && open == nullptr; captured = true) {
                if (decoding_.make_room(steps_of_graph) && captured) {
                    decoding_.replayed(steps_of_graph);
                    beams_.steps += steps_of_graph;
                } else {
                    capture(graph, arena, replays);
                }
                graph.launch();
                readback.request(beams_.open.bytes_data(), beams_.open.numel() * size_of(DType::i32));
                if (readback.pending() < device::Readback::kPieces) continue;
                const auto* const seen = reinterpret_cast<const std::int32_t*>(readback.take());
                if (rows_.many_ended(seen)) open_.assign(seen, seen + count_), open = open_.data();
            }
        }
    }

    // A second time where memory ran out: what was kept has been given back, and there may be room now.
    void capture(device::Graph& graph, MemoryArena& arena, kernels::Replays& replays) {
        const Decoding decoding = decoding_;
        const std::int64_t steps = beams_.steps;
        try {
            capture_once(graph, arena, replays);
        } catch (const OutOfMemory&) {
            decoding_ = decoding;
            beams_.steps = steps;
            capture_once(graph, arena, replays);
        }
    }

    // `replays`: how often this graph will have been replayed.
    void capture_once(device::Graph& graph, MemoryArena& arena, kernels::Replays& replays) {
        replays.reset();
        decoding_.start_capture(replays, steps_of_graph);
        beams_.growth = replays.growth(steps_of_graph);
        graph.capture([&] {
            const MemoryArena::Use use(arena);
            captured_steps();
            replays.add();
        });
        decoding_.end_capture();
        beams_.growth = {};
    }

    std::int64_t count_, greatest_;
    bool on_device_;
    Decoding decoding_;
    Decoding::Start start_;
    kernels::Beams beams_;
    std::int64_t k_;
    Rows rows_;
    kernels::BeamStep step_;
    std::vector<std::int32_t> open_;
};

}  // namespace

HypothesisLists beam_search(const Ensemble& models, std::span<const Tokens> sources, const DecodeOptions& options) {
    check(options.beam >= 1, "beam search: a beam of {}, wanted at least 1", options.beam);
    check(options.n_best >= 1 && options.n_best <= options.beam, "beam search: the {} best of a beam of {}, wanted 1 to {}",
          options.n_best, options.beam, options.beam);
    check(options.patience == 0 || options.patience >= 1, "beam search: a patience of {}, wanted 0, or 1 and more",
          options.patience);
    if (sources.empty()) return {};
    const auto prefix = static_cast<std::int64_t>(options.prefix.size());
    std::vector<std::int64_t> longest;
    for (const auto& source : sources)
        longest.push_back(longest_translation(models, static_cast<std::int64_t>(source.size()), prefix, options.max_length));
    Search search(models, sources, options, longest);
    HypothesisLists results = Finished(search.run(), options).lists();
    // A beam wider than the choice after the prefix also holds tokens that may not follow: their log-probability is -inf.
    for (std::size_t i = 0; i < results.size(); ++i) {
        std::erase_if(results[i], [](const Hypothesis& each) { return std::isinf(each.log_probability); });
        check(!results[i].empty(), "beam search: source {} has no translation, the model gives each one the probability 0", i);
    }
    return results;
}

}  // namespace heddle::nn
