#include "apps/command/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "apps/command/option_rows.h"
#include "apps/command/run.h"
#include "apps/terminal/option_error.h"
#include "apps/translation/run/folder.h"
#include "core/format.h"

namespace heddle::app {
namespace {

std::string shown(const std::string& value) { return value.empty() ? "none" : value; }
std::string shown(const Option& option) { return shown(option.write()); }

// A newly given --dropout also sets the dropouts that default to it, although config.toml has a value for each.
bool follows_a_given_one(const OptionTable& table, const Option& option) {
    return option.name.ends_with("-dropout") && table.given("dropout");
}

struct Difference {
    const Option* option;
    std::string before;
    std::string config;  // the value in config.toml
};

// Considers the options that `which` selects. Those not given take the values of config.toml. Returns the differences of all
// from the run's values, which are `saved`, or config.toml's where the save lacks them.
std::vector<Difference> take_over(OptionTable& table, const std::filesystem::path& run, const OptionTexts& saved,
                                  const std::function<bool(const Option&)>& which) {
    TrainSettings settings = read_settings(run);
    OptionTable config = train_table(settings);
    std::vector<Difference> differences;
    std::stringstream taken;
    for (const Option& option : table.options()) {
        if (!option.in_config || !which(option)) continue;
        const std::string value = config.find(option.name)->write();
        const auto known = saved.find(option.name);
        const bool was_unset = option.unset_left_out && !saved.empty();
        const std::string before = known != saved.end() ? known->second : was_unset ? std::string() : value;
        if (!option.given && follows_a_given_one(table, option)) continue;
        if (!option.given && !value.empty() && value != "\"\"") taken << option.name << " = " << value << '\n';
        if (before != value || (option.given && before != option.write()))
            differences.push_back({&option, shown(before), shown(value)});
    }
    table.read_config(taken, run.string());
    return differences;
}

std::string list(const std::vector<Difference>& differences) {
    std::string text;
    for (const Difference& difference : differences)
        text += fmt::format("{}--{} {} (it has {})", text.empty() ? "" : ", ", difference.option->name, shown(*difference.option),
                            difference.before);
    return text;
}

// With noam the rate is a factor, with other schedules the peak: a change of schedule between them needs a new rate.
void check_rate_is_meant(const std::filesystem::path& run, const Difference& schedule) {
    const std::string noam = "\"noam\"";
    check_usage((schedule.before == noam) == (shown(*schedule.option) == noam),
                fmt::format("--resume {}: --schedule {} and {}, which the run has, mean another --lr; give --lr X, too",
                            run.string(), shown(*schedule.option), schedule.before));
}

// Rejects changes of config.toml that the command line does not repeat: they may be a mistake or a flipped bit.
void check_not_edited(const std::filesystem::path& run, const std::vector<Difference>& edits) {
    std::string text, names;
    for (const Difference& edit : edits) {
        text += fmt::format("{}{} was {} when this was saved, config.toml says {}", text.empty() ? "" : "; ", edit.option->name,
                            edit.before, edit.config);
        names += fmt::format("{}--{}", names.empty() ? "" : ", ", edit.option->name);
    }
    check_usage(edits.empty(),
                fmt::format("--resume {}: {}; write back what was saved, or say on the command line which one is meant ({})",
                            run.string(), text, names));
}

}  // namespace

OptionTexts options_to_save(const OptionTable& table) {
    OptionTexts texts;
    for (const Option& option : table.options())
        if (option.in_config && option.group != OptionGroup::data && option.name != "vocab-model" &&
            !(option.unset_left_out && option.write().empty()))
            texts[option.name] = option.write();
    return texts;
}

std::vector<std::string> take_over_run(OptionTable& table, const std::filesystem::path& run, const OptionTexts& saved) {
    std::vector<std::string> given;
    for (const Option& option : table.options())
        if (option.given) given.push_back(option.name);
    const auto was_given = [&](std::string_view name) { return std::find(given.begin(), given.end(), name) != given.end(); };
    const bool edited = !config_is_unchanged(run);
    std::vector<Difference> refused, refused_edits;
    std::vector<std::string> changes;
    for (const Difference& difference : take_over(table, run, saved, [](const Option&) { return true; })) {
        const Option& option = *difference.option;
        const std::string now = shown(option);
        if (now == difference.before) {
            changes.push_back(fmt::format("{} = {} (config.toml said {})", option.name, now, difference.config));
            continue;
        }
        changes.push_back(fmt::format("{} = {} (was {})", option.name, now, difference.before));
        if (!was_given(option.name)) {
            if (option.fixed || (edited && !option.incidental)) refused_edits.push_back(difference);
            continue;
        }
        if (option.fixed) refused.push_back(difference);
        if (option.name == "schedule" && !was_given("lr")) check_rate_is_meant(run, difference);
    }
    check_not_edited(run, refused_edits);
    check_usage(refused.empty(),
                fmt::format("--resume {}: a resumed run cannot change {}; leave it out, or start a new run with --init {}",
                            run.string(), list(refused), run.string()));
    return changes;
}

void take_over_model(OptionTable& table, const std::filesystem::path& run) {
    const auto of_model = [](const Option& option) {
        return option.group == OptionGroup::model || option.group == OptionGroup::vocabulary;
    };
    std::vector<Difference> differences = take_over(table, run, {}, of_model);
    std::erase_if(differences, [](const Difference& difference) { return !difference.option->fixed; });
    if (differences.empty()) return;
    std::vector<std::string> names;
    for (const Difference& difference : differences) names.push_back(difference.option->name);
    throw OptionError(std::move(names),
                      fmt::format("--init {}: its weights fit its own model and vocabulary only, not {}; leave that out",
                                  run.string(), list(differences)));
}

bool is_decided_by_text(const Option& option) {
    return option.name == "source" || option.name == "target" ||
           (option.group == OptionGroup::vocabulary && option.name != "vocab-model");
}

std::map<std::string, std::string> decided_options(const OptionTable& table) {
    std::map<std::string, std::string> texts;
    for (const Option& option : table.options()) {
        if (is_decided_by_text(option) && (option.given || option.group == OptionGroup::vocabulary))
            texts[option.name] = option.write();
    }
    return texts;
}

void take_over_prepared(OptionTable& table, const PreparedText& text, bool vocabulary) {
    const std::string folder = text.folder().string();
    std::vector<Difference> differences;
    std::vector<std::string> names;
    std::stringstream taken;
    std::map<std::string, std::string> options = text.header().options;
    if (const auto type = options.find("vocab-type");
        type != options.end() && (type->second == "\"bpe\"" || type->second == "\"unigram\""))
        options.try_emplace("vocab-normalization", "\"nfkc\"");  // saved before the option existed
    for (const auto& [name, value] : options) {
        const Option* const option = table.find(name);
        check(option != nullptr && is_decided_by_text(*option) && value.find_first_of("\r\n") == std::string::npos,
              "{}: its {} sets the option {}, which a prepared text does not; prepare the text again", folder,
              prepared_header_name, name);
        if (option->group == OptionGroup::vocabulary && !vocabulary) continue;
        if (option->given && option->write() != value) {
            differences.push_back({option, shown(value), {}});
            names.push_back(name);
        } else if (!option->given && !value.empty()) {
            taken << name << " = " << value << '\n';
        }
    }
    if (!differences.empty())
        throw OptionError(std::move(names),
                          fmt::format("--train {}: it was prepared with other options than {}; leave that out, or "
                                      "prepare the text with it",
                                      folder, list(differences)));
    check_option(!vocabulary || !table.given("vocab-model"), {"vocab-model", "train"},
                 fmt::format("--train {}: it has its vocabulary; leave --vocab-model out, or prepare the text with it", folder));
    table.read_config(taken, (text.folder() / prepared_header_name).string());
}

}  // namespace heddle::app
