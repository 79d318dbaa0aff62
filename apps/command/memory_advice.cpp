#include "apps/command/memory_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <functional>
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

// An option that is larger than usual, and the model with its usual value.
struct Large {
    std::string text;
    nn::TransformerOptions without;
};

std::vector<Large> large_options(const nn::TransformerOptions& model) {
    using Model = nn::TransformerOptions;
    const Model& usual = default_model;
    std::vector<Large> found;
    const auto add = [&](const char* name, std::int64_t value, std::int64_t usual_value,
                         const std::function<void(Model&)>& lower) {
        if (value <= usual_value) return;
        Large& large = found.emplace_back(Large{fmt::format("--{} {} (default {})", name, value, usual_value), model});
        lower(large.without);
    };
    const std::int64_t encoder = model.encoder_layers.value_or(model.layers),
                       decoder = model.decoder_layers.value_or(model.layers);
    if (encoder == model.layers && decoder == model.layers) {
        add("layers", model.layers, usual.layers, [&](Model& to) { to.encoder_layers = to.decoder_layers = usual.layers; });
    } else {
        add("encoder-layers", encoder, usual.layers, [&](Model& to) { to.encoder_layers = usual.layers; });
        add("decoder-layers", decoder, usual.layers, [&](Model& to) { to.decoder_layers = usual.layers; });
    }
    const bool own_head_dim = model.head_dim && *model.head_dim * model.heads != model.d_model;  // not derived from --d-model
    add("d-model", model.d_model, usual.d_model, [&](Model& to) {
        to.d_model = usual.d_model;
        if (own_head_dim) return;
        to.heads = usual.heads;
        to.head_dim = to.key_heads = {};
    });
    add("d-ff", model.d_ff, usual.d_ff, [&](Model& to) { to.d_ff = usual.d_ff; });
    if (own_head_dim)
        add("head-dim", *model.head_dim, usual.d_model / usual.heads,
            [&](Model& to) { to.head_dim = usual.d_model / usual.heads; });
    add("vocab-size", std::max(model.source_vocabulary, model.target_vocabulary), default_subwords, [](Model& to) {
        to.source_vocabulary = std::min(to.source_vocabulary, default_subwords);
        to.target_vocabulary = std::min(to.target_vocabulary, default_subwords);
    });
    return found;
}

// The options that are enough alone, or all that are large.
std::string advice(const nn::TransformerOptions& model, double per_parameter, double memory) {
    std::vector<std::string> enough, all;
    for (const Large& large : large_options(model)) {
        all.push_back(large.text);
        if (bytes_of_model(large.without, per_parameter) <= memory) enough.push_back(large.text);
    }
    if (!enough.empty()) return "lower " + fmt::format("{}", fmt::join(enough, " or "));
    if (!all.empty()) return "lower " + fmt::format("{}", fmt::join(all, " and "));
    return "lower --layers, --d-model or --vocab-size";
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
    fail_with("a model of {:.3g} parameters takes {:.3g} GB of memory or more{}, and this machine has {:.3g} GB; {}",
              model.complete().matrix_elements(), wanted / 1e9,
              bytes_per_parameter > sizeof(float) ? " to train, with gradients and moments" : "", memory / 1e9,
              advice(model, bytes_per_parameter, memory));
}

}  // namespace heddle::app
