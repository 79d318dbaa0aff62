// A learner that shares its updates with other ranks. Rank 0's gives the orders, the others' follow() them; the arithmetic of an
// update, step_together(), is the same on all.
#include <cmath>
#include <utility>

#include "apps/translation/distributed/distributed_batches.h"
#include "apps/translation/training/learner.h"
#include "core/check.h"
#include "core/format.h"
#include "kernels/gradient_norm/gradient_norm.h"
#include "kernels/update_tally/update_tally.h"

namespace heddle::app {
namespace {

// Of each part of a shard: its loss and the number of correct tokens.
constexpr std::int64_t numbers_of_part = 2;

Message message_of_update(std::span<const PairBatch> batches, double rate) {
    Message message = Message::of(rate, static_cast<std::int64_t>(batches.size()));
    for (const PairBatch& batch : batches) message.put(batch.indices);
    return message;
}

struct ReceivedUpdate {
    double rate = 0;
    std::vector<PairBatch> batches;
};

ReceivedUpdate take_update(Message& message, const TokenPairs& pairs) {
    ReceivedUpdate update{.rate = message.take_one<double>(), .batches = {}};
    for (auto left = message.take_one<std::int64_t>(); left > 0; --left)
        update.batches.push_back(make_batch(pairs, message.take<std::int64_t>()));
    return update;
}

}  // namespace

UpdateReport Learner::update_together(std::span<const PairBatch> batches) {
    share_state();
    const double rate = schedule_.rate(updates());
    send_command(exchange_->ranks(), Command::update, message_of_update(batches, rate));
    try {
        step_together(batches, rate);
        return report_;
    } catch (const optim::NotFinite& failed) {
        const std::string text = divergence_text(batches, failed);
        if (on_device()) tally_.fill_(0);  // the search counted, too
        throw Divergence(text);
    }
}

// A captured step leaves its loss in the tally, as an update of its own whose norm is of no interest. To read it now would let
// the device wait for the host, and the host for the device.
void Learner::keep_tallied_loss() {
    Tensor measured = Tensor::zeros({2}, DType::f64, tally_.device());
    kernels::tally_update(tally_, measured);
    tallies_.emplace_back(losses_.size() - 2, tally_.clone());
    tally_.fill_(0);
}

void Learner::read_tallied_losses() {
    for (const auto& [place, kept] : std::exchange(tallies_, {})) {
        const kernels::UpdateTally tally = kernels::read_tally(kept);
        losses_[place] = tally.failed ? tally.failed_loss : tally.losses.loss;
        losses_[place + 1] = static_cast<double>(tally.losses.correct);
    }
}

// All ranks learn the same losses and the same norm, so that all throw or none does.
void Learner::step_together(std::span<const PairBatch> batches, double rate) {
    count(batches);
    losses_.clear();
    tallies_.clear();
    const ShardedBatches shards(batches, options_.shards);
    exchange_->sum_gradients(parameters_.gradients, [&](std::int64_t shard, const RankExchange::Complete& complete) {
        gradients_of_shard(shards, shard, complete);
    });
    read_tallied_losses();

    const RankExchange::Measured measured = exchange_->measure(parameters_.gradients, losses_);
    for (std::size_t i = 0; i < measured.of_shards.size(); i += numbers_of_part)
        add_loss(measured.of_shards[i], static_cast<std::int64_t>(measured.of_shards[i + 1]));
    add_norm(measured.norm);
    report_.learning_rate = rate;
    const Tensor norm_and_factor =
        Tensor::from(std::vector<double>{measured.norm, kernels::clip_factor(measured.norm, options_.clip)}, {2});
    optimizer_.step_measured({.lr = rate, .clip = options_.clip}, norm_and_factor.to(parameters_.values.device()));
    exchange_->gather_weights(parameters_.values);
    parameters_.round_again();
}

// Rank 0 may have read weights and moments from files; before its first update the others have neither.
void Learner::share_state() {
    if (std::exchange(shared_, true)) return;
    send_command(exchange_->ranks(), Command::state, Message::of(updates(), !whole_moments_.empty()));
    receive_state(updates(), !whole_moments_.empty());
    whole_moments_.clear();
}

// What every rank does at Command::state.
void Learner::receive_state(std::int64_t updates, bool moments) {
    optimizer_.set_updates(updates);
    exchange_->broadcast(parameters_.values);
    parameters_.round_again();
    if (!moments) return;
    std::size_t i = 0;
    for (const auto& [name, part] : optimizer_.state())
        exchange_->scatter_from_first(exchange_->leads() ? whole_moments_[i++] : Tensor(), part);
}

void Learner::share_weights() {
    if (exchange_ != nullptr) share_state();
}

nn::NamedTensors Learner::gathered_moments() {
    share_state();
    send_command(exchange_->ranks(), Command::moments);
    return named_moments([&](const Tensor& part) {
        const Tensor whole = Tensor::zeros(parameters_.values.shape(), part.dtype());
        exchange_->gather_to_first(part, whole);
        return whole;
    });
}

nn::NamedTensors Learner::whole_moments_to_fill() {
    whole_moments_.clear();
    shared_ = false;
    return named_moments(
        [&](const Tensor& part) { return whole_moments_.emplace_back(Tensor::zeros(parameters_.values.shape(), part.dtype())); });
}

void Learner::follow(const TokenPairs& pairs) {
    check(exchange_ != nullptr && !exchange_->leads(), "learner: only the ranks after the first follow orders");
    for (;;) {
        ReceivedCommand given = receive_command(exchange_->ranks());
        switch (given.command) {
            case Command::begin: fail("learner: the training was begun twice");
            case Command::state: {
                const auto updates = given.message.take_one<std::int64_t>();
                receive_state(updates, given.message.take_one<bool>());
                break;
            }
            case Command::update: {
                const ReceivedUpdate update = take_update(given.message, pairs);
                try {
                    step_together(update.batches, update.rate);
                } catch (const optim::NotFinite&) {  // rank 0 says so, and decides what follows
                }
                break;
            }
            case Command::moments:
                for (const auto& [name, part] : optimizer_.state()) exchange_->gather_to_first(part, {});
                break;
            case Command::batches:
                model_.eval();
                compute_batches(exchange_->ranks(), model_, std::move(given.message));
                model_.train();
                break;
            case Command::end: return;
        }
    }
}

}  // namespace heddle::app
