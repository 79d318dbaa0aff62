// Numeric derivatives along a line, with error bounds.
//
// A central difference has the error c2 h^2 + c4 h^4 + ... + noise / h. From falling steps h_0, h_1, ... the tableau
//
//     T[i][0] = (f(x + h_i) - f(x - h_i)) / (2 h_i)
//     T[i][j] = T[i][j-1] + (T[i][j-1] - T[i-1][j-1]) / ((h_(i-j) / h_i)^2 - 1)
//
// removes the term h^(2j) in column j. The error of an entry is estimated by its distance from the two entries it was made of
// (Ridders 1982, Advances in Engineering Software 4). A smaller step helps until noise / h is larger than what it removes.
#include <algorithm>
#include <cmath>
#include <utility>

#include "autograd/gradcheck_impl.h"
#include "core/error.h"

namespace heddle::proof {
namespace {

constexpr double kSafety = 50;  // factor for the estimated error
// Factor for noise / step: 0.7 for a central difference, 1.7 for extrapolation, 5 deviations, and a margin.
constexpr double kNoiseSafety = 16;
constexpr std::size_t kColumns = 6;

// Ridders' tableau for several values at once.
class Tableau {
  public:
    Tableau(const Values& center, const Values& noise)
        : center_(center),
          noise_(noise),
          count_(center.size()),
          bend_(count_, 0),
          bend_before_(count_, 0),
          bend_first_(count_, 0) {
        slope_.derivative.assign(count_, std::numeric_limits<double>::quiet_NaN());
        slope_.bound.assign(count_, std::numeric_limits<double>::infinity());
        slope_.jump.assign(count_, 0);
        slope_.bend.assign(count_, 0);
        hidden_.assign(count_, 0);
        moves_.assign(count_, {});
    }

    // Takes the values at x + width / 2 and x - width / 2. Returns whether a smaller step could still be better.
    bool add(double width, const Values& above, const Values& below) {
        const double step = width / 2;
        steps_.insert(steps_.begin(), step);
        std::swap(row_, before_);
        row_.assign(std::min(before_.size() + 1, kColumns), Values(count_));
        std::swap(bend_first_, bend_before_);
        std::swap(bend_before_, bend_);
        bool better = false;
        for (std::size_t o = 0; o < count_; ++o) {
            const double size = std::max({std::abs(above[o]), std::abs(below[o]), std::abs(center_[o])});
            const double least = size > 0 ? std::numeric_limits<double>::denorm_min() : 0;
            const double noise = std::max({noise_[o], kEpsilon / 2 * size, least});
            bend_[o] = above[o] + below[o] - 2 * center_[o];
            extrapolate(o, (above[o] - below[o]) / width);
            look_for_steps(o, std::abs(above[o] - below[o]), above[o] == center_[o] && below[o] == center_[o], noise);
            if (steps_.size() > 1 && std::abs(bend_[o]) <= 0.7 * std::abs(bend_before_[o]) + kNoiseSafety * noise)
                choose(o, kNoiseSafety * noise / step);
            slope_.jump[o] = steps_.size() < 3 ? 0 : jump(o, noise);
            better = better ||
                     !(slope_.bound[o] <= std::max(14 * kNoiseSafety * noise / step, 1e-12 * std::abs(slope_.derivative[o])));
        }
        slope_.smallest_step = step;
        return better || steps_.size() < 3;
    }

    // After a step without values, the next one is treated as the first.
    void restart() {
        row_.clear();
        steps_.clear();
    }

    Slope take() { return std::move(slope_); }
    // For each value that did not change at a step that should have changed it, the noise that would explain this; otherwise 0.
    const Values& hidden() const { return hidden_; }

  private:
    // How much a value has changed at the steps so far.
    struct Moves {
        int count = 0;
        double first = 0, last = 0;
    };

    // A value that changed in proportion to the step and suddenly does not change has coarse steps of its own: it was rounded.
    // This differs from a value that is flat up to a kink, whose last changes shrink towards the kink, and from one with a jump,
    // whose changes are all alike.
    void look_for_steps(std::size_t o, double moved, bool still, double noise) {
        Moves& moves = moves_[o];
        if (moved > 0) moves = {moves.count + 1, moves.count == 0 ? moved : moves.first, moved};
        if (!still) return;
        const Moves until_now = std::exchange(moves, {});
        const double last = std::abs(bend_before_[o]), before = std::abs(bend_first_[o]);
        const bool kink = last > kNoiseSafety * noise && last <= 0.7 * before, jump = until_now.first < 3 * until_now.last;
        if (until_now.count >= 3 && !kink && !jump)
            hidden_[o] = std::max(hidden_[o], 0.3 * until_now.last);  // standard deviation of an error of up to half a step
    }

