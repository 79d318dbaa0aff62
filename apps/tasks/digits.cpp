#include "apps/tasks/drawing.h"

namespace heddle::app {

TaskCorpus digits_task(std::uint64_t seed) {
    TaskCorpus task;
    task.name = "digits";
    task.description = "a sequence of 10 digits to itself";
    task.source_language = "in";
    task.target_language = "out";
    task.vocabulary = {.type = VocabularyType::word, .size = 0};
    Sequence numbers = task_numbers(task.name, seed);
    draw_splits(task, SplitSizes{}, [&] {
        std::vector<std::string> digits(10);
        for (std::string& digit : digits) digit = static_cast<char>('0' + numbers.below(10));
        const std::string text = spaced(digits);
        return SentencePair{text, text};
    });
    return task;
}

}  // namespace heddle::app
