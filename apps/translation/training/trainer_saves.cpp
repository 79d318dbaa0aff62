// How a training is saved, and how it goes on from a save.
#include <cstring>

#include "apps/translation/training/trainer.h"
#include "core/cpu.h"
#include "core/format.h"
#include "nn/serialize.h"

namespace heddle::app {
namespace {

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

// A warning where the save's processor level and today's give different bits; empty otherwise.
std::string other_bits(const std::string& saved, const std::string& now) {
    if (saved.empty() || now.empty()) return {};
    std::string same;  // how to have the save's bits
    for (const CpuLevel level : {CpuLevel::v2, CpuLevel::v3, CpuLevel::v4}) {
        if (saved != name(level)) continue;
        if (same_bits(level, cpu_level())) return {};
        if (level <= processor_level()) same = fmt::format("; --cpu-level {} would keep the bits", word_of(level));
    }
    return fmt::format(
        "warning: the save was computed at the CPU level {}, what follows is at {}: weights will differ from those of the run "
        "that never stopped, by rounding{}",
        saved, now, same);
}

}  // namespace

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
    state_ = saved;
    state_.cpu_level = level;
    seconds_before_ = saved.seconds;
    saved_at_ = saved.updates;
    learner_.set_updates(saved.updates);
    plan_.training.seek(static_cast<std::uint64_t>(state_.epoch), state_.batches);
    state_.epoch_batches = batches_per_epoch();
    check(saved.epoch_batches == batches_per_epoch(),
          "epoch {} has {} batches now and had {} when this was saved: it was planned by another version of heddle; resume "
          "with that version, or begin a new run (--init takes over the weights)",
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

// Whether finish() kept the last weights instead of their average. An unreadable file counts as no.
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

}  // namespace heddle::app
