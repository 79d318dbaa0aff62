#include <unistd.h>

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "apps/translation/run/events.h"
#include "apps/translation/run/state.h"
#include "apps/translation/run/toml.h"
#include "apps/translation/training/history.h"
#include "core/digest.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace heddle::fuzz {
namespace {

bool same(const app::ReadScalar& a, const app::ReadScalar& b) {
    const bool same_value = std::bit_cast<std::uint32_t>(a.value) == std::bit_cast<std::uint32_t>(b.value) ||
                            (std::isnan(a.value) && std::isnan(b.value));  // on their way through a double NaNs become quiet
    return a.tag == b.tag && a.step == b.step && same_value &&
           std::bit_cast<std::uint64_t>(a.wall_time) == std::bit_cast<std::uint64_t>(b.wall_time);
}

void read_state(std::string_view text) {
    app::TrainingState state;
    if (!accepted([&] { state = app::TrainingState::parse(text, "state.json"); })) return;
    const std::string written = state.serialized();
    must(app::TrainingState::parse(written, "written").serialized() == written, "the same state");
}

// No mutation finds a digest: the object with the right one, written as the program does. The text itself when it is none.
std::string with_digest(std::string_view text) {
    auto object = nlohmann::ordered_json::parse(text, nullptr, false);
    if (!object.is_object()) return std::string(text);
    object.erase("digest");
    object["digest"] = digest(object.dump(1));
    return object.dump(1) + "\n";
}

std::vector<app::TomlItem> read_items(const std::string& text) {
    std::istringstream stream(text);
    return app::read_toml(stream, "input");
}

}  // namespace

// What was read can be written, and is read again as it was.
void events(std::string_view bytes) {
    const InputFile input(bytes);
    const std::vector<app::ReadScalar> scalars = app::read_scalars(input.path());
    if (scalars.empty()) return;
    const std::filesystem::path path = output_file("events");
    std::filesystem::remove(path);
    app::EventFile file(path);
    for (const app::ReadScalar& scalar : scalars) {
        const app::Scalar one{.tag = scalar.tag, .value = scalar.value};
        file.add(scalar.step, scalar.wall_time, std::span(&one, 1));
    }
    const std::vector<app::ReadScalar> again = app::read_scalars(path);
    must(again.size() == scalars.size(), "as many numbers");
    for (std::size_t i = 0; i < scalars.size(); ++i) must(same(again[i], scalars[i]), "the same number");
}

// Any line may be damaged: there is no log that cannot be read.
void log(std::string_view bytes) {
    const InputFile input(bytes);
    const app::TrainingHistory history = app::read_history(input.path());
    const auto lines = static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n')) + 1;
    must(history.intervals.size() + history.validations.size() + history.notes.size() <= lines, "no more entries than lines");
}

void state(std::string_view bytes) {
    read_state(bytes);
    read_state(with_digest(bytes));
}

// What was read can be written, and is read again as it was.
void toml(std::string_view bytes) {
    std::vector<app::TomlItem> items;
    if (!accepted([&] { items = read_items(std::string(bytes)); })) return;
    std::string text;
    for (const app::TomlItem& item : items) {
        text += app::toml_string(item.key) + " = [";
        for (const std::string& value : item.values) text += app::toml_string(value) + ", ";
        text += "]\n";
    }
    const std::vector<app::TomlItem> again = read_items(text);
    must(again.size() == items.size(), "as many items");
    for (std::size_t i = 0; i < items.size(); ++i)
        must(again[i].key == items[i].key && again[i].values == items[i].values, "the same key and values");
}

}  // namespace heddle::fuzz
