// heddle.ops: the fused ops on arrays, each with its backward function.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <array>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "apps/python/arrays.h"
#include "apps/python/module.h"
#include "autograd/ops.h"
#include "core/format.h"

namespace heddle::python {
namespace {

using Optional = std::optional<Array>;

// An op is written below as a function of Variables (which get gradients), Tensors (which do not; undefined where absent) and
// plain options. Its face in Python has arrays for the first two.
struct Absent {
    Variable variable;  // may be undefined: a bias
};
template <class Parameter>
struct Face {
    using Type = Parameter;
};
template <>
struct Face<Variable> {
    using Type = Array;
};
template <>
struct Face<Absent> {
    using Type = Optional;
};
template <>
struct Face<Tensor> {
    using Type = Optional;
};

// The arguments of one call, inside.
class Call {
  public:
    Call(const char* op, bool differentiate) : op_(op), differentiate_(differentiate) {}

    Variable in(const Array& array, const char* name, const Variable*) {
        return leaves_.emplace_back(array.tensor(fmt::format("{}: {}", op_, name)), differentiate_);
    }
    Absent in(const Optional& array, const char* name, const Absent*) {
        if (!array) return {leaves_.emplace_back()};
        return {in(*array, name, static_cast<const Variable*>(nullptr))};
    }
    Tensor in(const Optional& array, const char* name, const Tensor*) {
        return array ? array->tensor(fmt::format("{}: {}", op_, name)) : Tensor();
    }
    template <class Option>
    Option in(const Option& option, const char*, const Option*) {
        return option;
    }
    // None for an input that was not there.
    nb::tuple gradients() const {
        nb::list all;
        for (const Variable& leaf : leaves_) {
            if (!leaf.defined())
                all.append(nb::none());
            else
                all.append(numpy_array(leaf.grad().defined() ? leaf.grad() : Tensor::zeros(leaf.shape(), leaf.dtype())));
        }
        return nb::tuple(all);
    }

