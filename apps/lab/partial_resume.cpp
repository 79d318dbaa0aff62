// A run that resumes from only a part of its state.
//
//     wrong    the weights alone; or without the position in the epoch; or with the optimizer state of another epoch
//     right    weights, moments, number of updates, epoch and batch: bit for bit the run that never stopped
//
// The number of updates belongs to the optimizer's state: Adam's bias correction and the schedule depend on it.
#include <algorithm>
#include <string>

#include "apps/lab/kit.h"
#include "apps/lab/toy_translation.h"
#include "apps/picture/chart.h"
#include "apps/translation/batching/batch_stream.h"
#include "nn/flat.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"

namespace heddle::lab::partial_resume {
namespace {

constexpr std::int32_t symbols = 12;
constexpr std::size_t pair_count = 600;
constexpr std::int64_t saved_epoch = 30;  // in its middle
constexpr std::int64_t older_epoch = 2;   // at its beginning
constexpr std::int64_t updates_behind = 60, judged_every = 3;
constexpr std::size_t judged = 200;  // pairs

// The complete state of a run.
struct State {
    Tensor weights;
    std::vector<Tensor> moments;
    std::int64_t updates = 0;
    std::int64_t epoch = 0;
    std::int64_t batch = 0;  // the next one in this epoch
};

// The task is to reverse a sentence.
std::vector<app::TokenPair> make_pairs(const Options& options) {
    Sequence numbers(key(options, "pairs"));
    std::vector<app::TokenPair> pairs(pair_count);
    for (app::TokenPair& pair : pairs) {
        for (std::uint64_t left = 3 + numbers.below(5); left > 0; --left)
            pair.source.push_back(first_word + static_cast<std::int32_t>(numbers.below(symbols)));
        pair.target.assign(pair.source.rbegin(), pair.source.rend());
    }
    return pairs;
}

class Run {
  public:
    Run(const std::vector<app::TokenPair>& pairs, const Options& options)
        : pairs_(pairs),
          seed_(options.seed),
          model_(with_dropout(), key(options, "model")),
          parameters_(nn::flatten(model_)),
          optimizer_(parameters_.values, parameters_.gradients) {
        start_at(0, 0);
    }

    State state() const {
        State state{parameters_.values.clone(), {}, optimizer_.updates(), epoch_, batch_};
        for (const auto& [name, moment] : optimizer_.state()) state.moments.push_back(moment.clone());
        return state;
    }

    void load_weights(const State& state) { parameters_.values.copy_(state.weights); }
    void load_optimizer(const State& state) {
        const auto moments = optimizer_.state();
        for (std::size_t i = 0; i < moments.size(); ++i) Tensor(moments[i].second).copy_(state.moments[i]);
        optimizer_.set_updates(state.updates);
    }
    void start_at(std::int64_t epoch, std::int64_t batch) {
        epoch_ = epoch;
        batch_ = batch;
        plan_ = app::plan_batches(pairs_, {.batch_tokens = 240}, seed_, static_cast<std::uint64_t>(epoch)).batches;
    }

    std::int64_t epoch() const { return epoch_; }
    std::int64_t batch() const { return batch_; }
    std::int64_t batches() const { return static_cast<std::int64_t>(plan_.size()); }
    // The pairs of the next batch.
    const std::vector<std::int64_t>& next() const { return plan_[static_cast<std::size_t>(batch_)]; }

    // Returns the loss.
    double update() {
        generator().start(static_cast<std::uint64_t>(optimizer_.updates()), 0);
        const Variable loss = translation_loss(model_, app::make_batch(pairs_, next()));
        optimizer_.zero_gradients();
        backward(loss);
        const optim::Schedule schedule{.lr = 1e-2, .warmup = 40};
        optimizer_.step({.lr = schedule.rate(optimizer_.updates()), .clip = 1});
        if (++batch_ == batches()) start_at(epoch_ + 1, 0);
        return loss.value().item();
    }
    // The loss over the first pairs, without dropout: the losses of batches differ more than the runs do.
    double judge() {
        const NoGrad off;
        model_.eval();
        const double loss = translation_loss(model_, std::span(pairs_).first(judged)).value().item();
        model_.train();
        return loss;
    }

  private:
    // Dropout masks depend on the number of updates, so they continue correctly only if that is restored.
    static nn::TransformerOptions with_dropout() {
        nn::TransformerOptions options = small_transformer(first_word + symbols);
        options.dropout = 0.05;
        return options;
    }

