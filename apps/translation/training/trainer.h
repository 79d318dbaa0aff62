// The training loop: epochs of batches, log lines, validations, saves, and the limits that end it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "apps/translation/run/clock.h"
#include "apps/translation/run/folder.h"
#include "apps/translation/run/save.h"
#include "apps/translation/run/state.h"
#include "apps/translation/training/data.h"
#include "apps/translation/training/learner.h"
#include "apps/translation/training/limits.h"
#include "apps/translation/training/log.h"
#include "apps/translation/training/options.h"
#include "apps/translation/training/plan.h"
#include "apps/translation/training/progress.h"
#include "apps/translation/training/results.h"
#include "apps/translation/training/validation.h"
#include "apps/translation/training/weight_average.h"

namespace heddle::app {

class Trainer {
  public:
    /// `data`, `log` and `folder` must outlive the trainer. Without a folder nothing is written; without `translate` validations
    /// have no BLEU. `dtype` as the Learner's: what is saved is f32. `plan`: plan_training() of
    /// the same arguments, where it was called before; otherwise the constructor does, with its errors. `ranks`: the
    /// processes that share the updates and the validations, on rank 0 (Learner). After run() the others have the weights
    /// that the model holds.
    Trainer(nn::Transformer& model, const TrainingData& data, const TrainingOptions& options, TrainingLog& log,
            const RunFolder* folder = nullptr, TranslateLines translate = {}, DType dtype = DType::f32,
            std::optional<TrainingPlan> plan = {}, Ranks* ranks = nullptr);

    /// Before run(): resumes from this save, bit for bit as if the run had never stopped. Later saves are removed, the log is
    /// truncated, and the save's weights are copied into the folder; other weights there are kept until the next validation.
    /// When the run goes back to before its last save, its former weights are renamed (RunFolder::go_on_from), and until its
    /// first validation it has the save's weights. Error when a file is damaged, or belongs to another model or text than
    /// `data`.
    /// `weights`: the save's model.safetensors, where open_weights() has opened it already.
    void resume(const std::filesystem::path& save, const SafetensorsFile* weights = nullptr);
    /// Before run(): the options that every save records from now on.
    void save_options(OptionTexts options) { saved_options_ = std::move(options); }
    /// Before run(): training saves and stops after the first update at which `wanted` returns true.
    void stop_when(std::function<bool()> wanted) { stop_wanted_ = std::move(wanted); }
    /// Before run(): training saves after each update at which `wanted` returns true, and continues.
    void save_when(std::function<bool()> wanted) { save_wanted_ = std::move(wanted); }

    /// Before run(): who is told of updates and validations.
    void tell(TrainingListener listener) { listener_ = std::move(listener); }

    /// Trains until a limit is reached. Afterwards, unless it was stopped, the model is in evaluation mode and holds the averaged
    /// weights, or the last ones where their validation loss is lower. Throws Divergence, unless the options skip such updates;
    /// on a device only when the losses are read: at a log line, before a validation or a save, and at the end.
    TrainingResult run();
    /// Writes a save of the state now, before the first update for example. Divergence when the weights give no finite loss.
    void save_now();

    /// A batch of the window that is planned, which for most texts is the epoch (BatchStream): for measurements of this run.
    /// Error when there is none of this number, which counts from 0.
    PairBatch batch(std::int64_t number) const;
    std::int64_t batches_planned() const { return static_cast<std::int64_t>(plan_.training.window().batches.size()); }
    std::int64_t batches_per_epoch() const { return plan_.training.batches(); }
    /// The updates since the last log line, as such a line tells them; nothing where there are none whose losses are known.
    std::optional<IntervalReport> since_last_line() const;

    const TrainingOptions& options() const { return options_; }
    const Learner& learner() const { return learner_; }
    const TrainingState& state() const { return state_; }

  private:
    using Clock = std::chrono::steady_clock;

    void run_epoch();
    void update(std::span<const PairBatch> batches, double loading);  // seconds that the batches took
    void after_update(const UpdateReport& report, double loading);
    void read_losses();
    void write_log();
    void validate_now();
    ValidationReport validation();
    void finish(TrainingResult& result);
    void stop(TrainingResult& result);
    void note_warmup(std::int64_t updates);
    void note_few_updates();
    void check_weights();
    Save copy();
    void publish(bool best, bool average) const;
    bool folder_has_last_weights() const;
    void use(const Tensor& weights);
    bool over();
    double elapsed() const;
    IntervalReport with_times(IntervalReport report) const;

    nn::Transformer& model_;
    const TrainingData& data_;
    TrainingOptions options_;
    TrainingLog& log_;
    const RunFolder* folder_;
    TranslateLines translate_;
    std::function<bool()> stop_wanted_, save_wanted_;
    TrainingListener listener_;

    OptionTexts saved_options_;
    TrainingState state_;
    TrainingPlan plan_;
    Progress progress_{state_};
    std::int64_t probe_ = 0;  // a training pair
    Ranks* ranks_;            // null: alone
    Learner learner_;
    WeightAverage average_;
    Tensor best_;  // weights of the best validation, never changed; undefined before the first
    SaveWriter writer_;

    mutable Stopwatch watch_;  // since run() began
    Clock::time_point update_start_;
    double seconds_before_ = 0;  // of training, before run()
    std::int64_t saved_at_ = -1;
    std::optional<ValidationReport> last_validation_;
    std::optional<TrainingEnd> end_;
    bool stopped_ = false;
    bool noted_warmup_ = false;
};

}  // namespace heddle::app
