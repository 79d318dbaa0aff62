#include "apps/command/memory_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "apps/terminal/terminal.h"

namespace heddle::app {

std::string batch_advice(const TrainingOptions& options, const std::string& resumed) {
    std::vector<std::string> limits;
    const auto add = [&](const char* name, std::int64_t value) {
        if (value > 0) limits.push_back(fmt::format("--{} {}", name, value));
    };
    add("batch-tokens", options.batch_tokens);
    add("batch-sentences", options.batch_sentences);
    add("max-length", options.max_length);
    const std::string lower =
        fmt::format("lower {} (--accumulate makes up for small batches), or take a smaller model", fmt::join(limits, " or "));
    return resumed.empty() ? lower
                           : fmt::format("a resumed run keeps its batches and its model: start another one with --init {} and {}",
                                         shell_word(resumed), lower.substr(0, lower.find(", or take")));
}

std::string text_advice() {
    return "the text is held as a whole: give a shorter one or a prepared one (heddle prepare), or let this program have more";
}

std::string search_advice(const DecodeOptions& options) {
    const std::string split = "split the longest lines";
    if (options.sampling) return options.n_best > 1 ? fmt::format("lower --n-best {}, or {}", options.n_best, split) : split;
    return options.beam > 1 ? fmt::format("lower --beam {}, or {}", options.beam, split) : split;
}

}  // namespace heddle::app
