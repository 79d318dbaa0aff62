// The words for the values that options choose among. Where a library names its values already, the words are its names.
#pragma once

#include <cstdint>

#include "apps/translation/run/log.h"
#include "apps/translation/text/enum_words.h"
#include "apps/translation/text/text_format.h"
#include "apps/translation/vocabulary/vocabulary.h"
#include "core/cpu.h"
#include "core/dtype.h"
#include "nn/transformer_options.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"

namespace heddle::app {

/// What a training does when a loss or gradient is not finite.
enum class OnDivergence : std::uint8_t { stop, skip };
/// The signal at which a training saves and goes on.
enum class SaveSignal : std::uint8_t { none, usr1, usr2 };
/// Which of a run's weights: the average of the last validations, or those of the best one.
enum class WeightsKind : std::uint8_t { average, best };

template <>
struct EnumWords<nn::NormPlace> {
    static constexpr EnumWord<nn::NormPlace> table[] = {{nn::NormPlace::pre, "pre"}, {nn::NormPlace::post, "post"}};
};

template <>
struct EnumWords<ops::Activation> {
    static constexpr EnumWord<ops::Activation> table[] = {
        {ops::Activation::relu, "relu"}, {ops::Activation::gelu, "gelu"}, {ops::Activation::gelu_tanh, "gelu-tanh"}};
};

template <>
struct EnumWords<nn::Positions> {
    static constexpr EnumWord<nn::Positions> table[] = {{nn::Positions::sinusoidal, "sinusoidal"},
                                                        {nn::Positions::learned, "learned"}};
};

template <>
struct EnumWords<nn::Tie> {
    static constexpr EnumWord<nn::Tie> table[] = {
        {nn::Tie::all, "all"}, {nn::Tie::embeddings, "embeddings"}, {nn::Tie::target, "target"}, {nn::Tie::none, "none"}};
};

template <>
struct EnumWords<nn::EmbeddingInit> {
    static constexpr EnumWord<nn::EmbeddingInit> table[] = {
        {nn::EmbeddingInit::scaled, "scaled"}, {nn::EmbeddingInit::unit, "unit"}, {nn::EmbeddingInit::xavier, "xavier"}};
};

template <>
struct EnumWords<nn::MemoryFrom> {
    static constexpr EnumWord<nn::MemoryFrom> table[] = {{nn::MemoryFrom::last, "last"}, {nn::MemoryFrom::layer, "layer"}};
};

template <>
struct EnumWords<VocabularyType> {
    static inline const EnumWord<VocabularyType> table[] = {{VocabularyType::bpe, name(VocabularyType::bpe)},
                                                            {VocabularyType::unigram, name(VocabularyType::unigram)},
                                                            {VocabularyType::word, name(VocabularyType::word)},
                                                            {VocabularyType::character, name(VocabularyType::character)}};
};

template <>
struct EnumWords<Normalization> {
    static inline const EnumWord<Normalization> table[] = {{Normalization::nfc, name(Normalization::nfc)},
                                                           {Normalization::none, name(Normalization::none)},
                                                           {Normalization::nfkc, name(Normalization::nfkc)}};
};

template <>
struct EnumWords<optim::Method> {
    static constexpr EnumWord<optim::Method> table[] = {{optim::Method::adam, name(optim::Method::adam)},
                                                        {optim::Method::adamw, name(optim::Method::adamw)},
                                                        {optim::Method::sgd, name(optim::Method::sgd)}};
};

template <>
struct EnumWords<optim::ScheduleKind> {
    static constexpr EnumWord<optim::ScheduleKind> table[] = {
        {optim::ScheduleKind::inverse_sqrt, name(optim::ScheduleKind::inverse_sqrt)},
        {optim::ScheduleKind::noam, name(optim::ScheduleKind::noam)},
        {optim::ScheduleKind::cosine, name(optim::ScheduleKind::cosine)},
        {optim::ScheduleKind::constant, name(optim::ScheduleKind::constant)}};
};

template <>
struct EnumWords<OnDivergence> {
    static constexpr EnumWord<OnDivergence> table[] = {{OnDivergence::stop, "stop"}, {OnDivergence::skip, "skip"}};
};

template <>
struct EnumWords<SaveSignal> {
    static constexpr EnumWord<SaveSignal> table[] = {
        {SaveSignal::none, "none"}, {SaveSignal::usr1, "USR1"}, {SaveSignal::usr2, "USR2"}};
};

template <>
struct EnumWords<LogStyle> {
    static constexpr EnumWord<LogStyle> table[] = {{LogStyle::update, "update"}, {LogStyle::batch, "batch"}};
};

template <>
struct EnumWords<WeightsKind> {
    static constexpr EnumWord<WeightsKind> table[] = {{WeightsKind::average, "average"}, {WeightsKind::best, "best"}};
};

template <>
struct EnumWords<CpuLevel> {
    static inline const EnumWord<CpuLevel> table[] = {{CpuLevel::v2, short_name(CpuLevel::v2)},
                                                      {CpuLevel::v3, short_name(CpuLevel::v3)},
                                                      {CpuLevel::v4, short_name(CpuLevel::v4)}};
};

template <>
struct EnumWords<Device> {
    static inline const EnumWord<Device> table[] = {{Device::cpu, name(Device::cpu)}, {Device::cuda, name(Device::cuda)}};
};

/// What a model computes in; the other element types are no choice.
template <>
struct EnumWords<DType> {
    static inline const EnumWord<DType> table[] = {{DType::f32, name(DType::f32)}, {DType::bf16, name(DType::bf16)}};
};

}  // namespace heddle::app
