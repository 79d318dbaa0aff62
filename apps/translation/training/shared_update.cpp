#include "apps/translation/training/shared_update.h"

#include <cmath>
#include <optional>

#include "apps/translation/distributed/distributed_batches.h"
#include "autograd/observe.h"
#include "core/check.h"
#include "kernels/gradient_norm/gradient_norm.h"
#include "kernels/update_tally/update_tally.h"

namespace heddle::app {
namespace {

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

UpdateReport SharedUpdate::update(std::span<const PairBatch> batches) {
    share_state();
    const double rate = trained_.step().lr;
    send_command(exchange_.ranks(), Command::update, message_of_update(batches, rate));
    try {
        return step(batches, rate);
    } catch (const optim::NotFinite& failed) {
        throw divergence(trained_, batches, failed);
    }
}

// All ranks learn the same losses and the same norm, so that all throw or none does.
UpdateReport SharedUpdate::step(std::span<const PairBatch> batches, double rate) {
    UpdateReport report(batches);
    losses_.clear();
    tallies_.clear();
    nn::FlatParameters& parameters = trained_.parameters;
    const ShardedBatches shards(batches, trained_.options.shards);
    exchange_.sum_gradients(parameters.gradients, [&](std::int64_t shard, const RankExchange::Complete& complete) {
        add_shard(shards, shard, static_cast<double>(report.targets), complete);
    });
    read_tallied_losses();

    const RankExchange::Measured measured = exchange_.measure(parameters.gradients, losses_);
    for (std::size_t i = 0; i < measured.of_shards.size(); i += 2)
        report.add(measured.of_shards[i], static_cast<std::int64_t>(measured.of_shards[i + 1]));
    if (!std::isfinite(measured.norm)) throw optim::NotFinite::of_gradient(measured.norm, trained_.optimizer.updates());
    report.gradient_norm = measured.norm;
    report.learning_rate = rate;
    const double clip = trained_.options.clip;
    const std::vector<double> norm_and_factor = {measured.norm, kernels::clip_factor(measured.norm, clip)};
    trained_.optimizer.step_measured({.lr = rate, .clip = clip},
                                     Tensor::from(norm_and_factor, {2}).to(parameters.values.device()));
    exchange_.gather_weights(parameters.values);
    parameters.round_again();
    return report;
}

void SharedUpdate::add_shard(const ShardedBatches& shards, std::int64_t shard, double divisor,
                             const RankExchange::Complete& complete) {
    trained_.parameters.zero_gradients();
    const std::int64_t last = shards.last_part(shard);
    for (std::int64_t batch = 0; batch < shards.batches(); ++batch) {
        losses_.insert(losses_.end(), 2, 0.0);  // an empty part has no loss
        const PairBatch& part = shards.part(shard, batch);
        if (part.sentences == 0) continue;
        std::optional<ObserveGradients> observe;
        if (complete && batch == last) observe.emplace([&](const Variable& leaf) { complete(leaf.grad()); });
        if (passes_ != nullptr) {
            passes_->run(part, trained_.random_numbers(shard, batch), divisor);
            keep_tallied_loss();
            continue;
        }
        const RandomState random(trained_.random_numbers(shard, batch));
        const ops::LossStatistics loss =
            ops::loss_statistics(add_gradients(trained_.model, tensors_of(part), trained_.loss(divisor)));
        losses_[losses_.size() - 2] = loss.loss;
        losses_.back() = static_cast<double>(loss.correct);
    }
    if (last < 0 && passes_ != nullptr) MarkedPass(&exchange_, trained_.parameters.gradients).end();  // an empty shard
}

// A captured step leaves its loss in the tally, as an update of its own whose norm is of no interest. To read it now would let
// the device wait for the host, and the host for the device.
void SharedUpdate::keep_tallied_loss() {
    Tensor& tally = passes_->tally();
    Tensor measured = Tensor::zeros({2}, DType::f64, tally.device());
    kernels::tally_update(tally, measured);
    tallies_.emplace_back(losses_.size() - 2, tally.clone());
    tally.fill_(0);
}

void SharedUpdate::read_tallied_losses() {
    for (const auto& [place, kept] : std::exchange(tallies_, {})) {
        const kernels::UpdateTally tally = kernels::read_tally(kept);
        losses_[place] = tally.failed ? tally.failed_loss : tally.losses.loss;
        losses_[place + 1] = static_cast<double>(tally.losses.correct);
    }
}

// Rank 0 may have read weights and moments from files; before its first update the others have neither.
void SharedUpdate::share_state() {
    if (std::exchange(shared_, true)) return;
    send_command(exchange_.ranks(), Command::state, Message::of(trained_.optimizer.updates(), !filled_.empty()));
    receive_state(trained_.optimizer.updates(), !filled_.empty());
    filled_.clear();
}

// What every rank does at Command::state.
void SharedUpdate::receive_state(std::int64_t updates, bool moments) {
    trained_.optimizer.set_updates(updates);
    exchange_.broadcast(trained_.parameters.values);
    trained_.parameters.round_again();
    if (!moments) return;
    std::size_t i = 0;
    for (const auto& [name, part] : trained_.optimizer.state())
        exchange_.scatter_from_first(exchange_.leads() ? filled_[i++].second : Tensor(), part);
}

SharedUpdate::Arrays SharedUpdate::gathered_moments() {
    share_state();
    send_command(exchange_.ranks(), Command::moments);
    Arrays moments = trained_.optimizer.state();
    for (auto& [name, array] : moments) {
        const Tensor whole = Tensor::zeros(trained_.parameters.values.shape(), array.dtype());
        exchange_.gather_to_first(array, whole);
        array = whole;
    }
    return moments;
}

SharedUpdate::Arrays SharedUpdate::moments_to_fill() {
    shared_ = false;
    filled_ = trained_.optimizer.state();
    for (auto& [name, array] : filled_) array = Tensor::zeros(trained_.parameters.values.shape(), array.dtype());
    return filled_;
}

void SharedUpdate::follow(const TokenPairs& pairs) {
    check(!exchange_.leads(), "learner: only the ranks after the first follow commands");
    for (;;) {
        ReceivedCommand given = receive_command(exchange_.ranks());
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
                    step(update.batches, update.rate);
                } catch (const optim::NotFinite&) {  // rank 0 says so, and decides what follows
                }
                break;
            }
            case Command::moments:
                for (const auto& [name, part] : trained_.optimizer.state()) exchange_.gather_to_first(part, {});
                break;
            case Command::batches:
                trained_.model.eval();
                compute_batches(exchange_.ranks(), trained_.model, std::move(given.message));
                trained_.model.train();
                break;
            case Command::end: return;
        }
    }
}

}  // namespace heddle::app
