#include "nn/recurrent.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/format.h"
#include "core/random.h"

namespace heddle::nn {
namespace {

// Columns [part hidden, (part + count) hidden).
Variable gate(const Variable& gates, std::int64_t hidden, std::int64_t part, std::int64_t count, Where where) {
    return ops::slice(gates, 1, part * hidden, (part + count) * hidden, where);
}

// `from_x` and `from_h` [batch, 3 hidden]: r, z and n.
Variable gru_step(const Variable& from_x, const Variable& from_h, const Variable& h, Where where) {
    const std::int64_t n = h.cols();
    const Variable both = ops::sigmoid(ops::add(gate(from_x, n, 0, 2, where), gate(from_h, n, 0, 2, where), where), where);
    const Variable reset = gate(both, n, 0, 1, where), keep = gate(both, n, 1, 1, where);
    const Variable fresh =
        ops::tanh(ops::add(gate(from_x, n, 2, 1, where), ops::mul(reset, gate(from_h, n, 2, 1, where), where), where), where);
    return ops::add(fresh, ops::mul(keep, ops::sub(h, fresh, where), where), where);
}

// `gates` [batch, 4 hidden]: i, f, g and o. Replaces h and c.
void lstm_step(const Variable& gates, Variable& h, Variable& c, Where where) {
    const std::int64_t n = h.cols();
    const Variable in_and_keep = ops::sigmoid(gate(gates, n, 0, 2, where), where);
    const Variable fresh = ops::tanh(gate(gates, n, 2, 1, where), where), out = ops::sigmoid(gate(gates, n, 3, 1, where), where);
    c = ops::add(ops::mul(gate(in_and_keep, n, 1, 1, where), c, where), ops::mul(gate(in_and_keep, n, 0, 1, where), fresh, where),
                 where);
    h = ops::mul(out, ops::tanh(c, where), where);
}

void check_states(const std::string& layer, const char* name, const Variable& states, const Shape& wanted) {
    check(!states.defined() || states.shape() == wanted, "recurrent layer {}: {} has shape {}, wanted {}", layer, name,
          states.defined() ? states.shape() : Shape(), wanted);
}

}  // namespace

Recurrent::Recurrent(Module& parent, std::string_view name, Kind kind, std::int64_t in, std::int64_t hidden,
                     const RecurrentOptions& options)
    : Module(parent, name), kind_(kind), in_(in), hidden_(hidden), options_(options) {
    make(in);
}

Recurrent::Recurrent(const RandomSource& seed, Kind kind, std::int64_t in, std::int64_t hidden, const RecurrentOptions& options)
    : Module(seed.key()), kind_(kind), in_(in), hidden_(hidden), options_(options) {
    make(in);
}

Variable Recurrent::parameter(const std::string& part, const Shape& shape) {
    Tensor values = Tensor::zeros(shape, dtype());
    const double bound = 1 / std::sqrt(static_cast<double>(hidden_));
    if (const auto key = initial_key(dotted(part))) fill_uniform(values, -bound, bound, *key);
    return add_parameter(part, values);
}

void Recurrent::make(std::int64_t in) {
    check(in > 0 && hidden_ > 0 && options_.layers > 0,
          "recurrent layer {}: {} inputs, {} hidden units and {} layers, wanted at least one of each", name(), in, hidden_,
          options_.layers);
    const std::int64_t rows = (kind_ == Kind::gru ? 3 : 4) * hidden_;
    for (std::int64_t layer = 0; layer < options_.layers; ++layer) {
        for (const char* direction : {"", "_reverse"}) {
            if (*direction != 0 && !options_.bidirectional) continue;
            const std::string suffix = fmt::format("_l{}{}", layer, direction);
            Weights weights;
            weights.input = parameter("weight_ih" + suffix, {rows, in});
            weights.hidden = parameter("weight_hh" + suffix, {rows, hidden_});
            if (options_.bias) {
                weights.input_bias = parameter("bias_ih" + suffix, {rows});
                weights.hidden_bias = parameter("bias_hh" + suffix, {rows});
            }
            weights_.push_back(std::move(weights));
        }
        in = hidden_ * (options_.bidirectional ? 2 : 1);
    }
}

// x [time, batch, in]. One product makes the inputs' part of all gates; the states' part is made step by step. Returns the
// states [batch, hidden] in the order of time.
std::vector<Variable> Recurrent::direction(const Variable& x, const Weights& weights, bool backwards, Variable& hidden,
                                           Variable& cell, Where where) const {
    const std::int64_t time = x.dim(0), batch = x.dim(1);
    const std::vector<Variable> from_x = ops::unbind(ops::linear(x, weights.input, weights.input_bias, where), 0, where);
    Variable h = hidden.defined() ? hidden : Variable(Tensor::zeros({batch, hidden_}, x.dtype(), x.device()));
    Variable c = cell.defined() ? cell : Variable(Tensor::zeros({batch, hidden_}, x.dtype(), x.device()));
    std::vector<Variable> states(static_cast<std::size_t>(time));
    for (std::int64_t i = 0; i < time; ++i) {
        const auto t = static_cast<std::size_t>(backwards ? time - 1 - i : i);
        const Variable from_h = ops::linear(h, weights.hidden, weights.hidden_bias, where);
        if (kind_ == Kind::gru)
            h = gru_step(from_x[t], from_h, h, where);
        else
            lstm_step(ops::add(from_x[t], from_h, where), h, c, where);
        states[t] = h;
    }
    hidden = h;
    cell = c;
    return states;
}

RecurrentOutput Recurrent::run(const Variable& x, const Variable& hidden, const Variable& cell, Where where) const {
    const InModule in_module(name());
    check(x.shape().rank() == 3 && x.cols() == in_ && x.dim(0) > 0 && x.dim(1) > 0,
          "recurrent layer {}: x has shape {}, wanted [batch, time, {}], neither empty", name(), x.shape(), in_);
    const std::int64_t directions = options_.bidirectional ? 2 : 1;
    const Shape wanted{options_.layers * directions, x.dim(0), hidden_};
    check_states(name(), "hidden", hidden, wanted);
    check_states(name(), "cell", cell, wanted);
    std::vector<Variable> last_states, last_cells;
    Variable value = ops::transpose(x, 0, 1, where);
    for (std::int64_t layer = 0; layer < options_.layers; ++layer) {
        if (layer > 0) value = ops::dropout(value, dropout(options_.dropout, fmt::format("dropout_l{}", layer - 1)), where);
        std::vector<Variable> outputs;
        for (std::int64_t each = 0; each < directions; ++each) {
            const std::int64_t at = layer * directions + each;
            const auto state_of = [&](const Variable& states) {
                return states.defined() ? ops::squeeze(ops::slice(states, 0, at, at + 1, where), 0, where) : Variable();
            };
            Variable h = state_of(hidden), c = state_of(cell);
            outputs.push_back(
                ops::stack(direction(value, weights_[static_cast<std::size_t>(at)], each == 1, h, c, where), 0, where));
            last_states.push_back(h);
            last_cells.push_back(c);
        }
        value = directions == 1 ? outputs.front() : ops::concat(outputs, -1, where);
    }
    return {ops::transpose(value, 0, 1, where), ops::stack(last_states, 0, where),
            kind_ == Kind::lstm ? ops::stack(last_cells, 0, where) : Variable()};
}

}  // namespace heddle::nn