    void extrapolate(std::size_t o, double difference) {
        row_[0][o] = difference;
        for (std::size_t j = 1; j < row_.size(); ++j) {
            const double ratio = steps_[j] / steps_[0];
            row_[j][o] = row_[j - 1][o] + (row_[j - 1][o] - before_[j - 1][o]) / (ratio * ratio - 1);
        }
    }

    void choose(std::size_t o, double rounding) {
        for (std::size_t j = 1; j < row_.size(); ++j) {
            const double error = std::max(std::abs(row_[j][o] - row_[j - 1][o]), std::abs(row_[j][o] - before_[j - 1][o]));
            const double bound = kSafety * error + rounding;
            if (!(bound < slope_.bound[o])) continue;
            slope_.bound[o] = bound;
            slope_.derivative[o] = row_[j][o];
            slope_.bend[o] = std::abs(bend_[o]) / (steps_[0] * steps_[0]);
        }
    }

    // The second difference divided by the step is the gap between the one-sided derivatives: it shrinks with the step if the
    // function is smooth, and stays if there is a kink.
    double jump(std::size_t o, double noise) const {
        const double last = std::abs(bend_[o]) / steps_[0], middle = std::abs(bend_before_[o]) / steps_[1],
                     first = std::abs(bend_first_[o]) / steps_[2];
        const bool stays = std::abs(last - middle) <= 0.1 * last && std::abs(middle - first) <= 0.1 * last;
        return stays && last > 4 * kNoiseSafety * noise / steps_[0] ? last : 0;
    }

    const Values &center_, &noise_;
    std::size_t count_;
    Values steps_;                            // the latest first
    std::vector<Values> row_, before_;        // [column][value], for the last two steps
    Values bend_, bend_before_, bend_first_;  // second differences at the last three steps
    Values hidden_;
    std::vector<Moves> moves_;
    Slope slope_;
};

bool all_finite(const Values& values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

// Returns whether one of `noise` was far too low and was raised.
bool raise(Values& noise, const Values& least) {
    bool raised = false;
    for (std::size_t o = 0; o < noise.size(); ++o) {
        if (2 * noise[o] >= least[o]) continue;
        noise[o] = least[o];
        raised = true;
    }
    return raised;
}

}  // namespace

Slope differentiate(const Line& line, const Values& center, Values& noise, double first, int rows) {
    Tableau tableau(center, noise);
    Values above, below;
    for (int i = 0; i < rows; ++i) {
        double width = 0;
        try {
            // Not exactly half the previous step: a wave whose period divides all steps would look flat.
            width = line(std::ldexp(first, -i) * (1 - 0.15 * std::fmod(0.618 * i, 1)), above, below);
        } catch (const OutOfMemory&) {
            throw;
        } catch (const std::exception&) {
            above.clear();  // outside of the domain; a smaller step may be inside
        }
        if (above.size() != center.size() || below.size() != center.size() || !all_finite(above) || !all_finite(below))
            tableau.restart();
        else if (!(width > 0) || !tableau.add(width, above, below))  // width 0: the step is lost in the argument's rounding
            break;
    }
    return raise(noise, tableau.hidden()) ? differentiate(line, center, noise, first, rows) : tableau.take();
}

// The sixth difference of independent errors with deviation s has the variance s^2 sum of binomial(6, k)^2 = 924 s^2; that of a
// smooth function at such distances is far below rounding. If a value is unchanged at half of the points, it has steps wider
// than their distance, and the points are too close (Moré and Wild's rule). Two distances are used, because points in phase with
// the rounding hardly show it.
Values measured_noise(const std::function<Values(double)>& sample, std::span<const double> distances) {
    constexpr int points = 12, order = 6;
    Values noise;
    std::vector<int> moved;  // number of distances at which each value changed
    for (const double distance : distances) {
        std::vector<Values> table;
        for (int k = 0; k < points; ++k) table.push_back(sample(distance * (k - points / 2)));
        noise.resize(table[0].size(), 0);
        moved.resize(table[0].size(), 0);
        for (std::size_t o = 0; o < noise.size(); ++o) {
            if (moved[o] == 2) continue;
            double column[points];
            for (int k = 0; k < points; ++k) column[k] = table[static_cast<std::size_t>(k)][o];
            int still = 0;
            for (int k = 0; k + 1 < points; ++k) still += column[k] == column[k + 1] ? 1 : 0;
            for (int j = 1; j <= order; ++j)
                for (int k = 0; k + j < points; ++k) column[k] = column[k + 1] - column[k];
            double sum = 0;
            for (int k = 0; k + order < points; ++k) sum += column[k] * column[k] / (924.0 * (points - order));
            if (std::isfinite(sum)) noise[o] = std::max(noise[o], std::sqrt(sum));
            if (still < points / 2 && sum > 0) ++moved[o];
        }
        if (std::all_of(moved.begin(), moved.end(), [](int times) { return times == 2; })) break;
    }
    return noise;
}

}  // namespace heddle::proof
