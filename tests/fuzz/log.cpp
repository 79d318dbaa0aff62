#include "apps/translation/run/history.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace heddle::fuzz {

// Any line may be damaged: there is no log that cannot be read.
void log(std::string_view bytes) {
    const InputFile input(bytes);
    const app::TrainingHistory history = app::read_history(input.path());
    const auto lines = static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n')) + 1;
    must(history.intervals.size() + history.validations.size() + history.notes.size() <= lines, "no more entries than lines");
}

}  // namespace heddle::fuzz
