// The training loop: epochs of batches, log lines, validations, saves, and the limits that end it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "apps/options.h"
#include "apps/translation/learner.h"
#include "apps/translation/run_folder.h"
#include "apps/translation/training_data.h"
#include "apps/translation/training_log.h"
#include "apps/translation/validation.h"
#include "apps/translation/weight_average.h"

namespace heddle::app {

struct TrainingResult {
    std::int64_t epochs = 0;  ///< begun
    std::int64_t updates = 0;
    double seconds = 0;
    std::string ended_by;                    ///< "20 epochs", "4 minutes", "3 validations without a better loss"
    std::optional<ValidationReport> result;  ///< of the averaged weights, when there is validation text
};

class Trainer {
  public:
    /// `data`, `log` and `folder` must outlive the trainer. Without a folder nothing is written; without `translate` validations
    /// have no BLEU. Error when no training pair fits into a batch.
    Trainer(nn::Transformer& model, const TrainingData& data, const TrainingOptions& options, TrainingLog& log,
            const RunFolder* folder = nullptr, TranslateLines translate = {});

    /// Trains until a limit is reached. Afterwards the model holds the averaged weights, in evaluation mode.
    TrainingResult run();

    const Learner& learner() const { return learner_; }

  private:
    using Clock = std::chrono::steady_clock;

    void run_epoch();
    void after_update(const UpdateReport& report);
    void validate_now();
    void save_now();
    void finish(TrainingResult& result);
    BatchPlan plan() const;
    std::int64_t planned_updates() const;
    bool ended();
    double elapsed() const;
    double eta() const;
    IntervalReport interval(const UpdateReport& last) const;

    nn::Transformer& model_;
    const TrainingData& data_;
    TrainingOptions options_;
    TrainingLog& log_;
    const RunFolder* folder_;
    TranslateLines translate_;
    std::int64_t epoch_ = 1;
    std::int64_t batches_per_epoch_ = 0;
    Learner learner_;
    WeightAverage average_;

    Clock::time_point start_;
    std::int64_t epoch_batches_done_ = 0;
    std::int64_t epoch_sentences_ = 0;
    double interval_loss_ = 0;
    std::int64_t interval_targets_ = 0;
    std::int64_t interval_tokens_ = 0;
    double interval_seconds_ = 0;  // of updates only: validations do not slow the tokens per second down
    Clock::time_point update_start_;
    std::int64_t validated_at_ = -1;
    std::int64_t saved_at_ = -1;
    double best_loss_ = 0;
    std::int64_t validations_since_best_ = 0;
    bool has_best_ = false;
    std::optional<ValidationReport> last_validation_;
    std::string ended_by_;
};

}  // namespace heddle::app
