#include "apps/presets/presets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <vector>

#include "apps/terminal/option_error.h"
#include "apps/translation/run/toml.h"

namespace heddle::app {
namespace {

std::vector<std::string> preset_names() {
    std::vector<std::string> names;
    for (const Preset& preset : presets()) names.emplace_back(preset.name);
    return names;
}

// A preset's option that does not apply if the user gave another one, which serves the same purpose.
struct Replaced {
    std::string_view option;
    std::string_view by;
};
constexpr Replaced replaced[] = {{"epochs", "updates"},
                                 {"epochs", "minutes"},
                                 {"task", "train"},
                                 {"vocab-type", "vocab-model"},
                                 {"vocab-size", "vocab-model"},
                                 {"min-count", "vocab-model"},
                                 {"vocab-size", "vocab-type"},
                                 {"min-count", "vocab-type"},
                                 {"vocab-normalization", "vocab-model"},
                                 {"vocab-normalization", "vocab-type"},
                                 {"vocab-normalization", "task"}};

// True if the option was given, and has this value.
bool is_given_as(OptionTable& table, std::string_view option, const std::string& value) {
    const Option* found = table.find(option);
    return found != nullptr && found->given && found->write() == toml_string(value);
}

// Properties of a preset that decide what its other options mean.
struct PresetKind {
    bool of_task = false;  // its vocabulary is made for its task
    bool noam = false;     // its rate is the factor of the noam schedule
};

PresetKind kind_of(const std::vector<TomlItem>& items) {
    PresetKind kind;
    for (const TomlItem& item : items) {
        kind.of_task = kind.of_task || item.key == "task";
        kind.noam = kind.noam || (item.key == "schedule" && item.values.front() == "noam");
    }
    return kind;
}

bool out_of_force(OptionTable& table, std::string_view option, const PresetKind& preset) {
    if (preset.of_task && (option == "vocab-type" || option == "vocab-size") && (table.given("task") || table.given("train")))
        return true;
    if (option.starts_with("adam-")) return is_given_as(table, "optimizer", "sgd");
    if (option == "lr") return table.given("schedule") && is_given_as(table, "schedule", "noam") != preset.noam;
    return std::any_of(std::begin(replaced), std::end(replaced),
                       [&](const Replaced& each) { return each.option == option && table.given(each.by); });
}

// The options that the preset sets: those of the table that were neither given nor replaced. Empty for an empty name.
std::vector<TomlItem> items_of(OptionTable& table, const std::string& name) {
    if (name.empty()) return {};
    const auto found =
        std::find_if(presets().begin(), presets().end(), [&](const Preset& preset) { return preset.name == name; });
    std::istringstream text{std::string(found->text)};
    std::vector<TomlItem> items = read_toml(text, "preset " + name);
    const PresetKind kind = kind_of(items);
    std::erase_if(items, [&](const TomlItem& item) {
        const Option* option = table.find(item.key);
        return option == nullptr || !option->in_config || option->given || out_of_force(table, item.key, kind);
    });
    return items;
}

void apply(OptionTable& table, const std::vector<TomlItem>& items, const std::string& name) {
    std::stringstream known;
    for (const TomlItem& item : items) {
        known << item.key << " = [";
        for (const std::string& value : item.values) known << toml_string(value) << ", ";
        known << "]\n";
    }
    table.read_config(known, "preset " + name);
}

}  // namespace

Option& add_preset_option(OptionTable& table, std::string& name) {
    return table.add("preset", name, "start from a named model's options; explicit options override them")
        .one_of(preset_names())
        .not_in_config();
}

void apply_preset(OptionTable& table, const std::string& name) { apply(table, items_of(table, name), name); }

int with_preset(OptionTable& table, const std::string& name, const std::function<int()>& work, bool vocabulary) {
    std::vector<TomlItem> items = items_of(table, name);
    if (!vocabulary)
        std::erase_if(items, [&](const TomlItem& item) { return table.find(item.key)->group == OptionGroup::vocabulary; });
    try {
        apply(table, items, name);
        return work();
    } catch (const OptionError& error) {
        std::string said;
        for (const TomlItem& item : items)
            if (std::ranges::find(error.options(), item.key) != error.options().end())
                said += fmt::format(" --{} {}", item.key, fmt::join(item.values, " "));
        if (said.empty()) throw;
        throw OptionError(error.options(), fmt::format("{}; --preset {} has{}: give another value, or leave out the preset",
                                                       error.what(), name, said));
    }
}

}  // namespace heddle::app
