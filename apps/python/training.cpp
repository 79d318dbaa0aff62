// heddle.train.
#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <csignal>
#include <optional>

#include "apps/command/train.h"
#include "apps/python/module.h"
#include "apps/translation/training/stop_signals.h"
#include "core/error.h"
#include "core/parallel.h"
#include "kernels/matmul/batch_invariant.h"

namespace heddle::python {
namespace {

nb::dict figures(const app::IntervalReport& report) {
    nb::dict d;
    d["epoch"] = report.epoch;
    d["update"] = report.update;
    d["batch"] = report.batch;
    d["batches"] = report.batches;
    d["sentences"] = report.sentences;
    d["loss"] = report.loss;
    d["accuracy"] = report.accuracy;
    d["gradient_norm"] = report.gradient_norm;
    d["learning_rate"] = report.learning_rate;
    d["tokens_per_second"] = report.tokens_per_second;
    d["seconds"] = report.elapsed;
    d["seconds_left"] = report.eta;
    return d;
}

nb::dict figures(const app::ValidationReport& report) {
    nb::dict d;
    d["epoch"] = report.epoch;
    d["update"] = report.update;
    d["loss"] = report.loss;
    d["perplexity"] = report.perplexity;
    d["accuracy"] = report.accuracy;
    if (report.bits_per_byte) d["bits_per_byte"] = *report.bits_per_byte;
    if (report.bleu) d["bleu"] = *report.bleu;
    if (report.chrf) d["chrf"] = *report.chrf;
    if (report.exact_share()) d["exact_share"] = *report.exact_share();
    d["best"] = report.best;
    d["averaged"] = report.averaged;
    nb::list samples;
    for (const app::TranslatedSample& each : report.samples)
        if (report.bits_per_byte)
            samples.append(each.hypothesis);  // a text that a language model drew
        else
            samples.append(nb::make_tuple(each.source, each.reference, each.hypothesis));
    d["samples"] = samples;
    return d;
}

// Calls a function of Python from the training. The first exception stops the training, which saves, and then leaves train().
class Callbacks {
  public:
    Callbacks(nb::object updated, nb::object validated) : updated_(std::move(updated)), validated_(std::move(validated)) {}

    app::TrainingListener listener() {
        app::TrainingListener listener;
        if (!updated_.is_none()) listener.updated = [this](const app::IntervalReport& report) { call(updated_, report); };
        if (!validated_.is_none()) listener.validated = [this](const app::ValidationReport& report) { call(validated_, report); };
        return listener;
    }
    void warned(std::string_view text) {
        const nb::gil_scoped_acquire gil;
        const std::string plain(text.substr(text.find(' ') + 1));  // without "warning:"
        if (PyErr_WarnEx(PyExc_UserWarning, plain.c_str(), 1) != 0) keep();
    }
    // Whether to stop. A Ctrl-C that came before the training took the signals is still with Python.
    bool stop() {
        if (raised_) return true;
        const nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) keep();
        return raised_.has_value();
    }
    void rethrow() {
        if (raised_) throw nb::python_error(*raised_);
    }

  private:
    template <class Report>
    void call(const nb::object& function, const Report& report) {
        if (raised_) return;
        const nb::gil_scoped_acquire gil;
        try {
            function(figures(report));
        } catch (nb::python_error& error) {
            raised_.emplace(error);
        }
    }

    void keep() {
        nb::python_error error;
        if (!raised_) raised_.emplace(std::move(error));
    }

    nb::object updated_, validated_;
    std::optional<nb::python_error> raised_;
};

// One training at a time, because signals are the process's. Afterwards the process computes as it did before.
class OneTraining {
  public:
    OneTraining() {
        check_usage(
            !running.exchange(true),
            "train: another training runs in this process, and Ctrl-C can stop one only; wait for it, or use another process");
    }
    ~OneTraining() {
        if (threads() != threads_) set_threads(threads_);
        kernels::set_batch_invariant(batch_invariant_);
        running = false;
    }
    OneTraining(const OneTraining&) = delete;
    OneTraining& operator=(const OneTraining&) = delete;

  private:
    static inline std::atomic<bool> running = false;
    int threads_ = threads();
    bool batch_invariant_ = kernels::batch_invariant();
};

void train(const std::vector<std::string>& words, nb::object on_update, nb::object on_validation, bool quiet) {
    std::vector<const char*> arguments;
    for (const std::string& word : words) arguments.push_back(word.c_str());
    Callbacks callbacks(std::move(on_update), std::move(on_validation));
    int status = 0;
    {
        const nb::gil_scoped_release free;
        const OneTraining one;  // ends without the GIL, which a proof's threads may want before their number changes
        app::TrainWatch watch{.listener = callbacks.listener(), .stop = [&] { return callbacks.stop(); }, .quiet = quiet};
        if (quiet) watch.warned = [&](std::string_view text) { callbacks.warned(text); };
        status = app::train_command(arguments, watch);
    }
    callbacks.rethrow();
    if (status <= 128) return;
    // The run is saved; the signal does to Python what it would have done.
    if (status == 128 + SIGINT) {
        PyErr_SetNone(PyExc_KeyboardInterrupt);
        throw nb::python_error();
    }
    throw Error(fmt::format("train: stopped by {} and saved", app::signal_name(status - 128)));
}

}  // namespace

void add_training(nb::module_& m) {
    m.def("train", &train, nb::arg("words"), nb::arg("on_update") = nb::none(), nb::arg("on_validation") = nb::none(),
          nb::arg("quiet") = false,
          "Trains with the words of a command line of ``heddle train``; heddle.train() makes them of a dict.\n\n"
          "Parameters\n----------\n"
          "words : list of str\n    Such as ['--task', 'numbers', '--out', 'runs/first'].\n"
          "on_update : callable, optional\n    Gets a dict of figures after each update.\n"
          "on_validation : callable, optional\n    Gets one after each validation.\n"
          "quiet : bool\n    Writes no log lines to stderr; warnings become Python's.");
}

}  // namespace heddle::python
