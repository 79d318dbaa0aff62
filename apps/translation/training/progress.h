// What log lines and TensorBoard tell of the updates since they last did.
#pragma once

#include <cstdint>
#include <limits>

#include "apps/translation/run/state.h"
#include "apps/translation/training/results.h"
#include "apps/translation/training/update.h"

namespace heddle::app {

/// `report` with the loss, accuracy and speed of these updates.
IntervalReport with_means(IntervalReport report, const Interval& interval);

/// Keeps the sums of both intervals, which lie in the training's state because a resumed run continues them, and what only
/// this process knows: the times of its updates and the last losses that were read.
class Progress {
  public:
    /// `state` must outlive this object.
    explicit Progress(TrainingState& state) : state_(state) {}

    /// An update that took `seconds`, `loading` of them waiting for its batches.
    void add(const UpdateReport& report, double loading, double seconds);
    /// Losses that an update could not tell, after a wait of `seconds` for them.
    void add(const LossReading& reading, double seconds);

    /// Whether a loss was told since this object was made.
    bool has_loss() const;
    /// The updates since the last log line; all but the times since the training began. Without a loss it is NaN.
    IntervalReport since_line() const;
    /// The updates since the last numbers for TensorBoard, otherwise as since_line().
    IntervalReport since_events() const;
    /// A log line was written, or numbers for TensorBoard: their sums begin again.
    void begin_line();
    void begin_events();

  private:
    void add_to_both(const Interval& part);
    void know(double gradient_norm);

    TrainingState& state_;
    struct Times {
        double loading = 0;
        double steps = 0;
        std::int64_t updates = 0;
    } times_;                   // since the last log line
    double learning_rate_ = 0;  // of the last update
    // Loss, gradient norm and tokens per second of the interval when the losses were last read.
    IntervalReport known_ = {.loss = std::numeric_limits<double>::quiet_NaN()};
};

}  // namespace heddle::app
