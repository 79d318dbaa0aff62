#include "apps/translation/training/trainer.h"
#include "apps/translation/batching/batch_feed.h"
#include "apps/translation/run/json.h"
#include "apps/translation/spread/spread.h"
#include "core/number_text.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/cpu.h"
#include "core/format.h"
#include "nn/serialize.h"

namespace heddle::app {
namespace {

// With --on-divergence skip: so many skipped updates in a row are no accident.
constexpr std::int64_t most_skipped_in_a_row = 50;

void check_same_text(const TextDigests& saved, const TextDigests& now) {
    const auto check_one = [](const char* what, std::int64_t pairs_then, const std::string& then, std::int64_t pairs_now,
                              const std::string& now) {
        check(then == now,
              "the {} text is another one than the run began with: {} pairs (digest {}) then, {} pairs (digest {}) now; give the "
              "same files, or begin a new run (--init takes over the weights)",
              what, pairs_then, then, pairs_now, now);
    };
    check_one("training", saved.training_pairs, saved.training, now.training_pairs, now.training);
    check_one("validation", saved.validation_pairs, saved.validation, now.validation_pairs, now.validation);
}

void check_loss(double loss, std::int64_t updates) {
    if (std::isfinite(loss)) return;
    throw Divergence(
        fmt::format("training diverged: after update {} the loss without dropout is {}. Lower --lr or --clip, or raise "
                    "--warmup",
                    updates, unsigned_nan(loss)));
}

// What the save's updates were computed with and what computes now, when their bits differ; empty otherwise.
std::string other_bits(const std::string& saved, const std::string& now) {
    if (saved.empty() || now.empty()) return {};
    std::string same;  // how to have the save's bits
    for (const CpuLevel level : {CpuLevel::v2, CpuLevel::v3, CpuLevel::v4}) {
        if (saved != name(level)) continue;
        if (same_bits(level, cpu_level())) return {};
        if (level <= processor_level()) same = fmt::format("; --cpu-level {} would keep the bits", short_name(level));
    }
    return fmt::format(
        "warning: the save was computed at the CPU level {}, what follows is at {}: weights will differ from those of the run "
        "that never stopped, by rounding{}",
        saved, now, same);
}

}  // namespace

std::string how_it_ended(const TrainingResult& result) {
    if (!result.nothing_to_train.empty()) return "nothing to train: " + result.nothing_to_train;
    // A limit of updates counts them already.
    const std::string updates =
        result.ended_by == EndReason::updates ? "" : fmt::format(": {} updates", grouped_text(result.updates));
    const std::string skipped = result.skipped == 0 ? "" : fmt::format(", {} skipped", result.skipped);
    return fmt::format("ended after {}{}{} in {}", result.limit, updates, skipped, duration_text(result.seconds));
}

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
    if (data.vocabularies.source != nullptr)
        state_.source_characters = characters_per_token(data.pairs(), *data.vocabularies.source);
    probe_ = plan_.epoch.window().batches.front().front();
}

void Trainer::plan_again() {
    { const EpochPlan old = std::move(plan_.epoch); }  // its memory is free for the next one
    plan_.epoch = plan_epoch(model_, data_, options_, state_.epoch);
    state_.epoch_batches = batches_per_epoch();
}

Batch Trainer::batch(std::int64_t number) const {
    check(number >= 0 && number < batches_planned(), "batch {} of {} that are planned", number, batches_planned());
    return make_batch(data_.pairs(), plan_.epoch.window().batches[static_cast<std::size_t>(number)]);
}

// ---- saving and going on

