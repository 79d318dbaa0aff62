// What the tasks share: random draws, and the split into training, validation and test without common sentences.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/tasks/tasks.h"
#include "core/random.h"

namespace heddle::app {

/// How many pairs the splits get.
struct SplitSizes {
    std::int64_t training = 20000;
    std::int64_t validation = 500;
    std::int64_t test = 1000;
};

/// The task's own numbers for a seed.
Sequence task_numbers(std::string_view task, std::uint64_t seed);

/// Draws pairs until the splits are full: the test first, then validation, then training. A source that was drawn before is
/// drawn again, so no sentence is in two splits or twice in one. Pairs that stand in `task.training` already count and stay
/// first. Error when `draw` has not enough different sentences.
void draw_splits(TaskCorpus& task, const SplitSizes& sizes, const std::function<SentencePair()>& draw);

/// One of `choices`, each as likely as the others.
template <class Choices>
const auto& pick(Sequence& numbers, const Choices& choices) {
    return choices[numbers.below(std::size(choices))];
}

/// Whether an event of this probability happens.
bool happens(Sequence& numbers, double probability);

/// Between `shortest` and `longest` letters a..z.
std::vector<std::string> random_symbols(Sequence& numbers, std::uint64_t shortest, std::uint64_t longest);
/// Words with one space between them.
std::string spaced(const std::vector<std::string>& words);

}  // namespace heddle::app
