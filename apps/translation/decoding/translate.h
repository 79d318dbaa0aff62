// From trained models and lines of text to translated lines.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/translation/vocabulary/unknown_text.h"
#include "apps/translation/vocabulary/vocabularies.h"
#include "nn/search/search.h"

namespace heddle::app {

using nn::DecodeOptions;
using nn::Ensemble;
using nn::HypothesisLists;
using nn::Sampling;
using nn::SourceBatch;

struct Translation {
    std::string text = {};
    double log_probability = 0;  ///< see nn::Hypothesis
    double score = 0;            ///< see nn::Hypothesis
    nn::Tokens tokens = {};      ///< the tokens that `text` was decoded from, without marks
    bool ended = true;           ///< false: cut at the maximum length
};

/// The hypotheses of each batch, as nn::decode() gives them.
using DecodeBatches = std::function<std::vector<HypothesisLists>(std::span<const SourceBatch>, const DecodeOptions&)>;

/// The processes that decode.
struct Decoders {
    std::int64_t processes = 1;
    DecodeBatches decode = {};  ///< shares batches among them; empty: this process decodes all
};

/// Translates the lines of one input, given piece by piece; the models must outlive it and be in evaluation mode.
class Translator {
  public:
    /// With a target vocabulary that has a token map, pad and bos are never written.
    Translator(const Ensemble& models, Vocabularies vocabularies, DecodeOptions options, Decoders decoders = {});

    /// The translations of each line, many lines at once: options.n_best of them, best first, or samples in the order in which
    /// they are drawn. A blank line, or one without tokens, has one translation, itself, whatever the options; its
    /// log-probability is that of the end mark alone for a source of the end mark alone. A line has the same translations alone
    /// and among any others, for every number of threads; its samples depend on its number in the input, too, counted from 0 over
    /// all calls. A line of more tokens than the model's position table has rows is cut there, for any kind of positions. Batches
    /// are made of `window` lines at a time (0: of all), as if each window came in a call of its own; several windows are work
    /// for several processes.
    std::vector<std::vector<Translation>> translate(const std::vector<std::string>& lines, std::int64_t window = 0);

    /// The text of the best translation of each line.
    std::vector<std::string> best(const std::vector<std::string>& lines);

    /// From now on shows the lines and their tokens to `unknown`, which must outlive this.
    void show(UnknownText& unknown) { unknown_ = &unknown; }

    /// Reports on stderr how many of all lines so far were cut, if any.
    void report_cuts() const;
    /// Reports on stderr how many of all translations so far did not end within the maximum length, if any, and what sets it.
    void report_limit() const;

  private:
    Translation unchanged(const std::string& line);
    void add_batches(std::span<nn::Tokens> encoded, std::int64_t first, std::vector<SourceBatch>& batches) const;
    std::vector<HypothesisLists> decoded(std::span<const SourceBatch> batches) const;
    bool side_by_side() const { return !decoders_.decode && nn::decodes_side_by_side(models_); }
    void count_cut(std::span<const std::vector<Translation>> translations);

    Ensemble models_;
    Vocabularies vocabularies_;
    DecodeOptions options_;
    Decoders decoders_;
    std::optional<double> log_probability_of_nothing_;
    std::int64_t lines_ = 0;
    std::int64_t cut_ = 0;
    std::int64_t translations_ = 0;
    std::int64_t at_limit_ = 0, at_table_ = 0;  // translations cut at the maximum length, and at the position table
    UnknownText* unknown_ = nullptr;
};

/// The best translation of each line; reports on stderr how many were cut.
std::vector<std::string> translate_lines(const Ensemble& models, const Vocabularies& vocabularies,
                                         const std::vector<std::string>& lines, const DecodeOptions& options,
                                         const Decoders& decoders = {});

}  // namespace heddle::app
