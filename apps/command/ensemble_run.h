// An ensemble: several runs that translate together.
#pragma once

#include <string>
#include <vector>

#include "apps/command/run.h"
#include "nn/search/ensemble.h"

namespace heddle::app {

/// Trained models with one vocabulary.
struct EnsembleRun {
    std::vector<Run> runs;

    const Vocabularies& vocabularies() const { return runs.front().vocabularies; }
    nn::Ensemble models() const;
};

/// Opens each run's folder (at least one). Error as open_run, and when the runs' vocabularies are not equal byte for byte: it
/// names the first difference.
EnsembleRun open_ensemble(const std::vector<std::string>& runs, const WeightsChoice& weights, const MachineOptions& machine);

/// The difference between two vocabularies, in words for an error; empty if they are equal.
std::string vocabulary_difference(const Vocabulary& one, const Vocabulary& other);

}  // namespace heddle::app
