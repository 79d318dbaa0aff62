#include "apps/command/task_recipes.h"

#include <fmt/format.h>

#include <vector>

namespace heddle::app {
namespace {

// The languages have no ambiguity and no noise, so a small model without regularisation and a rate that falls to zero learns
// them completely. Found by experiment; the epochs are chosen so that training takes less than a minute on two cores.
/// An option as it would be given on the command line.
struct RecipeSetting {
    const char* option;
    const char* value;
};

constexpr RecipeSetting common[] = {{"layers", "2"},   {"d-model", "64"},        {"d-ff", "256"},
                                    {"dropout", "0"},  {"label-smoothing", "0"}, {"schedule", "cosine"},
                                    {"warmup", "100"}, {"average", "1"},         {"valid-sentences", "200"}};

const char* epochs(std::string_view task) {
    if (task == "sentences") return "10";
    if (task == "reverse") return "8";
    return "6";
}

void set(OptionTable& table, std::string& said, const char* name, const std::string& value) {
    Option* option = table.find(name);
    if (option == nullptr || option->given) return;
    option->read(*option, {value});
    option->given = true;
    said += fmt::format("{}--{} {}", said.empty() ? "" : " ", name, value);
}

}  // namespace

std::string apply_recipe(OptionTable& table, const TaskCorpus& task) {
    std::string said;
    if (!table.given("vocab-model")) {
        const bool other_type = table.given("vocab-type");
        set(table, said, "vocab-type", std::string(word_of(task.vocabulary.type)));
        if (!other_type) set(table, said, "vocab-size", fmt::format("{}", task.vocabulary.size));
        if (task.vocabulary.max_lines > 0) set(table, said, "vocab-lines", fmt::format("{}", task.vocabulary.max_lines));
        if (!task.shared_vocabulary) set(table, said, "shared-vocab", "false");
    }
    const bool limited = table.given("updates") || table.given("minutes");
    if (!limited) set(table, said, "epochs", epochs(task.name));
    const bool end_is_known = table.given("epochs") || table.given("updates");  // needed by the cosine schedule
    for (const RecipeSetting& setting : common)
        if (end_is_known || setting.option != std::string_view("schedule")) set(table, said, setting.option, setting.value);
    return said;
}

}  // namespace heddle::app
