// The tasks on sequences of symbols: copy, digits and reverse.
#include <algorithm>

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
