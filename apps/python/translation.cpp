// heddle.Translator and the metrics.
#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "apps/command/run_search.h"
#include "apps/python/arrays.h"
#include "apps/python/module.h"
#include "apps/python/runs.h"
#include "apps/translation/decoding/attention.h"
#include "apps/translation/metrics/metrics.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::python {
namespace {

using app::Translation;
using app::TranslationAttention;

struct FoundTranslation : Translation {
    std::shared_ptr<const TranslationAttention> attention = {};
};

// Nothing: not given.
struct SearchOptions {
    std::optional<std::int64_t> beam = {};
    std::optional<double> length_penalty = {};
    std::optional<std::int64_t> max_length = {};
    bool forbid_unknown = false;
    bool sample = false;
    std::optional<std::int64_t> top_k = {};
    std::optional<double> temperature = {};
    std::optional<std::uint64_t> seed = {};
};

class RunTranslator {
  public:
    RunTranslator(const RunTranslator&) = delete;
    RunTranslator& operator=(const RunTranslator&) = delete;
    RunTranslator(const RunPaths& runs, const std::string& weights)
        : opened_(open_runs("Translator", runs, weights, false)), search_(app::read_search(opened_.names.front())) {}

    Lines translate(const Lines& lines, const SearchOptions& options) const {
        Lines best;
        for (const auto& each : translations(lines, options, 1, false)) best.push_back(each.front().text);
        return best;
    }

    std::vector<std::vector<FoundTranslation>> translations(const Lines& lines, const SearchOptions& options, std::int64_t n_best,
                                                            bool attention) const {
        check_lines(lines, "translate");
        check_usage(!attention || opened_.names.size() == 1, "translate: attention=True is for a single run");
        const app::DecodeOptions decode = decoding(options, n_best);
        Notes notes;
        std::vector<std::vector<FoundTranslation>> all;
        {
            std::optional<nb::gil_scoped_release> free(std::in_place);
            app::Translator translator(opened_.run.models(), opened_.run.vocabularies(), decode);
            app::UnknownText unknown("the input", *opened_.run.vocabularies().source, std::ref(notes));
            translator.show(unknown);
            for (std::size_t begin = 0; begin < lines.size(); begin += lines_at_once) {
                const std::size_t end = std::min(lines.size(), begin + lines_at_once);
                const Lines some(lines.begin() + static_cast<std::ptrdiff_t>(begin),
                                 lines.begin() + static_cast<std::ptrdiff_t>(end));
                add(all, some, translator.translate(some), attention);
                free.reset();
                check_signals();
                free.emplace();
            }
            unknown.report();
        }
        notes.warn();
        return all;
    }

    std::vector<double> score(const std::vector<std::pair<std::string, std::string>>& pairs, bool normalize) const {
        Lines sources, targets;
        for (const auto& [source, target] : pairs) {
            sources.push_back(source);
            targets.push_back(target);
        }
        check_lines(sources, "score: the sources");
        check_lines(targets, "score: the targets");
        return python::score(opened_.run, sources, targets, normalize);
    }

    std::string source() const { return opened_.run.runs.front().settings.data.source; }
    std::string target() const { return opened_.run.runs.front().settings.data.target; }
    std::int64_t parameters() const { return opened_.run.runs.front().model->parameter_count(); }
    std::string text() const {
        return fmt::format("heddle.Translator({}: {} to {}, {} parameters)", fmt::join(opened_.names, ", "), source(), target(),
                           grouped_text(parameters()));
    }

  private:
    app::DecodeOptions decoding(const SearchOptions& options, std::int64_t n_best) const {
        app::DecodeOptions decode = search_.options();
        if (options.beam) decode.beam = *options.beam;
        decode.n_best = n_best;
        decode.max_length = options.max_length;
        if (options.length_penalty) decode.length_penalty = *options.length_penalty;
        if (options.forbid_unknown) decode.forbidden = {app::unk_id};
        if (options.sample) {
            check_usage(!options.beam, "translate: beam searches and sample=True draws; give one of them");
            const app::Sampling usual;
            decode.sampling = app::Sampling{.top_k = options.top_k.value_or(usual.top_k),
                                            .temperature = options.temperature.value_or(usual.temperature),
                                            .seed = options.seed.value_or(usual.seed)};
            return decode;
        }
        const char* const alone = options.top_k ? "top_k" : options.temperature ? "temperature" : options.seed ? "seed" : nullptr;
        check_usage(alone == nullptr, fmt::format("translate: {} is for sample=True; give it, too", alone ? alone : ""));
        check_usage(
            n_best <= decode.beam,
            fmt::format("translate: n_best={0} of beam={1}: a beam has no more translations than it is wide; use beam={0}",
                        n_best, decode.beam));
        return decode;
    }

