// Divides a text with two columns into training, validation and test.
#pragma once

#include <cstdint>

#include "apps/translation/text/corpus.h"

namespace heddle::app {

struct DividedCorpus {
    Corpus train, val, test;
    std::int64_t left_out = 0;  ///< pairs, because one of their sentences is in val or test, or is empty
};

/// Divides the lines "target, tab, source"; further columns are ignored. The part depends only on the words of the source,
/// ignoring case and punctuation: one pair in a hundred goes to test, one to val. So all translations of a sentence stay
/// together, and a text that grows later keeps its test sentences. No sentence of val or test, on either side, is in train, and
/// none of test is in val: pairs that would violate this are left out. Error with file name and line number if a line has no tab
/// or is not UTF-8.
DividedCorpus divide_corpus(LineReader& lines);

}  // namespace heddle::app
