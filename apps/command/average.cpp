#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "apps/command/commands.h"
#include "apps/command/memory_advice.h"
#include "apps/command/option_rows.h"
#include "apps/command/run.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/run/folder.h"
#include "apps/translation/run/output_folder.h"
#include "apps/translation/training/weight_average.h"
#include "core/format.h"
#include "nn/flat.h"
#include "nn/serialize.h"

namespace heddle::app {
namespace {

struct AverageOptions {
    std::string run;
    std::int64_t last = 5;
    std::string out;
};

// Sets the model's parameters to the mean of the weights of these saves.
void average_saves(nn::Transformer& model, const std::filesystem::path& run, std::span<const std::int64_t> updates,
                   const ModelIdentity& identity) {
    nn::FlatParameters parameters = nn::flatten(model);
    WeightAverage average(static_cast<std::int64_t>(updates.size()));
    for (const std::int64_t update : updates) {
        nn::load(parameters.named(parameters.values),
                 open_weights(save_folder(run, update) / "model.safetensors", identity, update));
        average.add(parameters.values);
    }
    parameters.values.copy_(average.mean());
}

// True if the output is the run's model.safetensors, by whatever path it is named.
bool is_for_the_run(const AverageOptions& options) {
    std::error_code ignored;
    const std::filesystem::path out = std::filesystem::path(".") / options.out;
    return options.out.empty() ||
           (out.filename() == "model.safetensors" && std::filesystem::equivalent(out.parent_path(), options.run, ignored));
}

}  // namespace

int average_command(Arguments arguments) {
    AverageOptions options;
    OptionTable table("average", "averages the weights of a run's last saves");
    table.usage = "usage: heddle average RUN --last N\n";
    table.group(OptionGroup::average);
    table.add("model", options.run, "the folder of a run").called("RUN").positional();
    table.add("last", options.last, "how many saves; train with --keep N to keep that many").at_least(1);
    table.add("out", options.out, "write this file").called("FILE").defaults_to("the run's model.safetensors");
    if (!parse_command_line(table, arguments)) return 0;
    check_usage(!options.run.empty(), "average: no run; give heddle average RUN --last N");

    const TrainSettings settings = read_settings(options.run);
    std::optional<RunFolder> folder;  // locks the run, unless the file is elsewhere
    if (is_for_the_run(options))
        folder = RunFolder::reopen(options.run);
    else
        check_can_write_file(options.out, "--out", files_of_run(options.run));
    const std::vector<std::int64_t> updates = saved_updates(options.run);
    const auto last = static_cast<std::size_t>(options.last);
    check(!updates.empty(), "{}: it has no saves yet; let heddle train reach its first one", options.run);
    check(updates.size() >= last, "{0} has {1} save{2}, but --last asks for {3}; give --last {1}, or train with --keep {3}",
          options.run, updates.size(), updates.size() == 1 ? "" : "s", last);
    const std::span<const std::int64_t> chosen = std::span(updates).last(last);

    const ModelIdentity identity = model_identity(settings, options.run);
    const Vocabularies vocabularies = Vocabularies::load(options.run, settings.vocabulary.lowercase);
    check_numbering(settings.model, vocabularies, options.run);
    const nn::TransformerOptions of_model =
        settings.model.with_vocabularies(vocabularies.source->size(), vocabularies.target->size());
    check_model_size(of_model, SafetensorsFile(save_folder(options.run, chosen.back()) / "model.safetensors"));
    nn::Transformer model(of_model, std::nullopt);
    const auto fewer_saves = [&](std::int64_t less) {
        const std::string lower = lower_option("last", options.last, less);
        return lower.empty() ? more_memory : lower;
    };
    with_memory_advice(fewer_saves, [&] { average_saves(model, options.run, chosen, identity); });
    const std::string out = folder ? (folder->path() / "model.safetensors").string() : options.out;
    save_weights(out, model.named_tensors(), identity);
    say(fmt::format("{}: the average of the weights at updates {}", out, fmt::join(chosen, ", ")));
    return 0;
}

}  // namespace heddle::app
