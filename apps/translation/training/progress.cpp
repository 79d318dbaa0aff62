#include "apps/translation/training/progress.h"

#include <algorithm>
#include <cmath>

namespace heddle::app {

IntervalReport with_means(IntervalReport report, const Interval& interval) {
    const auto all = static_cast<double>(std::max<std::int64_t>(1, interval.targets));
    report.loss = interval.loss / all;
    report.accuracy = static_cast<double>(interval.correct) / all;
    report.tokens_per_second = interval.seconds > 0 ? static_cast<double>(interval.tokens) / interval.seconds : 0;
    return report;
}

void Progress::add_to_both(const Interval& part) {
    for (Interval* sums : {&state_.interval, &state_.event_interval}) {
        sums->loss += part.loss;
        sums->correct += part.correct;
        sums->targets += part.targets;
        sums->tokens += part.tokens;
        sums->seconds += part.seconds;
    }
}

// Called when the losses of all updates are in the sums.
void Progress::know(double gradient_norm) {
    known_ = with_means(known_, state_.interval);
    known_.gradient_norm = gradient_norm;
}

void Progress::add(const UpdateReport& report, double loading, double seconds) {
    add_to_both({.loss = report.read ? report.loss : 0,
                 .correct = report.read ? report.correct : 0,
                 .targets = report.targets,
                 .tokens = report.tokens,
                 .seconds = seconds});
    times_.loading += loading;
    times_.steps += seconds;
    ++times_.updates;
    learning_rate_ = report.learning_rate;
    if (report.read) know(report.gradient_norm);
}

void Progress::add(const LossReading& reading, double seconds) {
    add_to_both({.loss = reading.loss, .correct = reading.correct, .seconds = seconds});
    times_.steps += seconds;
    know(reading.gradient_norm);
}

bool Progress::has_loss() const { return !std::isnan(known_.loss); }

IntervalReport Progress::since_line() const {
    IntervalReport report = known_;
    report.epoch = state_.epoch;
    report.update = state_.updates;
    report.sentences = state_.sentences;
    report.batch = state_.batches;
    report.batches = state_.epoch_batches;
    const auto updates = static_cast<double>(std::max<std::int64_t>(1, times_.updates));
    report.loading = times_.loading / updates;
    report.step = std::max(0.0, times_.steps - times_.loading) / updates;
    report.learning_rate = learning_rate_;
    return report;
}

IntervalReport Progress::since_events() const { return with_means(since_line(), state_.event_interval); }

void Progress::begin_line() {
    state_.interval = {};
    times_ = {};
}

void Progress::begin_events() { state_.event_interval = {}; }

}  // namespace heddle::app
