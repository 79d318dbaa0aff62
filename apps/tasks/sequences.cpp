// The tasks on sequences of symbols: copy, digits and reverse.
#include <algorithm>
#include <functional>

#include "apps/tasks/drawing.h"

namespace heddle::app {
namespace {

TaskCorpus sequence_task(const std::string& name, const std::string& description, std::uint64_t seed,
                         const std::function<SentencePair(Sequence&)>& draw) {
    TaskCorpus task;
    task.name = name;
    task.description = description;
    task.source_language = "in";
    task.target_language = "out";
    task.vocabulary = {.type = VocabularyType::word, .size = 0};
    Sequence numbers = task_numbers(task.name, seed);
    draw_splits(task, SplitSizes{}, [&] { return draw(numbers); });
    return task;
}

}  // namespace

TaskCorpus copy_task(std::uint64_t seed) {
    return sequence_task("copy", "a sequence of 3 to 16 letters to itself", seed, [](Sequence& numbers) {
        const std::string text = spaced(random_symbols(numbers, 3, 16));
        return SentencePair{text, text};
    });
}

TaskCorpus digits_task(std::uint64_t seed) {
    return sequence_task("digits", "a sequence of 10 digits to itself", seed, [](Sequence& numbers) {
        std::vector<std::string> digits(10);
        for (std::string& digit : digits) digit = static_cast<char>('0' + numbers.below(10));
        const std::string text = spaced(digits);
        return SentencePair{text, text};
    });
}

TaskCorpus reverse_task(std::uint64_t seed) {
    return sequence_task("reverse", "a sequence of 3 to 16 letters to its reverse", seed, [](Sequence& numbers) {
        std::vector<std::string> symbols = random_symbols(numbers, 3, 16);
        const std::string forwards = spaced(symbols);
        std::reverse(symbols.begin(), symbols.end());
        return SentencePair{forwards, spaced(symbols)};
    });
}

}  // namespace heddle::app
