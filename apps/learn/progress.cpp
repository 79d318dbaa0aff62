#include "apps/learn/progress.h"

#include <nlohmann/json.hpp>

#include "apps/translation/run/json.h"
#include "apps/translation/run/output_folder.h"
#include "core/file.h"
#include "core/format.h"

namespace heddle::learn {
namespace {

constexpr const char* file_name = "progress.json";
constexpr const char* mark = "heddle-learn";

nlohmann::json parsed(const std::filesystem::path& file) {
    nlohmann::json json = app::bounded_json(read_regular_file(file, 1 << 20));
    return json.is_object() && json.contains(mark) && json.contains("exercises") && json["exercises"].is_object()
               ? json
               : nlohmann::json();
}

}  // namespace

Progress::Progress(const std::filesystem::path& folder) : folder_(folder) {
    const std::filesystem::path file = folder / file_name;
    if (!std::filesystem::exists(file)) return;
    const nlohmann::json json = parsed(file);
    check(json.is_object(), "{}: this is not a progress file of heddle learn; choose another --folder, or move the file away",
          file.string());
    for (const auto& item : json["exercises"].items()) {
        const nlohmann::json& entry = item.value();
        if (!entry.is_object()) continue;
        ExerciseProgress& one = exercises_[item.key()];
        const auto number = [&](const char* key) {
            return entry.contains(key) && entry[key].is_number_integer() ? entry[key].get<int>() : 0;
        };
        const auto truth = [&](const char* key) {
            return entry.contains(key) && entry[key].is_boolean() && entry[key].get<bool>();
        };
        one = {.checks = number("checks"),
               .hints = number("hints"),
               .started = truth("started"),
               .passed = truth("passed"),
               .asked_for_solution = truth("asked_for_solution")};
    }
}

ExerciseProgress Progress::at(const std::string& exercise) const {
    const auto found = exercises_.find(exercise);
    return found == exercises_.end() ? ExerciseProgress() : found->second;
}

void Progress::save() const {
    nlohmann::ordered_json json = {{mark, 1}, {"exercises", nlohmann::ordered_json::object()}};
    for (const auto& [name, one] : exercises_)
        json["exercises"][name] = {{"started", one.started},
                                   {"checks", one.checks},
                                   {"hints", one.hints},
                                   {"passed", one.passed},
                                   {"asked_for_solution", one.asked_for_solution}};
    app::make_folder(folder_, "--folder");
    write_file_atomically(folder_ / file_name, app::json_text(json, 1) + "\n");
}

std::filesystem::path usual_folder() {
    const std::filesystem::path here = file_name;
    if (std::filesystem::is_regular_file(here) && parsed(here).is_object()) return ".";
    return "heddle-learn";
}

}  // namespace heddle::learn
