// Shared by the tasks: random draws, and the split into training, validation and test without common sentences.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/tasks/tasks.h"
#include "core/random.h"

namespace heddle::app {

/// The number of pairs in each split.
struct SplitSizes {
    std::int64_t training = 20000;
    std::int64_t validation = 500;
    std::int64_t test = 1000;
};

/// The task's random numbers for a seed.
Sequence task_numbers(std::string_view task, std::uint64_t seed);

/// Draws pairs until the splits are full: the test first, then validation, then training. Sources that were drawn before are
/// rejected, so no sentence occurs in two splits or twice in one. Pairs already in `task.training` count and stay first. Error if
/// `draw` does not yield enough different sentences.
void draw_splits(TaskCorpus& task, const SplitSizes& sizes, const std::function<SentencePair()>& draw);

/// One of `choices`, uniformly.
template <class Choices>
const auto& pick(Sequence& numbers, const Choices& choices) {
    return choices[numbers.below(std::size(choices))];
}

/// True with this probability.
bool happens(Sequence& numbers, double probability);

/// `shortest` to `longest` random letters a..z.
std::vector<std::string> random_symbols(Sequence& numbers, std::uint64_t shortest, std::uint64_t longest);
/// The words, separated by single spaces.
std::string spaced(const std::vector<std::string>& words);

}  // namespace heddle::app
