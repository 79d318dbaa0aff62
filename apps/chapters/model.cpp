#include "apps/chapters/model.h"

#include <algorithm>

#include "apps/command/option_rows.h"
#include "apps/command/run.h"
#include "apps/lab/kit.h"
#include "apps/presets/presets.h"
#include "core/format.h"

namespace heddle::chapters {

nn::TransformerOptions model_of(const std::string& preset, std::int64_t words, std::optional<std::int64_t> layers) {
    app::TrainSettings settings;
    app::OptionTable table = app::train_table(settings);
    app::apply_preset(table, preset);
    if (layers) settings.model.layers = *layers;
    app::resolve(settings.model, settings.vocabulary);
    return app::transformer_options(settings.model, words, words).complete();
}

nn::Sentences sentences(std::int64_t count, std::int64_t length, std::int64_t words, std::uint64_t key) {
    return {lab::words(count * length, words, key), Spans::equal(count, length)};
}

const nn::SummaryRow& row_of(const nn::ModelSummary& summary, std::string_view module) {
    const auto found = std::ranges::find(summary.rows, module, &nn::SummaryRow::module);
    check(found != summary.rows.end(), "chapter: the summary has no module '{}'", module);
    return *found;
}

}  // namespace heddle::chapters