  private:
    const char* op_;
    bool differentiate_;
    std::vector<Variable> leaves_;
};

std::vector<Variable> listed(const Variable& output) { return {output}; }
std::vector<Variable> listed(const ResidualNorm& outputs) { return {outputs.sum, outputs.normalised}; }

template <class Result, class... Parameters, std::size_t... I>
Result run(Result (*op)(Parameters...), Call& call, const std::vector<const char*>& names, std::index_sequence<I...>,
           const typename Face<Parameters>::Type&... arguments) {
    // In braces: in this order, which is that of the gradients.
    std::tuple<Parameters...> inside{call.in(arguments, names[I], static_cast<const Parameters*>(nullptr))...};
    const nb::gil_scoped_release free;
    return std::apply(op, std::move(inside));
}

// Defines `name` and `name`_backward. `arguments` are the op's, with their defaults.
template <class Result, class... Parameters, class... Args>
void add_op(nb::module_& m, const char* name, Result (*op)(Parameters...), const char* doc, const Args&... arguments) {
    static_assert(sizeof...(Parameters) == sizeof...(Args), "each parameter has a name");
    const std::vector<const char*> names{arguments.name_...};
    using Order = std::index_sequence_for<Parameters...>;
    m.def(
        name,
        [=](const typename Face<Parameters>::Type&... given) -> nb::object {
            const NoGrad no_grad;
            Call call(name, false);
            const std::vector<Variable> outputs = listed(run(op, call, names, Order(), given...));
            if (outputs.size() == 1) return numpy_array(outputs.front().value());
            nb::list all;
            for (const Variable& output : outputs) all.append(numpy_array(output.value()));
            return nb::tuple(all);
        },
        arguments..., doc);
    m.def(
        fmt::format("{}_backward", name).c_str(),
        [=](const nb::object& dy, const typename Face<Parameters>::Type&... given) -> nb::tuple {
            const FreshTape tape;
            Call call(name, true);
            const std::vector<Variable> outputs = listed(run(op, call, names, Order(), given...));
            std::vector<Tensor> cotangents;
            if (outputs.size() == 1)
                cotangents.push_back(Array{dy}.tensor(fmt::format("{}_backward: dy", name)));
            else
                for (const nb::handle each : dy)
                    cotangents.push_back(Array{nb::borrow(each)}.tensor(fmt::format("{}_backward: dy", name)));
            check_usage(cotangents.size() == outputs.size(), fmt::format("{}_backward: got {} gradients in dy for {} outputs",
                                                                         name, cotangents.size(), outputs.size()));
            for (std::size_t i = 0; i < outputs.size(); ++i)
                check_usage(cotangents[i].shape() == outputs[i].shape(),
                            fmt::format("{}_backward: dy has the shape {}, the output {}", name, cotangents[i].shape(),
                                        outputs[i].shape()));
            {
                const nb::gil_scoped_release free;
                backward(outputs, cotangents);
            }
            return call.gradients();
        },
        nb::arg("dy"), arguments...,
        fmt::format("The gradients of the array arguments of :func:`{}`, in their order; None for absent ones.\n\n"
                    "Parameters\n----------\ndy : array (for several outputs a tuple)\n    The gradient of the output.\n\n"
                    "Returns\n-------\ntuple of numpy.ndarray",
                    name)
            .c_str());
}

Activation activation_named(const std::string& name) {
    const auto found = value_of<Activation>(name);
    check_usage(found.has_value(), fmt::format("activation='{}'; wanted {}", name, fmt::join(words_of<Activation>(), ", ")));
    return *found;
}

// [batch, time, width] as packed rows; sentence i has lengths[i] of them, all of them without lengths.
Spans spans_of(const Variable& x, const Tensor& lengths, const char* name) {
    check_usage(x.value().rank() == 3, fmt::format("{} has the shape {}, wanted [batch, time, width]", name, x.shape()));
    if (!lengths.defined()) return Spans::equal(x.value().dim(0), x.value().dim(1));
    check_usage(lengths.dtype() == DType::i32 && lengths.shape() == Shape{x.value().dim(0)},
                fmt::format("attention: lengths of {} are {} {}, wanted int32 [{}]", name, lengths.dtype(), lengths.shape(),
                            x.value().dim(0)));
    std::vector<std::int64_t> numbers;
    for (const std::int32_t length : lengths.values<std::int32_t>()) numbers.push_back(length);
    return Spans::padded(numbers, x.value().dim(1));
}

Variable rows_of(const Variable& x) { return reshape(x, {x.value().dim(0) * x.value().dim(1), x.value().dim(2)}); }

Variable attend(Variable query, Variable key, Variable value, std::int64_t heads, bool causal, Tensor query_lengths,
                Tensor key_lengths, Tensor mask) {
    const Spans queries = spans_of(query, query_lengths, "query"), keys = spans_of(key, key_lengths, "key");
    spans_of(value, key_lengths, "value");
    AttentionArguments options;
    options.heads = heads;
    options.causal = causal;
    options.mask = std::move(mask);
    const Variable rows = attention(rows_of(query), rows_of(key), rows_of(value), queries, keys, options);
    return reshape(rows, {query.value().dim(0), query.value().dim(1), rows.value().dim(1)});
}

Variable turn(Variable x, std::int64_t head_dim, double base) {
    const Spans spans = spans_of(x, {}, "x");
    return reshape(rotary(rows_of(x), spans, head_dim, x.value().dim(2), {.base = base}), x.shape());
}

}  // namespace

void add_ops(nb::module_& module) {
    nb::module_ m = module.def_submodule(
        "_ops", "Heddle's fused ops on arrays of float32 or float64, forward and backward, to compare one's own with.");
    const nb::arg x("x");
    add_op(
        m, "relu", +[](Variable x) { return relu(x); }, "max(x, 0)", x);
    add_op(
        m, "gelu", +[](Variable x, bool tanh) { return gelu(x, tanh); },
        "x Phi(x), or its approximation by tanh (Hendrycks and Gimpel 2016).", x, nb::arg("tanh") = false);
    add_op(
        m, "silu", +[](Variable x) { return silu(x); }, "x / (1 + exp(-x)).", x);
    add_op(
        m, "softmax", +[](Variable x, Tensor mask) { return softmax(x, mask); },
        "Softmax over the last axis; mask: True = may attend, of x's shape or of its last two axes. A fully masked row gives "
        "zeros.",
        x, nb::arg("mask") = nb::none());
    add_op(
        m, "log_softmax", +[](Variable x) { return log_softmax(x); }, "The logarithm of softmax over the last axis.", x);
    add_op(
        m, "layer_norm", +[](Variable x, Variable gamma, Variable beta, double eps) { return layer_norm(x, gamma, beta, eps); },
        "gamma (x - mean) / sqrt(variance + eps) + beta over the last axis.", x, nb::arg("gamma"), nb::arg("beta"),
        nb::arg("eps") = 1e-5);
    add_op(
        m, "residual_layer_norm",
        +[](Variable x, Variable sublayer, Variable gamma, Variable beta, double eps) {
            return residual_layer_norm(x, sublayer, gamma, beta, eps);
        },
        "x + sublayer, and its layer norm, in one pass: a pair.", x, nb::arg("sublayer"), nb::arg("gamma"), nb::arg("beta"),
        nb::arg("eps") = 1e-5);
    add_op(
        m, "rms_norm", +[](Variable x, Variable gamma, double eps) { return rms_norm(x, gamma, eps); },
        "gamma x / sqrt(mean(x^2) + eps) over the last axis.", x, nb::arg("gamma"), nb::arg("eps") = 1e-6);
    add_op(
        m, "residual_rms_norm",
        +[](Variable x, Variable sublayer, Variable gamma, double eps) { return residual_rms_norm(x, sublayer, gamma, eps); },
        "x + sublayer, and its RMS norm, in one pass: a pair.", x, nb::arg("sublayer"), nb::arg("gamma"), nb::arg("eps") = 1e-6);
    add_op(m, "rotary", &turn,
           "Rotary positions of x [batch, time, heads * head_dim]: columns i and i + head_dim / 2 of a head are a pair, as in "
           "LLaMA.",
           x, nb::arg("head_dim"), nb::arg("base") = 10000.0);
    add_op(
        m, "matmul",
        +[](Variable a, Variable b, bool transpose_a, bool transpose_b) { return matmul(a, b, transpose_a, transpose_b); },
        "a [..., m, k] times b [..., k, n].", nb::arg("a"), nb::arg("b"), nb::arg("transpose_a") = false,
        nb::arg("transpose_b") = false);
    add_op(
        m, "linear", +[](Variable x, Variable weight, Absent bias) { return linear(x, weight, bias.variable); },
        "x [rows, in] times weight^T [out, in], plus bias [out].", x, nb::arg("weight"), nb::arg("bias") = nb::none());
    add_op(
        m, "feed_forward",
        +[](Variable x, Variable w1, Absent b1, Variable w2, Absent b2, std::string activation) {
            return feed_forward(x, w1, b1.variable, w2, b2.variable, activation_named(activation));
        },
        "activation(x w1^T + b1) w2^T + b2; x [rows, d_model], w1 [d_ff, d_model], w2 [d_model, d_ff]; activation 'relu', "
        "'gelu', "
        "'gelu-tanh' or 'silu'.",
        x, nb::arg("w1"), nb::arg("b1").none(), nb::arg("w2"), nb::arg("b2").none(), nb::arg("activation") = "relu");
    add_op(
        m, "gated_feed_forward",
        +[](Variable x, Variable w_gate_and_up, Absent b, Variable w2, Absent b2, std::string activation) {
            return gated_feed_forward(x, w_gate_and_up, b.variable, w2, b2.variable, activation_named(activation));
        },
        "(activation(x Wg^T + bg) * (x Wu^T + bu)) w2^T + b2: SwiGLU with 'silu', GEGLU with 'gelu'; w_gate_and_up [2 d_ff, "
        "d_model] has "
        "the rows of Wg first.",
        x, nb::arg("w_gate_and_up"), nb::arg("b").none(), nb::arg("w2"), nb::arg("b2").none(), nb::arg("activation") = "silu");
    add_op(m, "attention", &attend,
           "softmax(q k^T / sqrt(head width) + masks) v for each head: query [batch, time, heads * width], key and value [batch, "
           "time', "
           "heads * width]. Lengths (int32 [batch]) leave out padding; mask [time, time'] or [batch, time, time']: True = may "
           "attend.",
           nb::arg("query"), nb::arg("key"), nb::arg("value"), nb::arg("heads") = 1, nb::arg("causal") = false,
           nb::arg("query_lengths") = nb::none(), nb::arg("key_lengths") = nb::none(), nb::arg("mask") = nb::none());
    add_op(
        m, "cross_entropy",
        +[](Variable logits, Tensor targets, double label_smoothing, std::int32_t ignore) {
            return cross_entropy(logits, targets, {.label_smoothing = label_smoothing, .ignore = ignore});
        },
        "The mean loss of logits [rows, vocabulary] for targets [rows]; targets equal to `ignore` count nothing.",
        nb::arg("logits"), nb::arg("targets"), nb::arg("label_smoothing") = 0.0, nb::arg("ignore") = -1);
    add_op(
        m, "linear_cross_entropy",
        +[](Variable x, Variable weight, Absent bias, Tensor targets, double label_smoothing, std::int32_t ignore) {
            return linear_cross_entropy(x, weight, bias.variable, targets,
                                        {.label_smoothing = label_smoothing, .ignore = ignore});
        },
        "cross_entropy(linear(x, weight, bias), targets) without holding the logits.", x, nb::arg("weight"),
        nb::arg("bias").none(), nb::arg("targets"), nb::arg("label_smoothing") = 0.0, nb::arg("ignore") = -1);
}

}  // namespace heddle::python
