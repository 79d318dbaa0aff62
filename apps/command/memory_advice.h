// Out of memory: checks, before a model is built, that it fits into this machine; and advice for the errors, which have the
// size, while the command names the option to reduce.
#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>

#include "apps/translation/training/options.h"
#include "core/device.h"
#include "core/error.h"
#include "nn/search/search.h"

namespace heddle::app {

/// The message when it is only known that an allocation failed.
inline constexpr const char* no_memory_left = "memory: the system has none left";
/// The advice when no option would help.
inline constexpr const char* more_memory = "end other programs, or let this one have more";

/// By what factor to reduce the work after this error, a power of two: 2, which halves everything that grows with it, or more if
/// the failed allocation alone exceeds the memory.
std::int64_t times_less(const OutOfMemory& error);

/// Returns work(). If memory does not suffice, Error: how much was wanted and how much there is, then advice(), or advice(less)
/// such as "lower --beam 8 to 4", where `less` is times_less(), or 2 if the size is unknown.
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

/// "lower --beam 8 to 4", or empty if the option already has its least value.
std::string lower_option(std::string_view name, std::int64_t value, std::int64_t less, std::int64_t least = 1);
/// Advice for training with these batches. `resumed`: the resumed run, whose batches cannot change, or empty.
std::string batch_advice(const TrainingOptions& options, std::int64_t less, const std::string& resumed = "");
/// Advice for commands that read a text into memory and learn a vocabulary from it.
std::string text_advice();
/// Advice for learning a vocabulary from a text that is not held in memory otherwise.
std::string vocabulary_advice(const VocabularyRequest& request, std::int64_t less);
/// For a search, or for drawing samples.
std::string search_advice(const nn::DecodeOptions& options, std::int64_t less);

/// Bytes that this process may use: the machine's memory, or less under a limit (ulimit -v).
double machine_memory();

/// Bytes per parameter when one process trains: the weight, its gradient and the optimizer's moments; on a device, only the
/// weight's copy on the host.
double training_bytes(const TrainingOptions& options, Device device);

/// Error when a model of these options needs more than machine_memory(): how much. The need is a lower bound: the matrices, at so
/// many bytes for each element, and what each layer takes beside them.
void check_model_fits(const nn::TransformerOptions& model, double bytes_per_parameter = sizeof(float));

}  // namespace heddle::app