    void add(std::vector<std::vector<FoundTranslation>>& all, const Lines& lines,
             const std::vector<std::vector<Translation>>& found, bool attention) const {
        const std::size_t first = all.size();
        std::vector<app::TranslatedLine> pairs;
        std::vector<FoundTranslation*> places;
        for (const auto& each : found) {
            all.emplace_back();
            for (const Translation& translation : each) all.back().push_back({translation});
        }
        if (!attention) return;
        for (std::size_t i = 0; i < lines.size(); ++i)
            for (std::size_t j = 0; j < found[i].size(); ++j) {
                pairs.push_back({lines[i], &found[i][j]});
                places.push_back(&all[first + i][j]);
            }
        app::attend(*opened_.run.runs.front().model, opened_.run.vocabularies(), pairs,
                    [&](std::size_t pair, TranslationAttention given) {
                        places[pair]->attention = std::make_shared<const TranslationAttention>(std::move(given));
                    });
    }

    OpenedRuns opened_;
    app::RunSearch search_;
};

// The maps of a kind: one array [heads, queries, keys] for each layer.
nb::list maps_of(const std::vector<Tensor>& layers) {
    nb::list maps;
    for (const Tensor& layer : layers) maps.append(numpy_array(layer.reshape({layer.dim(1), layer.dim(2), layer.dim(3)})));
    return maps;
}

void add_attention(nb::module_& m) {
    nb::class_<TranslationAttention>(m, "Attention", "The attention of the model during one translation.")
        .def_ro("source", &TranslationAttention::source, "What the encoder reads: the tokens of the line and the end mark.")
        .def_ro("read", &TranslationAttention::read, "What each step of the decoder reads last.")
        .def_ro("written", &TranslationAttention::written, "What each step of the decoder writes.")
        .def_prop_ro(
            "encoder", [](const TranslationAttention& a) { return maps_of(a.maps.encoder); },
            nb::sig("def encoder(self) -> list[numpy.typing.NDArray]"), "Per layer [heads, source, source].")
        .def_prop_ro(
            "decoder", [](const TranslationAttention& a) { return maps_of(a.maps.decoder); },
            nb::sig("def decoder(self) -> list[numpy.typing.NDArray]"), "Per layer [heads, written, read].")
        .def_prop_ro(
            "cross", [](const TranslationAttention& a) { return maps_of(a.maps.cross); },
            nb::sig("def cross(self) -> list[numpy.typing.NDArray]"), "Per layer [heads, written, source].")
        .def_prop_ro(
            "alignment", [](const TranslationAttention& a) { return app::alignment_text(app::word_attention(a)); },
            "For each target word the source word that it attends to most, as '0-0 1-2' (source-target, counted from 0).");
}

void add_metrics(nb::module_& m) {
    nb::class_<app::BleuScore>(m, "BleuScore", "BLEU of a corpus with what it is made of.")
        .def_ro("score", &app::BleuScore::score, "0 to 100.")
        .def_prop_ro(
            "precisions", [](const app::BleuScore& s) { return std::vector<double>(s.precisions.begin(), s.precisions.end()); },
            "The precisions of n-grams of one to four tokens, 0 to 100, smoothed.")
        .def_ro("brevity_penalty", &app::BleuScore::brevity_penalty, "Below 1 where the translations are shorter.")
        .def_ro("hypothesis_length", &app::BleuScore::hypothesis_length, "Tokens of the translations.")
        .def_ro("reference_length", &app::BleuScore::reference_length, "Tokens of the references.")
        .def("__float__", [](const app::BleuScore& s) { return s.score; })
        .def("__repr__", &app::BleuScore::text);
    const auto tokenizer_named = [](const std::string& name, const Lines& references) {
        const auto found = value_of<app::Tokenizer>(name);
        check_usage(found.has_value(),
                    fmt::format("tokenize='{}'; wanted {}", name, fmt::join(words_of<app::Tokenizer>(), ", ")));
        return app::choose_metric(references, *found).tokenizer;
    };
    m.def(
        "bleu",
        [tokenizer_named](const Lines& hypotheses, const Lines& references, const std::string& tokenize, bool lowercase) {
            const nb::gil_scoped_release free;
            return app::corpus_bleu(hypotheses, references,
                                    {.lowercase = lowercase, .tokenizer = tokenizer_named(tokenize, references)});
        },
        nb::arg("hypotheses"), nb::arg("references"), nb::kw_only(), nb::arg("tokenize") = "13a", nb::arg("lowercase") = false,
        "BLEU of a corpus as sacrebleu computes it.\n\n"
        "Parameters\n----------\n"
        "hypotheses : list of str\n    The translations.\n"
        "references : list of str\n    One for each.\n"
        "tokenize : str\n    '13a' (sacrebleu's default), 'zh', 'char', 'none', or 'auto'.\n"
        "lowercase : bool\n    Compares in lower case.\n\n"
        "Returns\n-------\nBleuScore\n    float(score) is the number, str(score) sacrebleu's line.");
    m.def(
        "chrf",
        [](const Lines& hypotheses, const Lines& references, int word_order, bool lowercase) {
            check_usage(word_order == 0 || word_order == 2,
                        fmt::format("chrf: word_order={}; wanted 0 (chrF2) or 2 (chrF2++)", word_order));
            const nb::gil_scoped_release free;
            const app::LineStatistics corpus = sum(app::line_statistics(hypotheses, references, {.lowercase = lowercase}));
            return word_order == 0 ? app::chrf_score(corpus.chrf) : app::chrf_plus_plus_score(corpus.chrf);
        },
        nb::arg("hypotheses"), nb::arg("references"), nb::kw_only(), nb::arg("word_order") = 0, nb::arg("lowercase") = false,
        "chrF2 of a corpus, or chrF2++ with word_order=2, as sacrebleu computes it.\n\nReturns\n-------\nfloat\n    0 to 100.");
}

}  // namespace

