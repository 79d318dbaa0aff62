#include "apps/translation/training/trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "apps/translation/distributed/distributed_batches.h"
#include "apps/translation/run/json.h"
#include "core/cpu.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::app {
namespace {

// With --on-divergence skip: so many skipped updates in a row are no accident.
constexpr std::int64_t most_skipped_in_a_row = 50;

void check_loss(double loss, std::int64_t updates) {
    if (std::isfinite(loss)) return;
    throw Divergence(
        fmt::format("training diverged: after update {} the loss without dropout is {}. Lower --lr or --clip, or raise "
                    "--warmup",
                    updates, unsigned_nan(loss)));
}

}  // namespace

Trainer::Trainer(nn::Transformer& model, const TrainingData& data, const TrainingOptions& options, TrainingLog& log,
                 const RunFolder* folder, TranslateLines translate, DType dtype, std::optional<TrainingPlan> plan, Ranks* ranks)
    : model_(model),
      data_(data),
      options_(options),
      log_(log),
      folder_(folder),
      translate_(std::move(translate)),
      plan_(plan ? std::move(*plan) : plan_training(model, data, options)),
      ranks_(ranks),
      learner_(model, options, planned_updates(options, batches_per_epoch()), dtype, ranks),
      average_(options.average) {
    state_.text = digests(data);
    if (learner_.parameters().values.device() == Device::cpu) state_.cpu_level = name(cpu_level());
    state_.epoch_batches = batches_per_epoch();
    learner_.pack_ahead(plan_.training);
    probe_ = plan_.training.window().batches.front().front();
}

PairBatch Trainer::batch(std::int64_t number) const {
    check(number >= 0 && number < batches_planned(), "batch {} of {} that are planned", number, batches_planned());
    return make_batch(data_.pairs(), plan_.training.window().batches[static_cast<std::size_t>(number)]);
}

// ---- the loop

TrainingResult Trainer::run() {
    const PlanCounts counts = plan_.training.counts();
    if (state_.updates == 0) {
        for (const std::string& line : plan_notes(counts, batches_per_epoch(), options_, model_.options().longest_sentence(),
                                                  model_.options().decoder_only ? "lines" : "pairs"))
            log_.note(line);
        const std::string left_out = validation_note(model_, data_, plan_.validation);
        if (!left_out.empty()) log_.note(left_out);
        note_warmup(planned_updates(options_, batches_per_epoch()));
    }
    watch_ = {};
    TrainingResult result;
    if (state_.updates > 0) end_ = training_end(options_, state_, elapsed());
    if (end_) result.nothing_to_train = end_->already;
    while (!over()) {
        run_epoch();
        if (over()) break;
        ++state_.epoch;
        state_.batches = state_.sentences = 0;
        plan_.training.seek(static_cast<std::uint64_t>(state_.epoch));
        state_.epoch_batches = batches_per_epoch();
    }
    read_losses();
    result.epochs = state_.epoch;
    result.updates = learner_.updates();
    result.pairs = (state_.epoch - 1) * counts.sentences + state_.sentences;
    if (end_)
        finish(result);
    else
        stop(result);
    if (options_.scalars_every > 0) log_.export_scalars();
    return result;
}

// What is left of the epoch, its end included, unless the run is over before.
void Trainer::run_epoch() {
    model_.train();
    plan_.training.seek(static_cast<std::uint64_t>(state_.epoch), state_.batches);
    while (!state_.epoch_is_over()) {
        update_start_ = Clock::now();
        const std::int64_t end = state_.batches + std::min(options_.accumulate, batches_per_epoch() - state_.batches);
        std::vector<PairBatch> batches;
        for (; state_.batches < end; ++state_.batches) batches.push_back(plan_.training.next());
        update(batches, seconds_since(update_start_));
        if (!state_.epoch_is_over() && over()) return;
    }
    if (options_.valid_every == 0) validate_now();
    if (options_.save_every == 0) save_now();
}

