// Which option to reduce when memory does not suffice: an allocation error has the size, the command adds the option.
#pragma once

#include <new>
#include <string>

#include "apps/translation/search/hypothesis.h"
#include "apps/translation/training/options.h"
#include "core/out_of_memory.h"

namespace heddle::app {

/// When only a failed allocation is known.
inline constexpr const char* no_memory_left = "memory: the system has none left";
/// When no option would help.
inline constexpr const char* more_memory = "end other programs, or let this one have more";

/// What work() returns. Where the memory does not suffice, Error: what was wanted and how much there is, then advice(), such as
/// "lower --batch-tokens 1500".
template <class Advice, class Work>
auto with_memory_advice(const Advice& advice, const Work& work) {
    try {
        return work();
    } catch (const OutOfMemory& error) {
        throw Error(std::string(error.what()) + "; " + advice());
    } catch (const std::bad_alloc&) {
        throw Error(std::string(no_memory_left) + "; " + advice());
    }
}

/// For training with these batches; `resumed`: a resumed run, whose batches cannot change, or empty.
std::string batch_advice(const TrainingOptions& options, const std::string& resumed = "");
/// For reading text and learning a vocabulary from it, which hold all of it.
std::string text_advice();
/// For a search, or for drawing samples.
std::string search_advice(const DecodeOptions& options);

}  // namespace heddle::app
