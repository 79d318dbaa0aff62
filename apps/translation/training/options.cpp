#include "apps/translation/training/options.h"

#include <fmt/format.h>

#include "apps/terminal/option_error.h"
#include "apps/terminal/terminal.h"
#include "core/cpu.h"
#include "core/device.h"
#include "core/error.h"
#include "core/parallel.h"
#include "kernels/matmul/batch_invariant.h"

namespace heddle::app {

namespace {

void check_fits_together(const nn::TransformerOptions& model) {
    const std::string_view tie = word_of(*model.tie);
    switch (model.conflict()) {
        case nn::OptionConflict::none: break;
        case nn::OptionConflict::heads_of_width:
            throw OptionError({"heads", "d-model", "head-dim"},
                              fmt::format("--heads {} does not divide --d-model {}; choose another number or give --head-dim",
                                          model.heads, model.d_model));
        case nn::OptionConflict::key_heads:
            throw OptionError(
                {"key-heads", "heads"},
                fmt::format("--key-heads {} does not divide --heads {}; choose another number", *model.key_heads, model.heads));
        case nn::OptionConflict::zero_start_without_bias:
            throw OptionError({"zero-start", "output-bias", "tie"},
                              fmt::format("--zero-start with --tie {} forbids the begin mark by its output bias; leave out "
                                          "--output-bias false, or take --tie embeddings or none",
                                          tie));
        case nn::OptionConflict::unpaired_layers:
            throw OptionError(
                {"memory", "encoder-layers", "decoder-layers"},
                fmt::format("--memory layer pairs each decoder layer with an encoder layer, but there are {} and "
                            "{}; give as many",
                            model.decoder_layers.value_or(model.layers), model.encoder_layers.value_or(model.layers)));
        case nn::OptionConflict::odd_rotary_head:
            throw OptionError({"positions", "head-dim", "heads", "d-model"},
                              fmt::format("--positions rotary turns pairs of columns, but a head has {}; give an even --head-dim",
                                          model.head_dim.value_or(model.d_model / model.heads)));
        case nn::OptionConflict::memory_without_encoder:
            throw OptionError(
                {"memory", "decoder-only"},
                "--memory layer is for a decoder that attends to an encoder; a language model has none: leave it out");
    }
    check_option(
        model.positions == nn::Positions::learned || are_in_attention(model.positions) || model.d_model % 2 == 0,
        {"d-model", "positions"},
        fmt::format("--d-model {} is odd, but sines and cosines of positions come in pairs; choose an even width or --positions "
                    "learned",
                    model.d_model));
}

void check_fits_together(const VocabularyRequest& vocabulary) {
    check_option(vocabulary.shared || vocabulary.model_file.empty(), {"vocab-model", "shared-vocab"},
                 "--vocab-model is one vocabulary for both languages; leave out --shared-vocab false");
    check_option(!vocabulary.shared || (!vocabulary.source_size && !vocabulary.target_size),
                 {"source-vocab-size", "target-vocab-size", "shared-vocab", "vocab-size"},
                 "--source-vocab-size and --target-vocab-size need --shared-vocab false; one vocabulary has --vocab-size");
    check_option(vocabulary.min_count == 1 || !is_sentencepiece(vocabulary.type), {"min-count", "vocab-type"},
                 fmt::format("--min-count {} counts words or characters; subwords have none: leave it out with --vocab-type {}",
                             vocabulary.min_count, word_of(vocabulary.type)));
    check_option(!vocabulary.normalization || is_sentencepiece(vocabulary.type), {"vocab-normalization", "vocab-type"},
                 fmt::format("--vocab-normalization is of bpe and unigram; a {} vocabulary takes text as it is: leave it out",
                             word_of(vocabulary.type)));
}

}  // namespace

bool is_text_task(std::string_view task) { return task == "names" || task == "text"; }

void resolve(nn::TransformerOptions& model, VocabularyRequest& vocabulary) {
    if (!model.tie) model.tie = vocabulary.shared ? nn::Tie::all : nn::Tie::target;
    check_fits_together(model);
    check_fits_together(vocabulary);
    if (is_sentencepiece(vocabulary.type) && !vocabulary.normalization) vocabulary.normalization = Normalization::nfc;
    check_option(!model.decoder_only || !model.encoder_layers, {"encoder-layers", "task"},
                 "--encoder-layers is for a translator; a language model has --layers or --decoder-layers: leave it out");
    check_option(!model.decoder_only || vocabulary.shared, {"shared-vocab", "task"},
                 "--shared-vocab false makes a vocabulary for each side, and a language model has one side; leave it out");
    check_option(vocabulary.shared || !model.one_embedding(), {"tie", "shared-vocab"},
                 fmt::format("--tie {} needs one vocabulary for both languages; take --tie target or none, or leave out "
                             "--shared-vocab false",
                             word_of(*model.tie)));
    model = model.with_defaults();
    if (*model.key_heads == model.heads) model.key_heads.reset();  // given or not, the same model has the same files
    if (model.decoder_only) model.encoder_layers.reset();
}

double default_rate(optim::ScheduleKind schedule) { return schedule == optim::ScheduleKind::noam ? 1 : 3e-3; }
double rate_of(const TrainingOptions& training) { return training.lr.value_or(default_rate(training.schedule)); }

void resolve(TrainingOptions& training) {
    training.lr = rate_of(training);
    if (!training.epochs && !training.updates && !training.minutes) training.epochs = default_epochs;
    check_option(training.schedule != optim::ScheduleKind::cosine || training.epochs || training.updates,
                 {"schedule", "updates", "epochs"}, "--schedule cosine must know where it ends: give --updates or --epochs");
    check_option(training.batch_tokens > 0 || training.batch_sentences > 0, {"batch-tokens", "batch-sentences"},
                 "--batch-tokens 0 sets no limit, and --batch-sentences 0 none either; give one of them a number");
    const TrainingOptions defaults;
    check_option(training.optimizer == optim::Method::sgd || training.momentum == defaults.momentum,
                 {"momentum", "optimizer", "adam-betas"},
                 fmt::format("--momentum is of --optimizer sgd; {} has --adam-betas", word_of(training.optimizer)));
    check_option(training.optimizer != optim::Method::sgd ||
                     (training.adam_betas == defaults.adam_betas && training.adam_eps == defaults.adam_eps),
                 {"adam-betas", "adam-eps", "optimizer", "momentum"},
                 "--adam-betas and --adam-eps are of --optimizer adam and adamw; sgd has --momentum");
}

namespace {

void apply_cpu_level(CpuLevel level) {
    check_option(level <= processor_level(), {"cpu-level"},
                 fmt::format("--cpu-level {}: this processor has {} only; give that or a lower one", word_of(level),
                             name(processor_level())));
    set_cpu_level(level);
}

}  // namespace

void apply_silently(const MachineOptions& machine) {
    if (machine.threads) set_threads(static_cast<int>(*machine.threads));
    if (machine.cpu_level) apply_cpu_level(*machine.cpu_level);
    kernels::set_batch_invariant(machine.batch_invariant);
    check_option(machine.device == Device::cpu || device::available(), {"device"},
                 fmt::format("--device cuda: {}", device::why_unavailable()));
    check_option(machine.dtype == DType::f32 || machine.device == Device::cuda, {"dtype", "device"},
                 fmt::format("--dtype {} is for --device cuda; on the CPU give --dtype f32", word_of(machine.dtype)));
}

void apply(const MachineOptions& machine) {
    apply_silently(machine);
    if (machine.device == Device::cuda && device::emulated()) say("device: " + device::description());
}

std::string description(const MachineOptions& machine) {
    if (machine.device == Device::cuda) return device::description() + (machine.dtype == DType::bf16 ? ", bf16" : "");
    return fmt::format("{} threads, {}", threads(), name(cpu_level()));
}

}  // namespace heddle::app
