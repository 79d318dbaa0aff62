#include <algorithm>

#include "apps/tasks/drawing.h"

namespace heddle::app {

TaskCorpus reverse_task(std::uint64_t seed) {
    TaskCorpus task;
    task.name = "reverse";
    task.description = "a sequence of 3 to 16 letters to its reverse";
    task.source_language = "in";
    task.target_language = "out";
    task.vocabulary = {.type = VocabularyType::word, .size = 0};
    Sequence numbers = task_numbers(task.name, seed);
    draw_splits(task, SplitSizes{}, [&] {
        std::vector<std::string> symbols = random_symbols(numbers, 3, 16);
        const std::string forwards = spaced(symbols);
        std::reverse(symbols.begin(), symbols.end());
        return SentencePair{forwards, spaced(symbols)};
    });
    return task;
}

}  // namespace heddle::app
