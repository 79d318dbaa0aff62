// The line-by-line model: what its notes say of positions, heads, the schedule and smoothed labels, measured with the table and
// the rates of the preset `annotated`; heads at half its width.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "apps/chapters/chapters.h"
#include "apps/chapters/codes.h"
#include "apps/lab/kit.h"
#include "apps/picture/chart.h"
#include "autograd/tape.h"
#include "nn/multi_head_attention.h"
#include "optim/schedule.h"

namespace heddle::chapters {
namespace {

Statement shifts_are_rotations() {
    const PositionCodes codes = position_codes(5000, 512);
    Statement statement{"The code of position pos + k is a rotation of the code of pos.", {}, true};
    for (const std::int64_t k : {1, 10, 100, 1000}) {
        const double error = codes.shift_error(k);
        statement.numbers.push_back({fmt::format("largest error in 5000 positions, k = {}", k), error});
        statement.holds = statement.holds && error < 1e-12;
    }
    std::vector<picture::Series> waves;
    for (const std::int64_t column : {4, 5, 6, 7}) {
        const PositionCodes narrow = position_codes(100, 20);
        waves.push_back({.name = fmt::format("column {}", column), .x = {}, .y = {}});
        for (std::int64_t row = 0; row < narrow.rows; ++row) {
            waves.back().x.push_back(static_cast<double>(row));
            waves.back().y.push_back(narrow.values[static_cast<std::size_t>(row * narrow.cols + column)]);
        }
    }
    statement.figures.push_back(
        {svg(picture::LineChart{
             .title = "four columns of 20", .x = {.label = "position"}, .y = {.label = "value"}, .series = waves}),
         "A sine and a cosine of one frequency are a point on a circle; the next pair turns more slowly."});
    return statement;
}

// Mult-adds of self-attention over `tokens` in one sentence: four projections, scores and the sum of values.
double multiply_adds(std::int64_t tokens, std::int64_t d_model, std::int64_t heads, std::int64_t width) {
    const double projections = 4.0 * static_cast<double>(tokens * d_model * heads * width);
    return projections + 2.0 * static_cast<double>(heads * tokens * tokens * width);
}

double median_seconds(const nn::SelfAttention& attention, const Variable& x, const Spans& spans) {
    std::vector<double> seconds;
    const NoGrad none;
    for (int i = 0; i < 15; ++i) {
        const auto start = std::chrono::steady_clock::now();
        attention.forward(x, spans);
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return lab::median(seconds);
}

// Section 3.2.2 of the paper. The times are this machine's, now: the counts alone are the same for every run.
Statement heads_cost_nothing(const Options& options) {
    constexpr std::int64_t tokens = 256, d_model = 256;
    const Variable x(lab::normal({tokens, d_model}, 1, lab::key({options.seed}, "tokens of heads")));
    const Spans spans = lab::equal_spans(1, tokens);
    nn::Module root(options.seed);
    const nn::SelfAttention eight(root, "eight", {.d_model = d_model, .heads = 8});
    const nn::SelfAttention one(root, "one", {.d_model = d_model, .heads = 1});
    root.eval();
    const double count = multiply_adds(tokens, d_model, 8, 32), count_of_one = multiply_adds(tokens, d_model, 1, 256);
    const double time = median_seconds(eight, x, spans) / median_seconds(one, x, spans);
    return {"Several narrow heads cost about what one head of the full width costs.",
            {{"mult-adds, 8 heads of 32", count},
             {"mult-adds, 1 head of 256", count_of_one},
             {"parameters, 8 heads", static_cast<double>(eight.parameter_count())},
             {"parameters, 1 head", static_cast<double>(one.parameter_count())},
             {"time of 8 heads, of 1 head's (this run)", time}},
            count == count_of_one && eight.parameter_count() == one.parameter_count() && time < 2};
}

Statement schedules_differ() {
    struct Curve {
        std::int64_t d_model, warmup;
    };
    Statement statement{"A wider model and a longer warm-up have a lower peak.", {}, true};
    picture::LineChart chart{.title = "learning rate", .x = {.label = "step"}, .y = {.label = "rate"}, .series = {}};
    double before = std::numeric_limits<double>::infinity();
    for (const Curve& one : {Curve{256, 4000}, Curve{512, 4000}, Curve{512, 8000}}) {
        const optim::Schedule schedule{.kind = optim::ScheduleKind::noam, .lr = 1, .warmup = one.warmup, .d_model = one.d_model};
        picture::Series curve{.name = fmt::format("d {}, warm-up {}", one.d_model, one.warmup), .x = {}, .y = {}};
        for (std::int64_t step = 0; step < 20000; step += 50) {
            curve.x.push_back(static_cast<double>(step));
            curve.y.push_back(schedule.rate(step));
        }
        const double peak = schedule.rate(one.warmup - 1);
        statement.numbers.push_back({"peak, " + curve.name, peak});
        statement.holds =
            statement.holds && peak < before && peak > schedule.rate(one.warmup) && peak > schedule.rate(one.warmup - 2);
        before = peak;
        chart.series.push_back(std::move(curve));
    }
    statement.figures.push_back({svg(chart), "The schedule of the paper for three models."});
    return statement;
}

// The loss of one target among `words`, which the model gives probability p and every other word the same share of the rest.
double smoothed_loss(double p, std::int64_t words, double smoothing) {
    Tensor logits = Tensor::full({1, words}, std::log((1 - p) / static_cast<double>(words - 1)), DType::f64);
    logits.data<double>()[0] = std::log(p);
    return ops::cross_entropy(Variable(logits), Tensor::zeros({1}, DType::i32), {.label_smoothing = smoothing}).value().item();
}

Statement certainty_is_punished() {
    constexpr std::int64_t words = 5;
    constexpr double smoothing = 0.1;
    picture::Series smoothed{.name = "smoothing 0.1", .x = {}, .y = {}}, plain{.name = "no smoothing", .x = {}, .y = {}};
    double best = 0, least = std::numeric_limits<double>::infinity();
    for (int i = 200; i < 1000; ++i) {
        const double p = i / 1000.0;
        smoothed.x.push_back(p), plain.x.push_back(p);
        smoothed.y.push_back(smoothed_loss(p, words, smoothing));
        plain.y.push_back(smoothed_loss(p, words, 0));
        if (smoothed.y.back() < least) best = p, least = smoothed.y.back();
    }
    const double wanted = 1 - smoothing + smoothing / words;  // the target's share of the smoothed label
    return {"With smoothed labels a model that is too sure of its choice is punished.",
            {{"probability with the least loss", best},
             {"the target's share of its smoothed label", wanted},
             {"loss there", least},
             {"loss at .999", smoothed.y.back()}},
            std::abs(best - wanted) < 1e-9 && smoothed.y.back() > least,
            {},
            {{svg(picture::LineChart{.title = "loss of a target among 5 words",
                                     .x = {.label = "probability of the target"},
                                     .y = {.label = "loss", .from = 0},
                                     .series = {smoothed, plain}}),
              "With smoothed labels the loss rises again when the model becomes too sure."}}};
}

}  // namespace

Report annotated(const Options& options) {
    Report report;
    report.statements.push_back(shifts_are_rotations());
    report.statements.push_back(heads_cost_nothing(options));
    report.statements.push_back(schedules_differ());
    report.statements.push_back(certainty_is_punished());
    return report;
}

}  // namespace heddle::chapters
