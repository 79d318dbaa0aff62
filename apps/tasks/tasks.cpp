#include "apps/tasks/tasks.h"

#include <fmt/ranges.h>

#include "core/format.h"

namespace heddle::app {

const std::vector<std::string>& task_names() {
    static const std::vector<std::string> names{"numbers", "dates", "copy", "digits", "reverse"};
    return names;
}

TaskCorpus generate_task(std::string_view name, std::uint64_t seed) {
    if (name == "numbers") return numbers_task(seed);
    if (name == "dates") return dates_task(seed);
    if (name == "copy") return copy_task(seed);
    if (name == "digits") return digits_task(seed);
    if (name == "reverse") return reverse_task(seed);
    fail_with("there is no task '{}'; wanted one of {}", name, fmt::join(task_names(), ", "));
}

}  // namespace heddle::app
