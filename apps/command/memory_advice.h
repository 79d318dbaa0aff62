// Which option to reduce when memory does not suffice: an allocation error has the size, the command adds the option.
#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>

#include "apps/translation/training/options.h"
#include "core/out_of_memory.h"
#include "nn/search/search.h"

namespace heddle::app {

/// When only a failed allocation is known.
inline constexpr const char* no_memory_left = "memory: the system has none left";
/// When no option would help.
inline constexpr const char* more_memory = "end other programs, or let this one have more";

/// How many times less is to be computed at once after this error, a power of two: twice, which halves what grows with it, or
/// more where already the allocation that failed is larger than all that was there.
std::int64_t times_less(const OutOfMemory& error);

/// What work() returns. Where the memory does not suffice, Error: what was wanted and how much there is, then advice(), or
/// advice(less), such as "lower --beam 8 to 4". `less`: times_less(), or 2 where the size is not known.
template <class Advice, class Work>
auto with_memory_advice(const Advice& advice, const Work& work) {
    const auto words = [&](std::string what, std::int64_t less) {
        if constexpr (std::is_invocable_v<Advice, std::int64_t>)
            return what + "; " + advice(less);
        else
            return what + "; " + advice();
    };
    try {
        return work();
    } catch (const OutOfMemory& error) {
        throw Error(words(error.what(), times_less(error)));
    } catch (const std::bad_alloc&) {
        throw Error(words(no_memory_left, 2));
    }
}

/// "lower --beam 8 to 4", or nothing where the option has its least value.
std::string lower_option(std::string_view name, std::int64_t value, std::int64_t less, std::int64_t least = 1);
/// For training with these batches; `resumed`: a resumed run, whose batches cannot change, or empty.
std::string batch_advice(const TrainingOptions& options, std::int64_t less, const std::string& resumed = "");
/// For reading text and learning a vocabulary from it, which hold all of it.
std::string text_advice();
/// For learning a vocabulary from a text that is not held otherwise.
std::string vocabulary_advice(const VocabularyRequest& request, std::int64_t less);
/// For a search, or for drawing samples.
std::string search_advice(const nn::DecodeOptions& options, std::int64_t less);

}  // namespace heddle::app
