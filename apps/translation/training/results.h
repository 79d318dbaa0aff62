// What a training reports: log lines, validations, and how it ended.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/translation/metrics/tokenizer.h"

namespace heddle::app {

/// The updates since the last log line.
struct IntervalReport {
    std::int64_t epoch = 0;
    std::int64_t update = 0;
    std::int64_t sentences = 0;    ///< since the epoch began
    std::int64_t batch = 0;        ///< done since the epoch began
    std::int64_t batches = 0;      ///< of the epoch
    double loss = 0;               ///< per target token, label smoothing included
    double accuracy = 0;           ///< share of target tokens that are the most likely token; there is no padding
    double loading = 0;            ///< seconds of an update spent waiting for its batches
    double step = 0;               ///< seconds of an update spent computing
    double tokens_per_second = 0;  ///< source and target, end of sentence counted, no padding; 0: the clock stood still
    double gradient_norm = 0;      ///< of the last update, before clipping
    double learning_rate = 0;      ///< of the last update
    double elapsed = 0;            ///< seconds since training began
    double eta = 0;                ///< seconds until the limit that comes first
};

/// A language model sets `hypothesis` alone: a text it drew.
struct TranslatedSample {
    std::string source;
    std::string reference;
    std::string hypothesis;
};

struct ValidationReport {
    std::int64_t epoch = 0;
    std::int64_t update = 0;
    double loss = 0;        ///< per target token, without label smoothing
    double perplexity = 0;  ///< exp(loss)
    double accuracy = 0;    ///< share of target tokens that are the most likely token, given the true ones before
    std::optional<double> bits_per_byte = {};  ///< of a language model: log2 of 1 / p(text), by its bytes and line ends
    std::optional<double> bleu;                ///< of `translated` sentences; absent when none are
    bool bleu_applies = true;  ///< false: hardly any reference has the four tokens in a row that BLEU needs: it is meaningless
    Tokenizer tokenizer = Tokenizer::mteval_13a;  ///< of BLEU
    std::optional<double> chrf = {};              ///< where it says more than BLEU: see choose_metric()
    std::int64_t translated = 0;
    std::int64_t exact = 0;  ///< of these, how many equal their reference
    std::vector<TranslatedSample> samples;
    double seconds = 0;         ///< duration of the validation
    bool best = false;          ///< the lowest loss so far
    std::int64_t averaged = 0;  ///< over how many validations the weights were averaged; 0: they are the last ones

    /// Share of the translated sentences that equal their reference; absent when none are translated.
    std::optional<double> exact_share() const {
        if (translated == 0) return {};
        return static_cast<double>(exact) / static_cast<double>(translated);
    }
};

/// Why a training ended: a limit was reached, or somebody stopped it.
enum class EndReason : std::uint8_t { updates, epochs, minutes, patience, stopped };

struct TrainingResult {
    std::int64_t epochs = 0;  ///< started
    std::int64_t updates = 0;
    std::int64_t pairs = 0;  ///< learned from, repetitions counted
    double seconds = 0;
    std::int64_t skipped = 0;                 ///< updates that were left out because they diverged
    EndReason ended_by = EndReason::stopped;  ///< stopped: the run is saved and not at its end
    std::string limit;                        ///< that ended it: "20 epochs", "3 validations without a better loss"
    std::string nothing_to_train;             ///< why a resumed run was already at its end; empty when it was not
    std::optional<ValidationReport> result;   ///< of the weights kept, when this process validated
};

/// Callbacks during training.
struct TrainingListener {
    std::function<void(const IntervalReport&)> updated =
        {};  ///< after each update, of this update alone; a loss not yet read is NaN
    std::function<void(const ValidationReport&)> validated = {};
};

/// "ended after 20 epochs: 4,400 updates in 61 s", or "nothing to train: the run is already at epoch 20, ...". Of a training that
/// reached a limit.
std::string how_it_ended(const TrainingResult& result);

}  // namespace heddle::app
