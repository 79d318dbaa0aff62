// heddle.prove: the gradient check for functions written in Python.
#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <optional>
#include <utility>

#include "apps/python/arrays.h"
#include "apps/python/module.h"
#include "autograd/gradcheck.h"
#include "core/format.h"

namespace heddle::python {
namespace {

// Keeps what the user's functions raised. The proof turns ordinary exceptions into its report; KeyboardInterrupt and its kin go
// on.
class Raised {
  public:
    // The error for the proof; the GIL is held.
    Error error(nb::python_error& raised) {
        const std::string text = described(raised);
        if (!raised.matches(PyExc_Exception)) {
            const std::lock_guard lock(mutex_);
            if (!interruption_) interruption_.emplace(raised);
        }
        return Error(text);
    }
    void rethrow() {
        if (interruption_) throw nb::python_error(*interruption_);
    }

  private:
    // "ValueError: operands could not be broadcast (line 12 of layer.py, in backward)"
    static std::string described(nb::python_error& raised) {
        const nb::object text = nb::module_::import_("heddle._prove").attr("_described")(raised.value());
        return nb::str(text).c_str();
    }

    std::mutex mutex_;  // backward runs on other threads, too
    std::optional<nb::python_error> interruption_;
};

nb::list arrays_of(std::span<const Tensor> tensors) {
    nb::list arrays;
    for (const Tensor& tensor : tensors) arrays.append(numpy_array(tensor));
    return arrays;
}

// A copy: what the function keeps of it, or overwrites later, does not change a value of the proof.
Tensor kept_f64(nb::handle array, const std::string& what) {
    const Tensor tensor = Array{nb::borrow(array)}.tensor(what);
    return tensor.dtype() == DType::f64 ? tensor.clone() : tensor.to(DType::f64);
}

GradcheckReport prove(const nb::callable& forward, const nb::callable& backward, const std::vector<Array>& inputs,
                      const std::string& name, double tolerance, std::uint64_t seed, const std::vector<int>& zero_by_symmetry) {
    std::vector<Tensor> values;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Tensor input = inputs[i].tensor(fmt::format("prove: input {}", i));
        values.push_back(input.to(DType::f64));
    }
    Raised raised;
    const auto guarded = [&](const auto& call) {
        const nb::gil_scoped_acquire gil;
        try {
            return call();
        } catch (nb::python_error& error) {
            throw raised.error(error);
        }
    };
    const PlainFunction function{
        .forward = [&](std::span<const Tensor> in) -> std::vector<Tensor> {
            return guarded([&] {
                std::vector<Tensor> outputs;
                for (const nb::handle output : forward(arrays_of(in)))
                    outputs.push_back(kept_f64(output, fmt::format("{}: output {}", name, outputs.size())));
                return outputs;
            });
        },
        .backward = [&](std::span<const Tensor> in, std::span<const Tensor>,
                        std::span<const Tensor> cotangents) -> std::vector<Tensor> {
            return guarded([&] {
                std::vector<Tensor> gradients;
                for (const nb::handle gradient : backward(arrays_of(in), arrays_of(cotangents))) {
                    const std::size_t i = gradients.size();
                    gradients.push_back(
                        gradient.is_none() ? Tensor() : kept_f64(gradient, fmt::format("{}: the gradient of input {}", name, i)));
                    if (i < in.size() && gradients.back().defined())
                        check(gradients.back().shape() == in[i].shape(),
                              "the gradient of input {} has the shape {}, the input {}", i, gradients.back().shape(),
                              in[i].shape());
                }
                return gradients;
            });
        },
        .name = name.c_str()};
    GradcheckReport report;
    {
        const nb::gil_scoped_release free;
        report = gradcheck(function, values, {.tolerance = tolerance, .seed = seed, .zero_by_symmetry = zero_by_symmetry});
    }
    raised.rethrow();
    return report;
}

}  // namespace

void add_proofs(nb::module_& m) {
    nb::class_<GradcheckReport>(m, "ProofReport", "The result of a proof: numbers, and on failure a text.")
        .def_ro("passed", &GradcheckReport::passed, "Whether every gradient is right.")
        .def_ro("worst", &GradcheckReport::worst,
                "The largest difference between backward and differences, relative to the derivative's scale.")
        .def_ro("resolution", &GradcheckReport::resolution, "The largest error bound of the differences, on the same scale.")
        .def_ro("compared", &GradcheckReport::compared, "How many derivatives were compared.")
        .def_ro("message", &GradcheckReport::message, "What is wrong, where, and the likely cause; empty where nothing is.");
    m.def("prove", &prove, nb::arg("forward"), nb::arg("backward"), nb::arg("inputs"), nb::arg("name") = "function",
          nb::arg("tolerance") = GradcheckOptions{}.tolerance, nb::arg("seed") = GradcheckOptions{}.seed,
          nb::arg("zero_by_symmetry") = std::vector<int>(),
          "Proves a pair of functions on lists of float64 arrays; heddle.prove() makes such pairs.\n\n"
          "Parameters\n----------\n"
          "forward : callable\n    From the inputs (a list of arrays) to the outputs (a sequence of arrays).\n"
          "backward : callable\n    From the inputs and the outputs' gradients to the inputs' gradients; None is zero.\n"
          "inputs : sequence of array\n    Where to prove; converted to float64.\n"
          "name : str\n    The function's, for the report.\n"
          "tolerance : float\n    The largest error bound of a difference that counts as a proof.\n"
          "seed : int\n    The random cotangent and directions follow from it.\n"
          "zero_by_symmetry : sequence of int\n    Inputs whose gradient is always zero.\n\n"
          "Returns\n-------\nProofReport");
}

}  // namespace heddle::python
