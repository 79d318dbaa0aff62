#include "apps/presets/presets.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "apps/toml.h"

namespace heddle::app {
namespace {

std::vector<std::string> preset_names() {
    std::vector<std::string> names;
    for (const Preset& preset : presets()) names.emplace_back(preset.name);
    return names;
}

// An option of a preset that is out of force when the user gave another: it would be a limit or a source beside the user's own.
struct Replaced {
    std::string_view option;
    std::string_view by;
};
constexpr Replaced replaced[] = {{"epochs", "updates"},         {"epochs", "minutes"},         {"task", "train"},
                                 {"vocab-type", "vocab-model"}, {"vocab-size", "vocab-model"}, {"min-count", "vocab-model"},
                                 {"vocab-size", "vocab-type"},  {"min-count", "vocab-type"}};

bool out_of_force(OptionTable& table, std::string_view option) {
    if (option.starts_with("adam-")) {
        const Option* optimizer = table.find("optimizer");
        return optimizer != nullptr && optimizer->given && optimizer->write() == toml_string("sgd");
    }
    return std::any_of(std::begin(replaced), std::end(replaced),
                       [&](const Replaced& each) { return each.option == option && table.given(each.by); });
}

}  // namespace

void add_preset_option(OptionTable& table, std::string& name) {
    table.add("preset", name, "begin with the options of a model that is known by name; what you give yourself goes first")
        .one_of(preset_names())
        .not_in_config();
}

void apply_preset(OptionTable& table, const std::string& name) {
    if (name.empty()) return;
    const auto found =
        std::find_if(presets().begin(), presets().end(), [&](const Preset& preset) { return preset.name == name; });
    std::istringstream all{std::string(found->text)};
    std::stringstream known;
    for (const TomlItem& item : read_toml(all, "preset " + name)) {
        const Option* option = table.find(item.key);
        if (option == nullptr || !option->in_config || out_of_force(table, item.key)) continue;
        known << item.key << " = [";
        for (const std::string& value : item.values) known << toml_string(value) << ", ";
        known << "]\n";
    }
    table.read_config(known, "preset " + name);
}

HeadCount explained_head(std::int64_t d_model, std::int64_t width) {
    return {.projected = 3 * (d_model * width + width), .written = 3 * (width * d_model + d_model)};
}

}  // namespace heddle::app
