// Where the time of an update goes: its ops and everything else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/translation/training/trainer.h"

namespace heddle::app {

/// A kind of work, as an average update does it, in seconds.
struct TimedWork {
    std::string name;     ///< of an op, or "adam", "making the batch"
    double seconds = 0;   ///< in all
    double forward = 0;   ///< of an op; else 0
    double backward = 0;  ///< of an op; else 0
    double calls = 0;     ///< how often in an update
    bool is_op = false;
};

/// An average update. Its works do not overlap: together they are never longer than it.
struct UpdateTimes {
    std::vector<TimedWork> works = {};    ///< the longest first
    double seconds = 0;                   ///< of the whole update, by one clock
    std::int64_t batches_per_update = 1;  ///< --accumulate
    std::int64_t batches = 0;             ///< that were measured
    bool on_device = false;               ///< where each work was waited for
    std::int64_t shards = 1;              ///< --shards of the run; the updates measured are not cut
    ExchangeCosts exchange = {};          ///< between this process and others, in all updates of the training

    /// What passed between the works.
    double unexplained() const;
};

/// Makes updates of up to 12 batches at even distances among those that are planned (Trainer::batch), until all are done or two
/// seconds are over; the first batch goes through once before, uncounted. The optimizer works on a copy of the weights: the
/// model's stay, and it is left in the mode it is in. Its gradients become zero. On a device each work is waited for. Shards and
/// ranks are left out: this process computes each batch as a whole. What the exchange between ranks cost was counted in training.
UpdateTimes measure_update(nn::Transformer& model, const Trainer& trainer);

}  // namespace heddle::app
