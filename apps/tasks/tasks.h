// The toy languages: small translation tasks generated from a seed, so that a Transformer can be trained without any files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/translation/text/corpus.h"
#include "apps/translation/vocabulary/vocabulary.h"

namespace heddle::app {

/// A generated task. No source sentence of `validation` or `test` is in `training`, and none of `test` in `validation`.
struct TaskCorpus {
    std::string name;
    std::string description;      ///< one line
    std::string source_language;  ///< file extensions of the pairs, such as "en" and "de"
    std::string target_language;
    Corpus training;
    Corpus validation;
    Corpus test;
    VocabularyOptions vocabulary;   ///< the vocabulary that suits the task best
    bool shared_vocabulary = true;  ///< one vocabulary for both sides
};

/// The names that generate_task takes: numbers, dates, copy, digits, reverse.
const std::vector<std::string>& task_names();
/// A pure function of its arguments. Error, listing the names, if there is no such task.
TaskCorpus generate_task(std::string_view name, std::uint64_t seed);

TaskCorpus numbers_task(std::uint64_t seed);  ///< English number words to German ones, 0-999,999
TaskCorpus dates_task(std::uint64_t seed);    ///< many ways of writing a date to ISO 8601
TaskCorpus copy_task(std::uint64_t seed);     ///< a sequence of symbols to itself
TaskCorpus digits_task(std::uint64_t seed);   ///< ten digits to themselves
TaskCorpus reverse_task(std::uint64_t seed);  ///< a sequence of symbols to its reverse

/// 347201 -> "three hundred forty-seven thousand two hundred one". Error outside 0..999,999.
std::string english_number(std::int64_t number);
/// 347201 -> "dreihundertsiebenundvierzigtausendzweihunderteins". Error outside 0..999,999.
std::string german_number(std::int64_t number);

}  // namespace heddle::app
