// What a check of host C++ adds to the grader's verdict: what can be read off the answer's text and its messages.
#pragma once

#include <string>

#include "apps/learn/grader/verdict.h"

namespace heddle::learn {

/// The answer without its comments; lines keep their numbers.
std::string without_comments(const std::string& answer);

/// A verdict on "the gradient of input 1, b" without a line gets the line of `answer` where backward gives that gradient; and a
/// crash in which the standard library found an index out of range (`messages`: what the program wrote to stderr) becomes the
/// verdict "bounds".
void complete(Verdict& verdict, const std::string& answer, const std::string& messages);

}  // namespace heddle::learn
