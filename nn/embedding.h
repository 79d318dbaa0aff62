// Token embeddings and positional encodings.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "autograd/ops.h"
#include "core/enum_words.h"
#include "kernels/device/growth.h"
#include "nn/module.h"

namespace heddle::nn {

/// Sines and cosines that alternate (the paper); sines first with the same frequencies (Hugging Face's Marian models), or with
/// Marian's; or learned (kernels::sinusoidal_positions has the formulas). Rotary: nothing is added to the embeddings; every
/// self-attention turns its queries and keys by their positions (ops::rotary). ALiBi: nothing either; every self-attention lowers
/// a score by the distance of the two positions (kernels/attention/alibi.h).
enum class Positions : std::uint8_t { sinusoidal, sines_first, marian, learned, rotary, alibi };
/// Whether every self-attention sees them, and nothing is added to the embeddings.
constexpr bool are_in_attention(Positions positions) { return positions == Positions::rotary || positions == Positions::alibi; }
constexpr auto enum_words(Positions) {
    return words_for<Positions>({{Positions::sinusoidal, "sinusoidal"},
                                 {Positions::sines_first, "sines-first"},
                                 {Positions::marian, "marian"},
                                 {Positions::learned, "learned"},
                                 {Positions::rotary, "rotary"},
                                 {Positions::alibi, "alibi"}});
}
/// An embedding's initial values: normal with deviation d_model^-0.5, which times sqrt(d_model) is 1; normal with deviation 1;
/// Xavier uniform.
enum class EmbeddingInit : std::uint8_t { scaled, unit, xavier };
constexpr auto enum_words(EmbeddingInit) {
    return words_for<EmbeddingInit>(
        {{EmbeddingInit::scaled, "scaled"}, {EmbeddingInit::unit, "unit"}, {EmbeddingInit::xavier, "xavier"}});
}

/// A vector for each position in a sentence.
class PositionalEncoding : public Module {
  public:
    /// Computed (no parameters): one of the tables of sines and cosines; `table` rows are computed in advance, and longer
    /// sentences extend them. Learned: weight [table, d_model], normal with deviation d_model^-0.5; a longer sentence is an
    /// Error. Positions in attention: there is no table.
    PositionalEncoding(Module& parent, std::string_view name, Positions positions, std::int64_t table, std::int64_t d_model);

    std::string_view kind() const override { return "PositionalEncoding"; }
    /// A table with at least `count` rows, undefined for positions in attention; thread-safe. Error when a learned table has
    /// fewer.
    const Variable& table(std::int64_t count) const;

  protected:
    void moved() override;

  private:
    Variable computed(std::int64_t count) const;
    const Variable& keep(Variable table) const;

    Positions positions_;
    std::int64_t d_model_;
    mutable std::deque<Variable> tables_;  // kept while they grow: a captured step may read an older one
    mutable std::atomic<const Variable*> longest_{nullptr};
    mutable std::mutex extending_;
};

/// Token ids of one sentence.
using Tokens = std::vector<std::int32_t>;

/// Token ids of several sentences: i32 [rows], and where each sentence lies. Packed, or padded with Spans::padded.
struct Sentences {
    Tensor tokens;
    Spans spans;
    Tensor order = {};  ///< kernels::rows_by_token(), i32 [2, rows] on the tokens' device, or undefined
};

/// Sentences one after another, on the host: a model copies its input to its own device.
Sentences packed(std::span<const Tokens> sentences);

/// Weight [vocabulary, d_model].
class Embedding : public Module {
  public:
    /// `scale`: multiply the rows by sqrt(d_model). `zero_row`: this row starts as zeros, and looking it up gives it no gradient
    /// (torch.nn.Embedding's padding_idx); -1: there is none.
    Embedding(Module& parent, std::string_view name, std::int64_t vocabulary, std::int64_t d_model,
              EmbeddingInit init = EmbeddingInit::scaled, bool scale = true, std::int32_t zero_row = -1);
    /// A root as torch.nn.Embedding is: normal with deviation 1, without the factor sqrt(d_model). `seed` as nn::Linear's.
    Embedding(std::int64_t vocabulary, std::int64_t d_model, const RandomSource& seed = {});

    std::string_view kind() const override { return "Embedding"; }
    const Variable& weight() const { return weight_; }
    /// dropout(scale weight[tokens] + position), [rows, d_model], with the scale sqrt(d_model) or 1; tokens i32 [rows], on any
    /// device. The first row of each span has position `first_position`; rows outside the spans are zero. (Paper,
    /// sections 3.4, 3.5, 5.4.)
    Variable forward(const Tensor& tokens, const Spans& spans, const PositionalEncoding& positions,
                     const DropoutMask& dropout = {}, std::int64_t first_position = 0, Where where = Where::current()) const;
    /// With the order of the tokens, if it is known (ops::EmbeddingOptions::order).
    Variable forward(const Sentences& sentences, const PositionalEncoding& positions, const DropoutMask& dropout,
                     Where where = Where::current()) const;
    /// The rows of a token step on CUDA, one for each span: their position grows, and never beyond the table.
    Tensor step(const Tensor& tokens, const Spans& spans, const PositionalEncoding& positions, std::int64_t position,
                const device::Growth& growth) const;
    /// scale weight[tokens], [..., d_model], for tokens i32 [...]: without positions.
    Variable forward(const Tensor& tokens, Where where = Where::current()) const;
    Variable operator()(const Tensor& tokens, Where where = Where::current()) const { return forward(tokens, where); }

  private:
    Variable embed(const Sentences& sentences, const PositionalEncoding& positions, const DropoutMask& dropout,
                   std::int64_t first_position, Where where) const;

    double scale_;
    std::int32_t zero_row_;
    Variable weight_;
};

}  // namespace heddle::nn
