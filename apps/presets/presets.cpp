#include "apps/presets/presets.h"

#include <algorithm>
#include <sstream>

#include "apps/toml.h"

namespace heddle::app {
namespace {

std::vector<std::string> preset_names() {
    std::vector<std::string> names;
    for (const Preset& preset : presets()) names.emplace_back(preset.name);
    return names;
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
        if (option == nullptr || !option->in_config) continue;
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
