#include "apps/resume.h"

#include <fmt/format.h>

#include <functional>
#include <sstream>

#include "apps/option_rows.h"
#include "apps/run.h"

namespace heddle::app {
namespace {

std::string shown(const Option& option) {
    const std::string value = option.write();
    return value.empty() ? "none" : value;
}

// The run's configuration has every dropout; one that was given anew counts for those that follow it, too.
bool follows_a_given_one(const OptionTable& table, const Option& option) {
    return option.name.ends_with("-dropout") && table.given("dropout");
}

struct Difference {
    const Option* option;
    std::string before;
};

// The options that `which` picks: those that were given are compared with the run's, the others take its values.
std::vector<Difference> take_over(OptionTable& table, const std::filesystem::path& run,
                                  const std::function<bool(const Option&)>& which) {
    TrainSettings settings = read_settings(run);
    OptionTable before = train_table(settings);
    std::vector<Difference> differences;
    std::stringstream taken;
    for (const Option& option : table.options()) {
        if (!option.in_config || !which(option)) continue;
        const Option& old = *before.find(option.name);
        if (option.given) {
            if (option.write() != old.write()) differences.push_back({&option, shown(old)});
        } else if (!old.write().empty() && old.write() != "\"\"" && !follows_a_given_one(table, option)) {
            taken << option.name << " = " << old.write() << '\n';
        }
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

// The run's rate is a factor for noam and the peak for the others; which one it was is known by its schedule.
void check_rate_is_meant(const std::filesystem::path& run, const Difference& schedule) {
    const std::string noam = "\"noam\"";
    check_usage((schedule.before == noam) == (shown(*schedule.option) == noam),
                fmt::format("--resume {}: --schedule {} and {}, which the run has, mean another --lr; give --lr X, too",
                            run.string(), shown(*schedule.option), schedule.before));
}

}  // namespace

std::vector<std::string> take_over_run(OptionTable& table, const std::filesystem::path& run) {
    const bool rate_given = table.given("lr");
    std::vector<Difference> refused;
    std::vector<std::string> changes;
    for (const Difference& difference : take_over(table, run, [](const Option&) { return true; })) {
        if (difference.option->fixed) refused.push_back(difference);
        if (difference.option->name == "schedule" && !rate_given) check_rate_is_meant(run, difference);
        changes.push_back(fmt::format("{} = {} (was {})", difference.option->name, shown(*difference.option), difference.before));
    }
    check_usage(refused.empty(),
                fmt::format("--resume {}: a run that goes on cannot change {}; leave it out, or begin a new run with --init {}",
                            run.string(), list(refused), run.string()));
    return changes;
}

void take_over_model(OptionTable& table, const std::filesystem::path& run) {
    const auto of_model = [](const Option& option) { return option.group == "Model" || option.group == "Vocabulary"; };
    std::vector<Difference> differences = take_over(table, run, of_model);
    std::erase_if(differences, [](const Difference& difference) { return !difference.option->fixed; });
    check_usage(differences.empty(),
                fmt::format("--init {}: its weights fit its own model and vocabulary only, not {}; leave that out", run.string(),
                            list(differences)));
}

}  // namespace heddle::app