void Trainer::update(std::span<const PairBatch> batches, double loading) {
    UpdateReport report;
    try {
        report = learner_.update(batches);
    } catch (const Divergence& divergence) {
        if (options_.on_divergence != OnDivergence::skip) throw;
        ++state_.skipped;
        log_.note(fmt::format("skipped ({} so far): {}", state_.skipped, divergence.what()));
        if (++state_.skipped_in_a_row < most_skipped_in_a_row) return;
        throw Divergence(
            fmt::format("{} updates in a row diverged; the last one: {}", state_.skipped_in_a_row, divergence.what()));
    }
    state_.skipped_in_a_row = 0;
    after_update(report, loading);
}

void Trainer::after_update(const UpdateReport& report, double loading) {
    state_.updates = learner_.updates();
    state_.sentences += report.sentences;
    const double seconds = seconds_since(update_start_);
    progress_.add(report, loading, seconds);
    if (listener_.updated) {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        IntervalReport alone = with_means(progress_.since_line(), {.loss = report.read ? report.loss : nan,
                                                                   .correct = report.read ? report.correct : 0,
                                                                   .targets = report.targets,
                                                                   .tokens = report.tokens,
                                                                   .seconds = seconds});
        alone.loading = loading;
        alone.step = seconds - loading;
        listener_.updated(with_times(alone));
    }
    write_log();
    if (options_.valid_every > 0 && state_.updates % options_.valid_every == 0) validate_now();
    const bool asked = save_wanted_ && save_wanted_();
    if (asked) log_.note(fmt::format("saving update {}, as asked", grouped_text(state_.updates)));
    if (asked || (options_.save_every > 0 && state_.updates % options_.save_every == 0)) save_now();
    writer_.check_ended();
}

void Trainer::write_log() {
    const bool line = state_.updates % options_.log_every == 0,
               events = state_.updates % options_.events_every.value_or(options_.log_every) == 0;
    if (line || events || log_.progress_is_due()) read_losses();
    if (events) {
        log_.events(with_times(progress_.since_events()));
        progress_.begin_events();
    }
    if (line) {
        log_.interval(with_times(progress_.since_line()));
        progress_.begin_line();
    } else if (progress_.has_loss()) {
        log_.progress(with_times(progress_.since_line()));
    }
    if (options_.scalars_every > 0 && state_.updates % options_.scalars_every == 0) log_.export_scalars();
}

// The time that the host waits here is that of the updates.
void Trainer::read_losses() {
    const Clock::time_point start = Clock::now();
    const LossReading reading = learner_.read();
    if (reading.updates == 0) return;
    progress_.add(reading, seconds_since(start));
}

IntervalReport Trainer::with_times(IntervalReport report) const {
    report.elapsed = elapsed();
    report.eta = seconds_left(options_, state_, elapsed());
    return report;
}

std::optional<IntervalReport> Trainer::since_last_line() const {
    // A resumed run has the sums of its save, and no mean before its first update.
    if (state_.interval.targets == 0 || state_.interval.loss == 0 || !progress_.has_loss()) return {};
    IntervalReport report = with_times(progress_.since_line());
    report.update = std::min(report.update, learner_.updates());  // on a device those behind a bad one were asked for in vain
    return report;
}

double Trainer::elapsed() const { return seconds_before_ + watch_.seconds(); }

bool Trainer::over() {
    stopped_ = stopped_ || (stop_wanted_ && stop_wanted_());
    if (!end_) end_ = training_end(options_, state_, elapsed());
    return end_ || stopped_;
}

// An update can be finite and lead to weights that are good for nothing: such ones never replace a good save. One sentence tells.
void Trainer::check_weights() {
    const TokenPair pair = data_.pairs().pair(probe_);
    const bool training = model_.training();
    model_.eval();
    const double nll = likelihood(model_, {&pair, 1}, pair.width()).nll;
    model_.train(training);
    check_loss(nll, state_.updates);
}

