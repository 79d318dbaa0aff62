#include "apps/task_recipes.h"

#include <fmt/format.h>

#include <vector>

namespace heddle::app {
namespace {

constexpr RecipeSetting numbers[] = {{"epochs", "10"}, {"schedule", "cosine"},   {"warmup", "200"},       {"dropout", "0"},
                                     {"average", "1"}, {"label-smoothing", "0"}, {"batch-tokens", "1500"}};
constexpr RecipeSetting sequences[] = {{"epochs", "8"},  {"schedule", "cosine"},   {"warmup", "200"},
                                       {"dropout", "0"}, {"label-smoothing", "0"}, {"average", "1"}};

void set(OptionTable& table, std::string& said, const char* name, const std::string& value) {
    Option* option = table.find(name);
    if (option == nullptr || option->given) return;
    option->read(*option, {value});
    option->given = true;
    said += fmt::format("{}--{} {}", said.empty() ? "" : " ", name, value);
}

}  // namespace

std::span<const RecipeSetting> task_recipe(std::string_view task) {
    if (task == "copy" || task == "reverse") return sequences;
    return numbers;
}

std::string apply_recipe(OptionTable& table, const TaskCorpus& task) {
    std::string said;
    if (!table.given("vocab-model")) {
        const bool other_type = table.given("vocab-type");
        set(table, said, "vocab-type", std::string(name(task.vocabulary.type)));
        if (!other_type) set(table, said, "vocab-size", fmt::format("{}", task.vocabulary.size));
        if (task.vocabulary.max_lines > 0) set(table, said, "vocab-lines", fmt::format("{}", task.vocabulary.max_lines));
        if (!task.shared_vocabulary) set(table, said, "shared-vocab", "false");
    }
    for (const RecipeSetting& setting : task_recipe(task.name)) set(table, said, setting.option, setting.value);
    return said;
}

}  // namespace heddle::app
