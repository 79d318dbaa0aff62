#include "apps/tasks/drawing.h"

namespace heddle::app {

TaskCorpus copy_task(std::uint64_t seed) {
    TaskCorpus task;
    task.name = "copy";
    task.description = "a sequence of 3 to 16 letters to itself";
    task.source_language = "in";
    task.target_language = "out";
    task.vocabulary = {.type = VocabularyType::word, .size = 0};
    Sequence numbers = task_numbers(task.name, seed);
    draw_splits(task, SplitSizes{}, [&] {
        const std::string text = spaced(random_symbols(numbers, 3, 16));
        return SentencePair{text, text};
    });
    return task;
}

}  // namespace heddle::app