ValidationReport Trainer::validation() {
    learner_.share_weights();
    ValidationReport report = validate(model_, data_.validation, plan_.validation, data_.validation_text, translate_,
                                       {.sentences = options_.valid_sentences}, likelihoods_on(ranks_, model_));
    check_loss(report.loss, state_.updates);
    report.epoch = state_.epoch;
    report.update = state_.updates;
    return report;
}

void Trainer::validate_now() {
    if (state_.validated_at == state_.updates) return;
    data_.pairs().check_unchanged();
    read_losses();
    state_.validated_at = state_.updates;
    const Tensor& weights = learner_.parameters().values;
    bool best = false;
    if (!data_.validation.empty()) {
        ValidationReport report = validation();
        best = report.best = !state_.best_loss || report.loss < *state_.best_loss;
        state_.validations_since_best = best ? 0 : state_.validations_since_best + 1;
        if (best) {
            state_.best_loss = report.loss;
            best_ = copy_on_cpu(weights);
        }
        log_.validation(report);
        if (listener_.validated) listener_.validated(report);
        last_validation_ = std::move(report);
    } else {
        check_weights();
    }
    average_.add(weights);
    // A run cannot be resumed from its weights alone, so its first save comes before them.
    const auto has_no_save = [&] { return folder_ != nullptr && latest_save(folder_->path()).empty(); };
    if (has_no_save()) writer_.wait();  // for one that is being written
    if (has_no_save()) {
        save_now();
        writer_.wait();
    }
    publish(best, true);
}

void Trainer::stop(TrainingResult& result) {
    save_now();
    writer_.wait();
    result.seconds = elapsed();
}

// Once in a run of the program: before training where the updates are known, else after it.
void Trainer::note_warmup(std::int64_t updates) {
    const std::string note = noted_warmup_ ? "" : warmup_note(learner_.schedule(), updates);
    if (note.empty()) return;
    noted_warmup_ = true;
    log_.note(note);
}

void Trainer::note_few_updates() {
    if (state_.updates > 0) return note_warmup(state_.updates);
    log_.note(fmt::format("no update was made: the weights are those that the run began with; {}",
                          state_.skipped > 0 ? "every one diverged, so lower --lr" : "train longer"));
}

// The save comes first: a run that ends between two validations and is given more epochs later has not seen the last one.
void Trainer::finish(TrainingResult& result) {
    save_now();
    validate_now();
    writer_.wait();
    result.seconds = elapsed();
    result.ended_by = end_->reason;
    result.limit = end_->limit;
    result.skipped = state_.skipped;
    log_.note((result.nothing_to_train.empty() ? "training " : "") + how_it_ended(result));
    if (result.nothing_to_train.empty()) note_few_updates();
    result.result = std::move(last_validation_);
    const bool compares = !data_.validation.empty() && average_.size() > 1;
    if (compares && !result.result) result.result = validation();  // resumed, with nothing to train
    use(average_.mean());
    if (!compares) return;
    ValidationReport average = validation();
    average.averaged = average_.size();
    log_.validation(average);
    if (listener_.validated) listener_.validated(average);
    if (keeps_mean(average.loss, result.result->loss)) {
        result.result = std::move(average);
        return;
    }
    log_.note(
        fmt::format("the last weights have a lower validation loss than the average of {} ({:.4f}, not {:.4f}): they are kept",
                    average_.size(), result.result->loss, average.loss));
    use(average_.snapshots().back());
    if (folder_ != nullptr) folder_->write_model(learner_.parameters().named(average_.snapshots().back()));
}

// Puts `weights` into the model, which is in evaluation mode afterwards.
void Trainer::use(const Tensor& weights) {
    model_.eval();
    learner_.parameters().values.copy_(weights);
    learner_.weights_changed();
    learner_.share_weights();
}

}  // namespace heddle::app