void Trainer::resume(const std::filesystem::path& save, const SafetensorsFile* weights) {
    const TrainingState saved = read_state(save);
    check_same_text(saved.text, state_.text);
    const nn::FlatParameters& parameters = learner_.parameters();
    const auto fresh = [&] { return Tensor::zeros(parameters.values.shape(), parameters.values.dtype()); };
    Save into{.state = saved,
              .weights = parameters.named(parameters.values),
              .moments = learner_.moments_to_fill(),
              .averaged = {},
              .best = {}};
    std::vector<Tensor> averaged;
    check_averaged(save, saved.averaged, into.weights);
    for (std::int64_t i = 0; i < saved.averaged; ++i) into.averaged.push_back(parameters.named(averaged.emplace_back(fresh())));
    if (saved.best_loss) into.best = parameters.named(best_ = fresh());
    read_save(save, into, folder_ != nullptr ? folder_->identity() : ModelIdentity(), weights);

    for (const Tensor& each : averaged) average_.add(each);
    const std::string level = state_.cpu_level, warning = other_bits(saved.cpu_level, level);
    const std::optional<double> characters = state_.source_characters;
    state_ = saved;
    state_.cpu_level = level;
    state_.source_characters = characters;  // of the same text
    seconds_before_ = saved.seconds;
    saved_at_ = saved.updates;
    learner_.set_updates(saved.updates);
    if (state_.epoch > 1) plan_again();
    check(saved.epoch_batches == batches_per_epoch(),
          "epoch {} has {} batches now and had {} when this was saved: it was planned by another version of heddle; resume with "
          "that "
          "version, or begin a new run (--init takes over the weights)",
          saved.epoch, batches_per_epoch(), saved.epoch_batches);
    // Before the log is cut, or a run that is stopped in between would continue from a save that its log does not know.
    const auto aside = folder_ != nullptr ? folder_->go_on_from(saved.updates) : std::vector<std::filesystem::path>();
    log_.cut_back(saved.lengths, options_.scalars_every > 0);
    if (!warning.empty()) log_.note(warning);
    publish(best_.defined(), !folder_has_last_weights());
    if (aside.empty()) return;
    // Back before its first validation, a run translates with the weights it continues with.
    if (average_.size() == 0) folder_->write_model(parameters.named(copy_on_cpu(parameters.values)));
    for (const std::filesystem::path& file : aside)
        log_.note(fmt::format("the weights of the run that went on from here stay as {}", file.string()));
}

// Everything that still changes is copied, so that training continues while the copy is written.
Save Trainer::copy() {
    const nn::FlatParameters& parameters = learner_.parameters();
    Save save{.state = state_,
              .weights = parameters.named(copy_on_cpu(parameters.values)),
              .moments = learner_.copy_of_moments(),
              .averaged = {},
              .best = {}};
    for (const Tensor& weights : average_.snapshots()) save.averaged.push_back(parameters.named(weights));
    if (best_.defined()) save.best = parameters.named(best_);
    save.state.averaged = average_.size();
    save.state.seconds = elapsed();
    save.state.lengths = log_.lengths();
    save.state.options = saved_options_;
    return save;
}

void Trainer::save_now() {
    if (saved_at_ == learner_.updates() || folder_ == nullptr) return;
    data_.pairs().check_unchanged();  // before weights that learned from other pairs are kept
    read_losses();
    check_weights();
    saved_at_ = learner_.updates();
    writer_.start([folder = folder_, save = copy(), keep = options_.keep] { folder->save(save, keep); });
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

// As finish() leaves it where the average is worse. What cannot be read is written again.
bool Trainer::folder_has_last_weights() const {
    if (folder_ == nullptr || average_.size() < 2) return false;
    try {
        const Tensor& last = average_.snapshots().back();
        const Tensor there = Tensor::zeros(last.shape(), last.dtype());
        nn::load(learner_.parameters().named(there), open_weights(folder_->path() / "model.safetensors", folder_->identity()));
        return std::memcmp(there.bytes_data(), last.bytes_data(), static_cast<std::size_t>(last.bytes())) == 0;
    } catch (const Error&) {
        return false;
    }
}

// The weights for translating; runs are not resumed from them.
void Trainer::publish(bool best, bool average) const {
    if (folder_ == nullptr) return;
    const nn::FlatParameters& parameters = learner_.parameters();
    if (best) folder_->write_best(parameters.named(best_));
    if (average && average_.size() > 0) folder_->write_model(parameters.named(average_.mean()));
}

// ---- the loop

TrainingResult Trainer::run() {
    const PlanCounts counts = plan_.epoch.counts();
    if (state_.updates == 0) {
        for (const std::string& line : plan_notes(counts, batches_per_epoch(), options_, model_.options().longest_sentence()))
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
        plan_again();
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
    EpochFeed feed(plan_.epoch, state_.batches,
                   [&](const BatchPlan& window, std::int64_t first) { return learner_.feed(data_.pairs(), window, first); });
    while (!state_.epoch_is_over()) {
        update_start_ = Clock::now();
        const std::int64_t end = state_.batches + std::min(options_.accumulate, batches_per_epoch() - state_.batches);
        std::vector<Batch> batches;
        for (; state_.batches < end; ++state_.batches) batches.push_back(feed.next());
        update(batches, seconds_since(update_start_));
        if (!state_.epoch_is_over() && over()) return;
    }
    if (options_.valid_every == 0) validate_now();
    if (options_.save_every == 0) save_now();
}

void Trainer::update(std::span<const Batch> batches, double loading) {
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
    progress_.add(report, loading, seconds_since(update_start_));
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
