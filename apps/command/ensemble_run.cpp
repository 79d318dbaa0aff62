#include "apps/command/ensemble_run.h"

#include "apps/command/memory_advice.h"
#include "core/format.h"

namespace heddle::app {
namespace {

void check_same(const Run& one, const Run& other, const std::string& one_name, const std::string& other_name) {
    const auto check_side = [&](const char* side, const Vocabulary& a, const Vocabulary& b) {
        const std::string difference = vocabulary_difference(a, b);
        check(difference.empty(),
              "--model {} {}: models that translate together need the same vocabularies, but those of the {} differ: {}; train "
              "both with one --vocab-model, or (--shared-vocab false) on the same text with the same vocabulary options",
              one_name, other_name, side, difference);
    };
    check_side("source", *one.vocabularies.source, *other.vocabularies.source);
    check_side("target", *one.vocabularies.target, *other.vocabularies.target);
}

}  // namespace

std::string vocabulary_difference(const Vocabulary& one, const Vocabulary& other) {
    if (one.type() != other.type()) return fmt::format("{} and {}", word_of(one.type()), word_of(other.type()));
    if (one.size() != other.size()) return fmt::format("{} and {} tokens", one.size(), other.size());
    if (one.lowercase() != other.lowercase()) return "only one is of lower-case text";
    if (one.serialized() == other.serialized()) return {};
    for (std::int32_t id = 0; id < one.size(); ++id)
        if (one.token(id) != other.token(id)) return fmt::format("token {} is '{}' and '{}'", id, one.token(id), other.token(id));
    return "the same tokens with other counts or settings";
}

nn::Ensemble EnsembleRun::models() const {
    std::vector<const nn::Transformer*> models;
    for (const Run& run : runs) models.push_back(run.model.get());
    return nn::Ensemble(std::move(models));
}

EnsembleRun open_ensemble(const std::vector<std::string>& runs, const WeightsChoice& weights, const MachineOptions& machine) {
    EnsembleRun opened;
    for (const std::string& run : runs) {
        // The command's own advice is about its work, and would not make the model smaller.
        opened.runs.push_back(
            with_memory_advice([] { return more_memory; }, [&] { return open_run(run, weights_file(weights, run), machine); }));
        check_same(opened.runs.front(), opened.runs.back(), runs.front(), run);
    }
    return opened;
}

}  // namespace heddle::app
