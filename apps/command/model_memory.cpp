#include "apps/command/model_memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "apps/command/run.h"
#include "core/format.h"

namespace heddle::app {
namespace {

// A lower bound for the modules, names and small tensors of a layer: one of encoder and decoder together took 121 kB.
constexpr double bytes_of_a_layer = 20'000;

struct Size {
    ModelOptions model;
    std::int64_t source_vocabulary, target_vocabulary;

    nn::TransformerOptions options() const { return transformer_options(model, source_vocabulary, target_vocabulary).complete(); }
    double bytes(double per_parameter) const {
        const nn::TransformerOptions all = options();
        const double layers = static_cast<double>(all.encoder_layers) + static_cast<double>(all.decoder_layers);
        return all.matrix_elements() * per_parameter + layers * bytes_of_a_layer;
    }
};

// An option that is larger than usual, and the size with its usual value.
struct Large {
    std::string text;
    Size without;
};

std::vector<Large> large_options(const Size& size) {
    const ModelOptions usual;
    std::vector<Large> found;
    const auto add = [&](const char* name, std::int64_t value, std::int64_t usual_value,
                         const std::function<void(Size&)>& lower) {
        if (value <= usual_value) return;
        Large& large = found.emplace_back(Large{fmt::format("--{} {} (default {})", name, value, usual_value), size});
        lower(large.without);
    };
    const ModelOptions& model = size.model;
    const std::int64_t encoder = model.encoder_layers.value_or(model.layers),
                       decoder = model.decoder_layers.value_or(model.layers);
    if (encoder == model.layers && decoder == model.layers) {
        add("layers", model.layers, usual.layers,
            [&](Size& to) { to.model.encoder_layers = to.model.decoder_layers = usual.layers; });
    } else {
        add("encoder-layers", encoder, usual.layers, [&](Size& to) { to.model.encoder_layers = usual.layers; });
        add("decoder-layers", decoder, usual.layers, [&](Size& to) { to.model.decoder_layers = usual.layers; });
    }
    const bool own_head_dim = model.head_dim && *model.head_dim * model.heads != model.d_model;  // not derived from --d-model
    add("d-model", model.d_model, usual.d_model, [&](Size& to) {
        to.model.d_model = usual.d_model;
        if (own_head_dim) return;
        to.model.heads = usual.heads;
        to.model.head_dim = to.model.key_heads = {};
    });
    add("d-ff", model.d_ff, usual.d_ff, [&](Size& to) { to.model.d_ff = usual.d_ff; });
    if (own_head_dim)
        add("head-dim", *model.head_dim, usual.d_model / usual.heads,
            [&](Size& to) { to.model.head_dim = usual.d_model / usual.heads; });
    add("vocab-size", std::max(size.source_vocabulary, size.target_vocabulary), default_subwords, [](Size& to) {
        to.source_vocabulary = std::min(to.source_vocabulary, default_subwords);
        to.target_vocabulary = std::min(to.target_vocabulary, default_subwords);
    });
    return found;
}

// The options that are enough alone, or all that are large.
std::string advice(const Size& size, double per_parameter, double memory) {
    std::vector<std::string> enough, all;
    for (const Large& large : large_options(size)) {
        all.push_back(large.text);
        if (large.without.bytes(per_parameter) <= memory) enough.push_back(large.text);
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

void check_model_fits(const ModelOptions& model, std::int64_t source_vocabulary, std::int64_t target_vocabulary,
                      double bytes_per_parameter) {
    const Size size{model, source_vocabulary, target_vocabulary};
    const double memory = machine_memory(), wanted = size.bytes(bytes_per_parameter);
    if (wanted <= memory) return;
    fail_with("a model of {:.3g} parameters takes {:.3g} GB of memory or more{}, and this machine has {:.3g} GB; {}",
              size.options().matrix_elements(), wanted / 1e9,
              bytes_per_parameter > sizeof(float) ? " to train, with gradients and moments" : "", memory / 1e9,
              advice(size, bytes_per_parameter, memory));
}

}  // namespace heddle::app
