// heddle.LanguageModel.
#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "apps/python/module.h"
#include "apps/python/runs.h"
#include "apps/translation/decoding/generate.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::python {
namespace {

// heddle generate draws at most as many.
constexpr std::int64_t most_samples = 100'000;

class RunLanguageModel {
  public:
    RunLanguageModel(const RunLanguageModel&) = delete;
    RunLanguageModel& operator=(const RunLanguageModel&) = delete;
    RunLanguageModel(const RunPaths& runs, const std::string& weights)
        : opened_(open_runs("LanguageModel", runs, weights, true)) {}

    Lines generate(const std::string& prompt, std::int64_t samples, std::optional<std::int64_t> top_k,
                   std::optional<double> top_p, double temperature, std::optional<std::uint64_t> seed,
                   std::optional<std::int64_t> max_tokens) const {
        check_lines({prompt}, "generate: the prompt");
        check_usage(samples >= 1 && samples <= most_samples,
                    fmt::format("generate: samples={}; wanted 1 to {}", samples, grouped_text(most_samples)));
        check_usage(top_k.value_or(0) >= 0,
                    fmt::format("generate: top_k={}; wanted a number of tokens, or 0 for all", top_k.value_or(0)));
        check_usage(top_p.value_or(1) > 0 && top_p.value_or(1) <= 1,
                    fmt::format("generate: top_p={}; wanted more than 0 and at most 1", top_p.value_or(1)));
        check_usage(temperature >= 0,
                    fmt::format("generate: temperature={}; wanted 0 (the most probable token each time) or more", temperature));
        if (temperature == 0) {
            check_usage(
                !top_k && !top_p && !seed,
                "generate: temperature=0 takes the most probable token each time, and top_k, top_p and seed are for drawing; "
                "leave one of them out");
            check_usage(samples == 1,
                        fmt::format("generate: samples={0} with temperature=0 would be one text, {0} times", samples));
        }
        check_usage(max_tokens.value_or(1) >= 1, "generate: max_tokens is the length of a text; wanted 1 or more");
        const app::Vocabulary& vocabulary = *opened_.run.vocabularies().target;
        app::GenerateTexts wanted{.prompt = app::prompt_tokens("generate: the prompt", prompt, vocabulary),
                                  .count = samples,
                                  .sampling = {.top_k = top_k.value_or(0),
                                               .top_p = top_p.value_or(1),
                                               .temperature = temperature,
                                               .seed = seed.value_or(1)},
                                  .max_tokens = max_tokens};
        const std::int64_t given = std::ssize(wanted.prompt);
        check_usage(given <= max_tokens.value_or(given),
                    fmt::format("generate: the prompt has {} tokens, and max_tokens={} counts them; give {} or more", given,
                                max_tokens.value_or(0), given + 1));
        const std::optional<std::int64_t> table = opened_.run.models().longest_sentence();
        check_usage(
            given < table.value_or(given + 1),
            fmt::format("generate: the prompt has {} tokens, but the model's position table ends after {}; give a shorter one",
                        given, table.value_or(0)));
        Lines texts;
        std::int64_t cut = 0;
        {
            const nb::gil_scoped_release free;
            for (app::Translation& each : app::generate_texts(opened_.run.models(), vocabulary, wanted)) {
                texts.push_back(std::move(each.text));
                cut += each.ended ? 0 : 1;
            }
        }
        check_signals();
        Notes notes;
        if (cut > 0)
            notes(fmt::format("{} of {} texts were cut before their end; max_tokens sets the length", grouped_text(cut),
                              grouped_text(samples)));
        notes.warn();
        return texts;
    }

    std::vector<double> score(const Lines& texts, bool normalize) const {
        check_lines(texts, "score: the texts");
        return python::score(opened_.run, Lines(texts.size()), texts, normalize);
    }

    std::int64_t parameters() const { return opened_.run.runs.front().model->parameter_count(); }
    std::string text() const {
        return fmt::format("heddle.LanguageModel({}: {} parameters)", fmt::join(opened_.names, ", "), grouped_text(parameters()));
    }

  private:
    OpenedRuns opened_;
};

}  // namespace

void add_language_models(nb::module_& m) {
    nb::class_<RunLanguageModel>(m, "LanguageModel", "A trained language model, or several whose probabilities are averaged.")
        .def(nb::init<const RunPaths&, const std::string&>(), nb::arg("runs"), nb::kw_only(), nb::arg("weights") = "average",
             "Opens the folder of a run.\n\n"
             "Parameters\n----------\nruns : path or list of path\n    A folder that heddle.train made with ``task='text'`` or "
             "``'names'``, or several with one vocabulary.\n"
             "weights : str\n    'average' (of the last validations) or 'best' (of the lowest validation loss).")
        .def(
            "generate", &RunLanguageModel::generate, nb::arg("prompt") = "", nb::kw_only(), nb::arg("samples") = 1,
            nb::arg("top_k") = nb::none(), nb::arg("top_p") = nb::none(), nb::arg("temperature") = 1.0,
            nb::arg("seed") = nb::none(), nb::arg("max_tokens") = nb::none(),
            "Draws texts.\n\n"
            "The same as ``heddle generate``, with the same bits. Other Python threads run meanwhile. Ctrl-C takes effect once "
            "all "
            "texts are drawn.\n\n"
            "Parameters\n----------\nprompt : str\n    Every text begins with it.\n"
            "samples : int\n    How many texts.\n"
            "top_k : int, optional\n    Draws from the k most probable tokens; 0, or not given: from all.\n"
            "top_p : float, optional\n    Draws from the fewest most probable tokens that have this share of all probability; 1 "
            "unless given.\n"
            "temperature : float\n    Draws from p^(1/temperature); 0: the most probable token each time, which makes one text.\n"
            "seed : int, optional\n    The texts follow from it; 1 unless given.\n"
            "max_tokens : int, optional\n    The most tokens of a text, the prompt's counted; longer ones are cut, which a "
            "warning says.\n\n"
            "Returns\n-------\nlist of str")
        .def("score", &RunLanguageModel::score, nb::arg("texts"), nb::kw_only(), nb::arg("normalize") = false,
             "The log-probability of texts, as ``heddle score`` prints it.\n\n"
             "Parameters\n----------\ntexts : list of str\n    Texts without line ends.\n"
             "normalize : bool\n    Divides by the number of tokens, the end mark counted.\n\n"
             "Returns\n-------\nlist of float")
        .def_prop_ro("parameters", &RunLanguageModel::parameters, "How many numbers the model has.")
        .def("__repr__", &RunLanguageModel::text);
}

}  // namespace heddle::python
