// Recurrent layers, as PyTorch computes and names them: gated recurrent units and long short-term memory.
//
// GRU: Cho et al. 2014.
//
//     r = sigmoid(x Wr^T + h Ur^T)        z = sigmoid(x Wz^T + h Uz^T)
//     n = tanh(x Wn^T + r (h Un^T))       h' = (1 - z) n + z h
//
// LSTM: Hochreiter and Schmidhuber 1997; Gers et al. 2000.
//
//     i, f, o = sigmoid(x W^T + h U^T)    g = tanh(x Wg^T + h Ug^T)
//     c' = f c + i g                      h' = o tanh(c')
//
// each product with its bias. The matrices of the gates stand below one another, [3 hidden, ..] in the order r, z, n, or
// [4 hidden, ..] in the order i, f, g, o.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "nn/module.h"

namespace heddle::nn {

struct RecurrentOptions {
    std::int64_t layers = 1;
    bool bias = true;
    double dropout = 0;          ///< of what each layer but the last hands to the next
    bool bidirectional = false;  ///< a second direction that reads backwards; outputs side by side, forwards first
};

/// The results of a recurrent layer.
struct RecurrentOutput {
    Variable output;     ///< [batch, time, directions hidden]: the last layer's states
    Variable hidden;     ///< [layers directions, batch, hidden]: the last state of each layer and direction
    Variable cell = {};  ///< the same of the LSTM's cells; undefined for a GRU
};

/// What both kinds have in common. Parameters of layer k: weight_ih_lk [gates hidden, in], weight_hh_lk [gates hidden, hidden],
/// bias_ih_lk and bias_hh_lk [gates hidden], with the suffix _reverse for the second direction; uniform within
/// hidden^-1/2 of 0.
class Recurrent : public Module {
  public:
    const RecurrentOptions& options() const { return options_; }

  protected:
    enum class Kind : std::uint8_t { gru, lstm };
    Recurrent(Module& parent, std::string_view name, Kind kind, std::int64_t in, std::int64_t hidden,
              const RecurrentOptions& options);
    Recurrent(const RandomSource& seed, Kind kind, std::int64_t in, std::int64_t hidden, const RecurrentOptions& options);

    RecurrentOutput run(const Variable& x, const Variable& hidden, const Variable& cell, Where where) const;

  private:
    struct Weights {
        Variable input, hidden, input_bias, hidden_bias;
    };
    void make(std::int64_t in);
    Variable parameter(const std::string& part, const Shape& shape);
    std::vector<Variable> direction(const Variable& x, const Weights& weights, bool backwards, Variable& hidden, Variable& cell,
                                    Where where) const;

    Kind kind_;
    std::int64_t in_, hidden_;
    RecurrentOptions options_;
    std::vector<Weights> weights_;  // layer by layer, the directions of each
};

/// torch.nn.GRU with batch_first: x [batch, time, in]. Padded sentences are read to their ends; a mask of the outputs leaves
/// them out.
class GRU : public Recurrent {
  public:
    /// A child of `parent` that reads `in` columns and keeps `hidden`. Error unless both and the layers are at least 1.
    GRU(Module& parent, std::string_view name, std::int64_t in, std::int64_t hidden, const RecurrentOptions& options = {})
        : Recurrent(parent, name, Kind::gru, in, hidden, options) {}
    /// A root; `seed` as nn::Linear's.
    GRU(std::int64_t in, std::int64_t hidden, const RecurrentOptions& options = {}, const RandomSource& seed = {})
        : Recurrent(seed, Kind::gru, in, hidden, options) {}

    std::string_view kind() const override { return "GRU"; }
    /// `hidden` [layers directions, batch, hidden]: the first states; undefined: zeros.
    RecurrentOutput forward(const Variable& x, const Variable& hidden = {}, Where where = Where::current()) const {
        return run(x, hidden, {}, where);
    }
    RecurrentOutput operator()(const Variable& x, const Variable& hidden = {}, Where where = Where::current()) const {
        return forward(x, hidden, where);
    }
};

/// torch.nn.LSTM with batch_first.
class LSTM : public Recurrent {
  public:
    /// Both constructors take what GRU's do.
    LSTM(Module& parent, std::string_view name, std::int64_t in, std::int64_t hidden, const RecurrentOptions& options = {})
        : Recurrent(parent, name, Kind::lstm, in, hidden, options) {}
    LSTM(std::int64_t in, std::int64_t hidden, const RecurrentOptions& options = {}, const RandomSource& seed = {})
        : Recurrent(seed, Kind::lstm, in, hidden, options) {}

    std::string_view kind() const override { return "LSTM"; }
    /// `hidden` and `cell` [layers directions, batch, hidden]: the first states; undefined: zeros.
    RecurrentOutput forward(const Variable& x, const Variable& hidden = {}, const Variable& cell = {},
                            Where where = Where::current()) const {
        return run(x, hidden, cell, where);
    }
    RecurrentOutput operator()(const Variable& x, const Variable& hidden = {}, const Variable& cell = {},
                               Where where = Where::current()) const {
        return forward(x, hidden, cell, where);
    }
};

}  // namespace heddle::nn