    const std::vector<app::TokenPair>& pairs_;
    std::uint64_t seed_;
    nn::Transformer model_;
    nn::FlatParameters parameters_;
    optim::Optimizer optimizer_;
    std::int64_t epoch_ = 0;
    std::int64_t batch_ = 0;
    std::vector<std::vector<std::int64_t>> plan_;  // of the epoch
};

// The progress of a run after the save, and how often each pair occurred in the epoch of the save.
struct Course {
    std::vector<double> losses;  // of each batch
    std::vector<double> judged;  // before the first update, then every `judged_every` updates
    std::vector<int> seen;
    Tensor weights = {};
};

void go_on(Run& run, Course& course) {
    course.judged.push_back(run.judge());
    for (std::int64_t i = 1; i <= updates_behind; ++i) {
        if (run.epoch() == saved_epoch)
            for (const std::int64_t pair : run.next()) ++course.seen[static_cast<std::size_t>(pair)];
        course.losses.push_back(run.update());
        if (i % judged_every == 0) course.judged.push_back(run.judge());
    }
    course.weights = run.state().weights;
}

const std::vector<std::string> names = {"everything", "no optimizer", "no place", "older optimizer"};

picture::Figure losses(const Course& never_stopped, const std::vector<Course>& resumed) {
    picture::LineChart chart{.title = "loss over 200 pairs after the save",
                             .x = {.label = "updates since the save"},
                             .y = {.label = "nats per token"}};
    const auto draw = [&](const std::string& name, const Course& course, bool dots) {
        picture::Series series{.name = name, .y = course.judged, .dots = dots};
        for (std::size_t i = 0; i < course.judged.size(); ++i) series.x.push_back(static_cast<double>(i) * judged_every);
        chart.series.push_back(series);
    };
    for (std::size_t variant = 0; variant < names.size(); ++variant) draw(names[variant], resumed[variant], false);
    draw("never stopped", never_stopped, true);
    return {svg(mistakes_first(chart, names.size())),
            "Without dropout. The run that never stopped coincides with the one that resumed with everything."};
}

Result measure(const Options& options) {
    const std::vector<app::TokenPair> pairs = make_pairs(options);
    Run run(pairs, options);
    State older;
    std::vector<int> seen(pair_count);
    while (run.epoch() < saved_epoch || run.batch() < run.batches() / 2) {
        if (run.epoch() == saved_epoch)
            for (const std::int64_t pair : run.next()) ++seen[static_cast<std::size_t>(pair)];
        run.update();
        if (run.epoch() == older_epoch && run.batch() == 0) older = run.state();
    }
    const State saved = run.state();
    Course never_stopped{{}, {}, seen};
    go_on(run, never_stopped);

    Finding difference{"largest change of the loss"}, weights{"largest change of a weight"};
    Finding loss{"mean loss over 200 pairs in the next 60 updates"}, twice{"pairs that the epoch shows twice, %"};
    std::vector<Course> resumed;
    for (std::size_t variant = 0; variant < names.size(); ++variant) {
        Run again(pairs, options);
        again.load_weights(saved);
        if (variant != 1) again.load_optimizer(variant == 3 ? older : saved);
        again.start_at(saved.epoch, variant == 2 ? 0 : saved.batch);
        Course& course = resumed.emplace_back(Course{{}, {}, seen});
        go_on(again, course);
        difference.values.push_back(largest_difference(course.losses, never_stopped.losses));
        weights.values.push_back(largest_difference(course.weights, never_stopped.weights));
        loss.values.push_back(mean_of_last(course.judged, course.judged.size()));
        twice.values.push_back(100.0 * static_cast<double>(std::ranges::count(course.seen, 2)) / pair_count);
    }
    return {.variants = names, .findings = {difference, weights, loss, twice}, .figures = {losses(never_stopped, resumed)}};
}

}  // namespace

Experiment experiment() {
    return {
        .name = "partial-resume",
        .group = "Norm, dropout and training",
        .title = "a run resumed without its optimizer state or position in the epoch, or with an older optimizer state",
        .caught_by = "Resume.GivesTheBitsOfTheRunThatNeverStoppedFromEverySave",
        .why =
            "Adam's moments set the size of each weight's step, and the number of updates sets the bias correction, the "
            "scheduled rate and here the dropout masks: without them, or with those of another epoch, the next steps have the "
            "wrong size, and part of what was learned is lost. Without its position in the epoch a run sees about half of the "
            "pairs twice, which its loss does not show. After restoring the whole state, the run continues with the same bits as "
            "if it had never stopped, and a test can check that.",
        .wrong = R"(
parameters.values.copy_(saved.weights);
// new moments, update 0, the epoch from its first batch
optim::Optimizer optimizer(parameters.values,
                           parameters.gradients);
batch = 0;
)",
        .right = R"(
parameters.values.copy_(saved.weights);
for (const auto& [name, moment] : optimizer.state())
    Tensor(moment).copy_(saved.moments.at(name));
optimizer.set_updates(saved.updates);
batch = saved.batch;
)",
        .run = measure};
}

}  // namespace heddle::lab::partial_resume
