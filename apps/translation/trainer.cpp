#include "apps/translation/trainer.h"

#include <algorithm>
#include <limits>

#include "core/format.h"

namespace heddle::app {
namespace {

constexpr std::int64_t validation_batch_tokens = 3000;

std::int64_t groups(std::int64_t batches, std::int64_t size) { return (batches + size - 1) / size; }

}  // namespace

Trainer::Trainer(nn::Transformer& model, const TrainingData& data, const TrainingOptions& options, TrainingLog& log,
                 const RunFolder* folder, TranslateLines translate)
    : model_(model),
      data_(data),
      options_(options),
      log_(log),
      folder_(folder),
      translate_(std::move(translate)),
      batches_per_epoch_(static_cast<std::int64_t>(plan().batches.size())),
      learner_(model, options, planned_updates()),
      average_(options.average) {
    // Better now than after the first epoch: an error when no validation pair can be used.
    if (!data_.validation.empty()) plan_validation(model_, data_.validation, validation_batch_tokens);
}

BatchPlan Trainer::plan() const {
    // Sentences that a table of learned positions cannot number are left out like those above --max-length.
    const std::int64_t table = model_.options().longest_sentence().value_or(options_.max_length);
    const std::int64_t longest = options_.max_length == 0 ? table : std::min(options_.max_length, table);
    const BatchOptions wanted{.batch_tokens = options_.batch_tokens, .max_length = longest, .shuffle = true};
    return plan_batches(data_.training, wanted, options_.seed, static_cast<std::uint64_t>(epoch_));
}

std::int64_t Trainer::planned_updates() const {
    constexpr auto unlimited = std::numeric_limits<std::int64_t>::max();
    const std::int64_t per_epoch = groups(batches_per_epoch_, options_.accumulate);
    const std::int64_t by_epochs = options_.epochs ? *options_.epochs * per_epoch : unlimited;
    const std::int64_t planned = std::min(by_epochs, options_.updates.value_or(unlimited));
    return planned == unlimited ? 0 : planned;
}

TrainingResult Trainer::run() {
    const BatchPlan first = plan();
    log_.note(fmt::format("training: {} pairs, {} batches of up to {} tokens an epoch ({} pairs too long, {} empty are left out)",
                          grouped_text(first.sentences), grouped_text(batches_per_epoch_), grouped_text(options_.batch_tokens),
                          grouped_text(first.too_long + first.too_wide), grouped_text(first.empty)));
    start_ = Clock::now();
    for (; !ended(); ++epoch_) run_epoch();
    --epoch_;  // the last one that began
    TrainingResult result{.epochs = epoch_, .updates = learner_.updates(), .seconds = 0, .ended_by = ended_by_, .result = {}};
    finish(result);
    return result;
}

void Trainer::run_epoch() {
    model_.train();
    const BatchPlan epoch = plan();
    batches_per_epoch_ = static_cast<std::int64_t>(epoch.batches.size());
    epoch_batches_done_ = epoch_sentences_ = 0;
    const auto size = static_cast<std::size_t>(options_.accumulate);
    for (std::size_t at = 0; at < epoch.batches.size(); at += size) {
        update_start_ = Clock::now();
        std::vector<Batch> batches;
        for (std::size_t i = at; i < std::min(at + size, epoch.batches.size()); ++i)
            batches.push_back(make_batch(data_.training, epoch.batches[i]));
        epoch_batches_done_ += static_cast<std::int64_t>(batches.size());
        after_update(learner_.update(batches));
        if (epoch_batches_done_ < batches_per_epoch_ && ended()) return;
    }
    if (options_.valid_every == 0) validate_now();
    if (options_.save_every == 0) save_now();
}

void Trainer::after_update(const UpdateReport& report) {
    epoch_sentences_ += report.sentences;
    interval_loss_ += report.loss;
    interval_targets_ += report.targets;
    interval_tokens_ += report.tokens;
    interval_seconds_ += std::chrono::duration<double>(Clock::now() - update_start_).count();
    if (learner_.updates() % options_.log_every == 0) {
        log_.interval(interval(report));
        interval_loss_ = interval_seconds_ = 0;
        interval_targets_ = interval_tokens_ = 0;
    } else {
        log_.progress(interval(report));
    }
    if (options_.valid_every > 0 && learner_.updates() % options_.valid_every == 0) validate_now();
    if (options_.save_every > 0 && learner_.updates() % options_.save_every == 0) save_now();
}

IntervalReport Trainer::interval(const UpdateReport& last) const {
    return {.epoch = epoch_,
            .update = learner_.updates(),
            .sentences = epoch_sentences_,
            .loss = interval_loss_ / static_cast<double>(std::max<std::int64_t>(1, interval_targets_)),
            .tokens_per_second = static_cast<double>(interval_tokens_) / std::max(interval_seconds_, 1e-9),
            .gradient_norm = last.gradient_norm,
            .learning_rate = last.learning_rate,
            .elapsed = elapsed(),
            .eta = eta()};
}

double Trainer::elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

double Trainer::eta() const {
    double least = std::numeric_limits<double>::infinity();
    const auto after = [&](double done) { least = std::min(least, elapsed() * (1 - done) / std::max(done, 1e-9)); };
    const double epoch_done = static_cast<double>(epoch_batches_done_) / static_cast<double>(batches_per_epoch_);
    if (options_.epochs) after((static_cast<double>(epoch_ - 1) + epoch_done) / static_cast<double>(*options_.epochs));
    if (options_.updates) after(static_cast<double>(learner_.updates()) / static_cast<double>(*options_.updates));
    if (options_.minutes) least = std::min(least, 60 * *options_.minutes - elapsed());
    return std::max(0.0, least);
}

bool Trainer::ended() {
    const bool epoch_over = epoch_batches_done_ == batches_per_epoch_ || epoch_batches_done_ == 0;
    if (!ended_by_.empty()) return true;
    if (options_.updates && learner_.updates() >= *options_.updates)
        ended_by_ = fmt::format("{} updates", *options_.updates);
    else if (options_.minutes && elapsed() >= 60 * *options_.minutes)
        ended_by_ = fmt::format("{} minutes", *options_.minutes);
    else if (options_.epochs && epoch_over && epoch_ > *options_.epochs)
        ended_by_ = fmt::format("{} epochs", *options_.epochs);
    else if (options_.patience > 0 && validations_since_best_ >= options_.patience)
        ended_by_ = fmt::format("{} validations without a better loss", validations_since_best_);
    return !ended_by_.empty();
}

void Trainer::validate_now() {
    if (validated_at_ == learner_.updates()) return;
    validated_at_ = learner_.updates();
    average_.add(learner_.parameters().values);
    if (!data_.validation.empty()) {
        ValidationReport report = validate(model_, data_.validation, data_.validation_text, translate_,
                                           {.batch_tokens = validation_batch_tokens, .sentences = options_.valid_sentences});
        report.epoch = epoch_;
        report.update = learner_.updates();
        report.best = !has_best_ || report.loss < best_loss_;
        validations_since_best_ = report.best ? 0 : validations_since_best_ + 1;
        if (report.best) {
            has_best_ = true;
            best_loss_ = report.loss;
            if (folder_ != nullptr) folder_->write_best(model_.named_tensors());
        }
        log_.validation(report);
        last_validation_ = std::move(report);
    }
    if (folder_ != nullptr) folder_->write_model(learner_.parameters().named(average_.mean()));
}

void Trainer::save_now() {
    if (saved_at_ == learner_.updates() || folder_ == nullptr) return;
    saved_at_ = learner_.updates();
    folder_->save(learner_.updates(), model_.named_tensors(), learner_.moments());
}

void Trainer::finish(TrainingResult& result) {
    validate_now();
    save_now();
    result.seconds = elapsed();
    log_.note(fmt::format("training ended after {}: {} updates in {}", ended_by_, grouped_text(result.updates),
                          duration_text(result.seconds)));
    model_.eval();
    learner_.parameters().values.copy_(average_.mean());
    result.result = std::move(last_validation_);
    if (data_.validation.empty() || average_.size() < 2) return;
    ValidationReport report = validate(model_, data_.validation, data_.validation_text, translate_,
                                       {.batch_tokens = validation_batch_tokens, .sentences = options_.valid_sentences});
    report.epoch = result.epochs;
    report.update = result.updates;
    report.averaged = average_.size();
    log_.validation(report);
    result.result = std::move(report);
}

}  // namespace heddle::app
