#include "apps/command/memory_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <vector>

#include "apps/terminal/terminal.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::app {
namespace {

// Options that make batches `less` times smaller, with updates of the same size.
std::string smaller_batches(const TrainingOptions& options, std::int64_t less) {
    std::string words;
    const auto add = [&](const char* name, std::int64_t value) {
        if (value > 0) words += fmt::format("--{} {} ", name, std::max<std::int64_t>(1, value / less));
    };
    add("batch-tokens", options.batch_tokens);
    add("batch-sentences", options.batch_sentences);
    const std::string share = less == 2 ? "half" : fmt::format("1/{} of", less);
    if (words.empty()) return fmt::format("--batch-tokens {}", TrainingOptions().batch_tokens);
    return fmt::format("{}--accumulate {}: updates of the same size, and {} the memory for a batch", words,
                       options.accumulate * less, share);
}

}  // namespace

std::int64_t times_less(const OutOfMemory& error) {
    constexpr std::int64_t most = 1024;
    const std::int64_t there = std::max<std::int64_t>(error.in_use(), 1);
    if (error.in_use() == 0 || error.wanted() < there) return 2;
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::min(error.wanted() / there + 1, most))));
}

std::string lower_option(std::string_view name, std::int64_t value, std::int64_t less, std::int64_t least) {
    const std::int64_t to = std::max(least, value / less);
    return to < value ? fmt::format("lower --{} {} to {}", name, value, to) : "";
}

std::string batch_advice(const TrainingOptions& options, std::int64_t less, const std::string& resumed) {
    const std::string smaller = smaller_batches(options, less);
    if (!resumed.empty())
        return fmt::format("a resumed run keeps its batches and its model: start another one with --init {} {}",
                           shell_word(resumed), smaller);
    std::vector<std::string> limits;
    const auto add = [&](const char* name, std::int64_t value) {
        if (value > 0) limits.push_back(fmt::format("--{} {}", name, value));
    };
    add("batch-tokens", options.batch_tokens);
    add("batch-sentences", options.batch_sentences);
    add("max-length", options.max_length);
    const std::string lower = limits.empty() ? "" : fmt::format("lower {}, or ", fmt::join(limits, " or "));
    return fmt::format("{}take a smaller model; try {}", lower, smaller);
}

std::string text_advice() {
    return "the text is held in memory: lower --prepare-above, so that its tokens are written to files, or let this program have "
           "more memory";
}

std::string vocabulary_advice(const VocabularyRequest& request, std::int64_t less) {
    const std::int64_t lines = request.max_lines;
    const std::string fewer = lines > 0 ? lower_option("vocab-lines", lines, less) : "give --vocab-lines 1000000";
    return fewer + (fewer.empty() ? "" : ", or ") + "give a --vocab-model";
}

std::string search_advice(const nn::DecodeOptions& options, std::int64_t less) {
    std::string lower = options.sampling ? lower_option("n-best", options.n_best, less)
                                         : lower_option("beam", options.beam, less, options.n_best);
    const auto or_else = [&](const std::string& other) {
        if (!other.empty()) lower += (lower.empty() ? "" : ", or ") + other;
    };
    if (options.max_length) or_else(lower_option("max-output-length", *options.max_length, less));
    or_else("split the longest lines");
    return lower;
}

namespace {

// A lower bound for a layer's modules, names and small tensors; an encoder and a decoder layer together took 121 kB.
constexpr double bytes_of_a_layer = 20'000;

double bytes_of_model(const nn::TransformerOptions& model, double per_parameter) {
    const nn::TransformerOptions all = model.complete();
    const double layers = static_cast<double>(*all.encoder_layers) + static_cast<double>(*all.decoder_layers);
    return all.matrix_elements() * per_parameter + layers * bytes_of_a_layer;
}

}  // namespace

double machine_memory() {
    const double machine = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return machine;
    return std::min(machine, static_cast<double>(limit.rlim_cur));
}

double training_bytes(const TrainingOptions& options, Device device) {
    if (device != Device::cpu) return sizeof(float);
    const bool two_moments = options.optimizer != optim::Method::sgd;
    return sizeof(float) * (two_moments ? 4 : 2);
}

void check_model_fits(const nn::TransformerOptions& model, double bytes_per_parameter) {
    const double memory = machine_memory(), wanted = bytes_of_model(model, bytes_per_parameter);
    if (wanted <= memory) return;
    fail_with(
        "a model of {:.3g} parameters takes {:.3g} GB of memory or more{}, and this machine has {:.3g} GB; lower --layers, "
        "--d-model, --d-ff or --vocab-size",
        model.complete().matrix_elements(), wanted / 1e9,
        bytes_per_parameter > sizeof(float) ? " to train, with gradients and moments" : "", memory / 1e9);
}

}  // namespace heddle::app
