#include "apps/tasks/drawing.h"

#include <unordered_set>

#include "core/format.h"

namespace heddle::app {

Sequence task_numbers(std::string_view task, std::uint64_t seed) {
    const Counter bits = philox4x32(
        seed, {static_cast<std::uint32_t>(stable_hash(task)), static_cast<std::uint32_t>(stable_hash(task) >> 32), 0, 0});
    return Sequence(bits[0] | std::uint64_t{bits[1]} << 32);
}

void draw_splits(TaskCorpus& task, const SplitSizes& sizes, const std::function<SentencePair()>& draw) {
    std::unordered_set<std::string> seen;
    for (const SentencePair& pair : task.training.pairs) seen.insert(pair.source);
    const auto fill = [&](Corpus& corpus, std::int64_t size) {
        constexpr int most_repeats = 10000;  // in a row: the task has run out of sentences
        for (int repeats = 0; corpus.size() < size;) {
            SentencePair pair = draw();
            if (!seen.insert(pair.source).second) {
                check(++repeats < most_repeats, "task {}: only {} different sentences; wanted {}", task.name, seen.size(),
                      sizes.training + sizes.validation + sizes.test);
                continue;
            }
            repeats = 0;
            corpus.pairs.push_back(std::move(pair));
        }
    };
    fill(task.test, sizes.test);
    fill(task.validation, sizes.validation);
    fill(task.training, sizes.training);
}

bool happens(Sequence& numbers, double probability) { return numbers.uniform() < probability; }

std::vector<std::string> random_symbols(Sequence& numbers, std::uint64_t shortest, std::uint64_t longest) {
    std::vector<std::string> symbols(shortest + numbers.below(longest - shortest + 1));
    for (std::string& symbol : symbols) symbol = static_cast<char>('a' + numbers.below(26));
    return symbols;
}

std::string spaced(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text.append(text.empty() ? "" : " ").append(word);
    return text;
}

}  // namespace heddle::app
