#include "nn/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/commands.h"
#include "apps/model_pictures.h"
#include "apps/option_rows.h"
#include "apps/run.h"
#include "apps/translation/training_log.h"

namespace heddle::app {
namespace {

struct SummaryOptions {
    std::string run;
    std::int64_t vocab_size = default_subwords;
    std::optional<std::int64_t> source_size;
    std::optional<std::int64_t> target_size;
    std::string pictures;
    ModelOptions model;
};

OptionTable summary_table(SummaryOptions& options) {
    OptionTable table("summary", "prints a model as a table: module, kind, shapes, parameters");
    table.usage = "usage: heddle summary --model RUN\n       heddle summary [model options]\n";
    table.group("A trained run");
    table.add("model", options.run, "the run's folder; model options are then taken from it").called("RUN");
    add_model_options(table, options.model);
    table.group("Vocabulary");
    table.add("vocab-size", options.vocab_size, "tokens").at_least(1);
    table.add("source-vocab-size", options.source_size, "tokens of the source, when the languages share none")
        .at_least(1)
        .defaults_to("as --vocab-size");
    table.add("target-vocab-size", options.target_size, "tokens of the target, when the languages share none")
        .at_least(1)
        .defaults_to("as --vocab-size");
    table.group("Output");
    table.add("pictures", options.pictures, "draw the model, its layers and its attention, too: SVG files and index.html")
        .called("FOLDER");
    return table;
}

void print_table(const nn::Module& model) {
    const std::vector<nn::SummaryRow> rows = nn::summary(model);
    std::size_t module = 6, kind = 4, shape = 5;
    for (const nn::SummaryRow& row : rows) {
        module = std::max(module, row.module.size());
        kind = std::max(kind, row.kind.size());
        shape = std::max(shape, row.shape.size());
    }
    fmt::print("{:<{}}  {:<{}}  {:<{}}  {:>12}\n", "module", module, "kind", kind, "shape", shape, "parameters");
    for (const nn::SummaryRow& row : rows)
        fmt::print("{:<{}}  {:<{}}  {:<{}}  {:>12}{}\n", row.module, module, row.kind, kind, row.shape, shape,
                   grouped_text(row.parameters), row.frozen ? "  frozen" : "");
    fmt::print("{:<{}}  {:>12}\n", "total", module + kind + shape + 4, grouped_text(model.parameter_count()));
    fmt::print("{:<{}}  {:>12}\n", "trained", module + kind + shape + 4, grouped_text(model.trainable_count()));
    fmt::print("{:<{}}  {:>9.1f} MB\n", "in memory, as f32", module + kind + shape + 4,
               static_cast<double>(4 * model.parameter_count()) / 1e6);
}

void show(const nn::Transformer& model, const SummaryOptions& options) {
    print_table(model);
    if (!options.pictures.empty()) write_model_pictures(options.pictures, model.options());
}

}  // namespace

int summary_command(Arguments arguments) {
    SummaryOptions options;
    OptionTable table = summary_table(options);
    if (!parse_command_line(table, arguments)) return 0;
    if (!options.run.empty()) {
        for (const Option& option : table.options())
            check_usage(!option.given || option.name == "model" || option.name == "pictures",
                        "--" + option.name + " cannot be combined with --model, whose options are fixed; leave one out");
        show(*open_run(options.run).model, options);
        return 0;
    }
    VocabularyRequest vocabulary;
    vocabulary.shared = !options.source_size && !options.target_size;
    resolve(options.model, vocabulary);
    show(nn::Transformer(transformer_options(options.model, options.source_size.value_or(options.vocab_size),
                                             options.target_size.value_or(options.vocab_size))),
         options);
    return 0;
}

}  // namespace heddle::app
