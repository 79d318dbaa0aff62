// The state of a training run besides its weights: everything that a resumed run needs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::app {

/// How long, in bytes, log.jsonl and the TensorBoard events are.
struct LogLengths {
    std::int64_t log = 0;
    std::int64_t events = 0;
};

/// Sums over some updates, the last one among them.
struct Interval {
    double loss = 0;  ///< summed over targets
    std::int64_t correct = 0;
    std::int64_t targets = 0;
    std::int64_t tokens = 0;
    double seconds = 0;  ///< of updates only: validations do not slow the tokens per second down
};

/// Option values by name, as in a configuration file; an empty text is no value.
using OptionTexts = std::map<std::string, std::string>;

/// Identifies a text: digests of its token ids and, for validation, of the text itself.
struct TextDigests {
    std::int64_t training_pairs = 0;
    std::string training;
    std::int64_t validation_pairs = 0;
    std::string validation;

    friend bool operator==(const TextDigests&, const TextDigests&) = default;
};

struct TrainingState {
    std::int64_t updates = 0;
    std::int64_t epoch = 1;          ///< the current one
    std::int64_t batches = 0;        ///< batches of this epoch that are done
    std::int64_t epoch_batches = 0;  ///< batches of this epoch
    std::int64_t sentences = 0;      ///< sentences in the batches done
    Interval interval = {};          ///< since the last log line
    Interval event_interval = {};    ///< since the last numbers for TensorBoard
    double seconds = 0;              ///< training time
    std::int64_t skipped = 0;        ///< updates skipped because they diverged
    std::int64_t skipped_in_a_row = 0;
    std::int64_t validated_at = -1;
    std::optional<double> best_loss = {};
    std::int64_t validations_since_best = 0;
    std::int64_t averaged = 0;  ///< number of weights in the average
    LogLengths lengths = {};
    TextDigests text = {};       ///< the training text
    OptionTexts options = {};    ///< the options most recently used
    std::string cpu_level = {};  ///< "v3 (AVX2)" computed its updates; empty on CUDA

    bool epoch_is_over() const { return epoch_batches > 0 && batches == epoch_batches; }

    /// The state as JSON with a digest that detects changes.
    std::string serialized() const;
    /// Parses serialized(). Error, with `name`, when the text is not exactly what serialized() wrote.
    static TrainingState parse(std::string_view text, std::string_view name);
};

}  // namespace heddle::app