void add_translation(nb::module_& m) {
    nb::class_<FoundTranslation>(m, "Translation", "One translation of a line.")
        .def_ro("text", &FoundTranslation::text, "The translation.")
        .def_ro("log_probability", &FoundTranslation::log_probability, "log p, the end mark counted.")
        .def_ro("score", &FoundTranslation::score, "log p / length^alpha: what the search compares.")
        .def_ro("tokens", &FoundTranslation::tokens, "The ids of its tokens, without marks.")
        .def_ro("ended", &FoundTranslation::ended, "False where it was cut at the maximum length.")
        .def_prop_ro(
            "attention", [](const FoundTranslation& t) { return t.attention.get(); }, nb::rv_policy::reference_internal,
            nb::sig("def attention(self) -> Attention | None"), "The model's attention, with attention=True.")
        .def("__str__", [](const FoundTranslation& t) { return t.text; })
        .def("__repr__", [](const FoundTranslation& t) {
            return fmt::format("Translation({}, log_probability={:.4f})", nb::cast<std::string>(nb::repr(nb::cast(t.text))),
                               t.log_probability);
        });
    add_attention(m);

    const char* const of_search =
        "beam : int, optional\n    Hypotheses kept at each step, 5 unless given; 1 is greedy. For a search alone.\n"
        "length_penalty : float, optional\n    alpha; the run's own unless given.\n"
        "max_length : int, optional\n    The most tokens of a translation.\n"
        "forbid_unknown : bool\n    Never writes the unknown token.\n"
        "sample : bool\n    Draws translations instead of searching for the best.\n"
        "top_k : int, optional\n    Draws from the k most probable tokens; 0, or not given: from all. This and the next two are "
        "for "
        "sample=True.\n"
        "temperature : float, optional\n    Draws from p^(1/temperature), 1 unless given.\n"
        "seed : int, optional\n    Samples follow from it and the line's place; 1 unless given.\n\n";
    static const std::string plain = fmt::format(
        "Translates lines.\n\n"
        "The same as ``heddle translate``, with the same bits. Other Python threads run meanwhile, and several may translate at "
        "once.\n\n"
        "Parameters\n----------\nlines : list of str\n    A sentence each; a blank line is given back.\n{}"
        "Returns\n-------\nlist of str\n    The best translation of each line.",
        of_search);
    static const std::string listed = fmt::format(
        "Translates lines, with several translations of each, their scores and their attention.\n\n"
        "Parameters\n----------\nlines : list of str\n    A sentence each.\n{}"
        "n_best : int\n    The best so many translations, or so many samples.\n"
        "attention : bool\n    Runs each through the model once more for its attention.\n\n"
        "Returns\n-------\nlist of list of Translation\n    The best first; samples in the order drawn.",
        of_search);
    using Number = std::optional<double>;
    using Limit = std::optional<std::int64_t>;
    using Seed = std::optional<std::uint64_t>;
    const auto options_of = [](Limit beam, Number length_penalty, Limit max_length, bool forbid_unknown, bool sample, Limit top_k,
                               Number temperature, Seed seed) {
        return SearchOptions{beam, length_penalty, max_length, forbid_unknown, sample, top_k, temperature, seed};
    };
    nb::class_<RunTranslator>(m, "Translator", "A trained model, or several that translate together.")
        .def(nb::init<const RunPaths&, const std::string&>(), nb::arg("runs"), nb::kw_only(), nb::arg("weights") = "average",
             "Opens the folder of a run.\n\n"
             "Parameters\n----------\nruns : path or list of path\n    A folder that heddle.train made, or several with one "
             "vocabulary.\n"
             "weights : str\n    'average' (of the last validations) or 'best' (of the lowest validation loss).")
        .def(
            "translate",
            [options_of](const RunTranslator& t, const Lines& lines, Limit beam, Number penalty, Limit limit, bool forbid,
                         bool sample, Limit top_k, Number temperature, Seed seed) {
                return t.translate(lines, options_of(beam, penalty, limit, forbid, sample, top_k, temperature, seed));
            },
            nb::arg("lines"), nb::kw_only(), nb::arg("beam") = nb::none(), nb::arg("length_penalty") = nb::none(),
            nb::arg("max_length") = nb::none(), nb::arg("forbid_unknown") = false, nb::arg("sample") = false,
            nb::arg("top_k") = nb::none(), nb::arg("temperature") = nb::none(), nb::arg("seed") = nb::none(), plain.c_str())
        .def(
            "translate",
            [options_of](const RunTranslator& t, const Lines& lines, Limit beam, Number penalty, Limit limit, bool forbid,
                         bool sample, Limit top_k, Number temperature, Seed seed, std::int64_t n_best, bool attention) {
                return t.translations(lines, options_of(beam, penalty, limit, forbid, sample, top_k, temperature, seed), n_best,
                                      attention);
            },
            nb::arg("lines"), nb::kw_only(), nb::arg("beam") = nb::none(), nb::arg("length_penalty") = nb::none(),
            nb::arg("max_length") = nb::none(), nb::arg("forbid_unknown") = false, nb::arg("sample") = false,
            nb::arg("top_k") = nb::none(), nb::arg("temperature") = nb::none(), nb::arg("seed") = nb::none(),
            nb::arg("n_best") = 1, nb::arg("attention") = false, listed.c_str())
        .def("score", &RunTranslator::score, nb::arg("pairs"), nb::kw_only(), nb::arg("normalize") = false,
             "The log-probability of given translations, as ``heddle score`` prints it.\n\n"
             "Parameters\n----------\npairs : list of (str, str)\n    Sources and their translations.\n"
             "normalize : bool\n    Divides by the number of tokens, the end mark counted.\n\n"
             "Returns\n-------\nlist of float")
        .def_prop_ro("source", &RunTranslator::source, "The language that it reads.")
        .def_prop_ro("target", &RunTranslator::target, "The language that it writes.")
        .def_prop_ro("parameters", &RunTranslator::parameters, "How many numbers the model has.")
        .def("__repr__", &RunTranslator::text);
    add_metrics(m);
}

}  // namespace heddle::python
