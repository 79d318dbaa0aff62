// The Python module heddle._native. The package (the folder heddle/ here) is its face.
#include "apps/python/module.h"

#include <nanobind/stl/string.h>

#include <string>

#include "apps/command/commands.h"
#include "apps/translation/training/update.h"
#include "core/cpu.h"
#include "core/error.h"
#include "core/parallel.h"

namespace heddle::python {

void Notes::warn() const {
    for (const std::string& text : texts_)
        if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw nb::python_error();
}

void check_signals() {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

namespace {

// The errors of Heddle, each also an error that Python programs expect. The last one registered is tried first.
void add_errors(nb::module_& m) {
    const auto based_on = [](nb::handle error, PyObject* also) { return nb::make_tuple(error, nb::handle(also)); };
    const nb::exception<Error> error(m, "Error", PyExc_RuntimeError);
    error.doc() = "An error of Heddle. The message says what was given, what was wanted and what to do.";
    nb::exception<UsageError>(m, "UsageError", nb::make_tuple(error, nb::handle(PyExc_ValueError))).doc() =
        "A wrong option, setting, name or array.";
    nb::exception<OutOfMemory>(m, "OutOfMemory", based_on(error, PyExc_MemoryError)).doc() =
        "There is not enough memory; the message has the size.";
    nb::exception<app::Divergence>(m, "Divergence", error).doc() = "A training whose loss or gradient is no longer finite.";
}

}  // namespace

NB_MODULE(_native, m) {
    // A traceback that a notebook keeps holds objects until the process ends: nothing is wrong then.
    nb::set_leak_warnings(false);
    m.doc() = "Heddle's library for Python: translation, training, proofs of gradients, and the ops.";
    m.attr("__version__") = std::string(version);
    m.attr("commit") = std::string(app::build_commit);
    add_errors(m);
    m.def("threads", &threads, "The number of threads that Heddle computes with.\n\nReturns\n-------\nint");
    m.def("set_threads", &set_threads, nb::arg("count"), nb::call_guard<nb::gil_scoped_release>(),
          "Sets the number of threads that Heddle computes with.\n\n"
          "Results have the same bits for every number.\n\n"
          "Parameters\n----------\ncount : int\n    1 to 1024; at first the number of processors.");
    m.def(
        "cpu_level", [] { return std::string(name(cpu_level())); },
        "The x86-64 level whose instructions are used: 'v2', 'v3' or 'v4'.\n\nReturns\n-------\nstr");
    add_translation(m);
    add_language_models(m);
    add_training(m);
    add_proofs(m);
    add_ops(m);
}

}  // namespace heddle::python
