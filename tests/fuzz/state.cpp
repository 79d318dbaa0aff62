#include <nlohmann/json.hpp>

#include "apps/translation/run/state.h"
#include "core/digest.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace heddle::fuzz {
namespace {

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

}  // namespace

void state(std::string_view bytes) {
    read_state(bytes);
    read_state(with_digest(bytes));
}

}  // namespace heddle::fuzz
