// The parts of the module heddle._native, each of which adds its functions and classes.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

namespace heddle::python {

namespace nb = nanobind;

/// Translator with Translation and Attention, and the metrics.
void add_translation(nb::module_& module);
/// LanguageModel.
void add_language_models(nb::module_& module);
/// `train` with the words of a command line, for heddle/_train.py.
void add_training(nb::module_& module);
/// `prove` with ProofReport, for heddle/_prove.py.
void add_proofs(nb::module_& module);
/// The ops on arrays, as the sub-module `_ops`, which heddle/ops.py shows.
void add_ops(nb::module_& module);

/// Notes of the library, given as Python's warnings (UserWarning) once the GIL is held again.
class Notes {
  public:
    void operator()(std::string_view text) { texts_.emplace_back(text.starts_with("warning: ") ? text.substr(9) : text); }
    void warn() const;

  private:
    std::vector<std::string> texts_;
};

/// KeyboardInterrupt and the like, when the person wants it; the GIL must be held.
void check_signals();

}  // namespace heddle::python
