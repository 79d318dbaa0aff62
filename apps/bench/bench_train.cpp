#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "apps/bench/bench.h"
#include "apps/command/memory_advice.h"
#include "apps/command/option_rows.h"
#include "apps/command/run.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/run/clock.h"
#include "apps/translation/run/json.h"
#include "apps/translation/training/data.h"
#include "apps/translation/training/learner.h"
#include "apps/translation/training/plan.h"
#include "core/parallel.h"
#include "core/version.h"

namespace heddle::app {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchTrainOptions {
    DataOptions data;
    nn::TransformerOptions model = default_model;
    VocabularyRequest vocabulary;
    TrainingOptions training;
    MachineOptions machine;
    std::int64_t updates = 60;
    std::int64_t skip = 15;
    bool json = false;
};

OptionTable bench_train_table(BenchTrainOptions& options) {
    OptionTable table("bench train", "trains for some updates and reports the speed");
    table.usage = "usage: heddle bench train --train PREFIX --source de --target en [options] --updates 60 --skip 15 --json\n";
    table.group(OptionGroup::measurement);
    table.add("updates", options.updates, "updates in all").at_least(1);
    table.add("skip", options.skip, "warm-up updates before the clock of tokens_per_second starts").at_least(0);
    table.add("json", options.json, "print one JSON object instead of a table");
    table.group(OptionGroup::data);
    table.add("train", options.data.train, "sentence pairs: PREFIX.SOURCE and PREFIX.TARGET").called("PREFIX");
    table.add("source", options.data.source, "file ending of the source language").called("de");
    table.add("target", options.data.target, "file ending of the target language").called("en");
    add_reading_options(table, options.data);
    add_model_options(table, options.model);
    add_vocabulary_options(table, options.vocabulary);
    add_learning_options(table, options.training);
    add_machine_options(table, options.machine);
    add_dtype_option(table, options.machine);
    return table;
}

struct Speed {
    double tokens_per_second = 0;  ///< source and target, end of sentence counted, after the skipped updates
    double seconds = 0;            ///< of all updates
};

// Like the peer's script, measures tokens per second only after the first `skip` updates.
Speed run_updates(Learner& learner, const std::vector<TokenPair>& pairs, const BenchTrainOptions& options) {
    const auto start = Clock::now();
    auto timed_from = start;
    std::int64_t tokens = 0;
    BatchStream stream(pairs, batch_limits(options.training), options.training.seed);
    learner.pack_ahead(stream);
    for (std::uint64_t epoch = 1; learner.updates() < options.updates; ++epoch) {
        stream.seek(epoch);
        const std::int64_t size = options.training.accumulate;
        for (std::int64_t at = 0; at < stream.batches() && learner.updates() < options.updates; at += size) {
            std::vector<PairBatch> batches;
            for (std::int64_t i = at; i < std::min(at + size, stream.batches()); ++i) batches.push_back(stream.next());
            const UpdateReport report = learner.update(batches);
            if (learner.updates() > options.skip) tokens += report.tokens;
            if (learner.updates() == options.skip) {
                learner.read();  // waits for the device
                timed_from = Clock::now();
            }
        }
    }
    learner.read();
    const double timed = seconds_since(timed_from);
    return {.tokens_per_second = timed > 0 ? static_cast<double>(tokens) / timed : 0, .seconds = seconds_since(start)};
}

std::int64_t peak_memory_mb() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
#if defined(__APPLE__)
    constexpr std::int64_t kMegabyte = 1 << 20;  // ru_maxrss is in bytes on macOS, in kilobytes elsewhere
#else
    constexpr std::int64_t kMegabyte = 1 << 10;
#endif
    return (usage.ru_maxrss + kMegabyte / 2) / kMegabyte;
}

void measure_and_print(BenchTrainOptions& options) {
    TrainingText text = read_training_text(options.data, [](std::string_view) {});
    Vocabularies vocabularies = make_vocabularies(options.vocabulary, text.training, say);
    const TrainingData data = encode_training_data(std::move(text), std::move(vocabularies));
    const nn::TransformerOptions shape =
        options.model.with_vocabularies(data.vocabularies.source->size(), data.vocabularies.target->size());
    check_model_fits(shape, training_bytes(options.training, options.machine.device));
    nn::Transformer model(shape, options.training.seed);
    model.to(options.machine.device);
    Learner learner(model, options.training, 0, options.machine.dtype);
    const Speed speed = run_updates(learner, data.training, options);

    const nlohmann::ordered_json result = {{"peer", fmt::format("heddle {}", version)},
                                           {"mode", description(options.machine)},
                                           {"device", word_of(options.machine.device)},
                                           {"dtype", word_of(options.machine.dtype)},
                                           {"threads", threads()},
                                           {"parameters", model.parameter_count()},
                                           {"updates", learner.updates()},
                                           {"replayed_steps", learner.graph_counts().replayed},
                                           {"tokens_per_second", std::llround(speed.tokens_per_second)},
                                           {"seconds", std::round(10 * speed.seconds) / 10},
                                           {"peak_memory_mb", peak_memory_mb()}};
    if (options.json)
        print(json_text(result) + "\n");
    else
        for (const auto& [key, value] : result.items()) print(fmt::format("{:<20}{}\n", key, json_text(value)));
}

}  // namespace

int bench_train(Arguments arguments) {
    BenchTrainOptions options;
    OptionTable table = bench_train_table(options);
    if (!parse_command_line(table, arguments)) return 0;
    check_usage(options.skip < options.updates,
                fmt::format("--skip {} leaves nothing of --updates {} to measure; skip fewer", options.skip, options.updates));
    check_usage(options.training.schedule != optim::ScheduleKind::cosine,
                "--schedule cosine is not for bench train; leave it out");
    check_usage(!options.model.decoder_only,
                "--decoder-only makes a language model, which learns no pairs; bench train measures a translator, leave it out");
    take_given(table, options.vocabulary);
    resolve(options.model, options.vocabulary);
    apply(options.machine);
    with_memory_advice([&](std::int64_t less) { return batch_advice(options.training, less); },
                       [&] { measure_and_print(options); });
    return 0;
}

}  // namespace heddle::app
