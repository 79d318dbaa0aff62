// From gradients to new parameters.
//
// An optimizer works on two flat arrays, all parameters and all gradients of a model, and keeps its own flat arrays beside them.
// The formulas stand in kernels/adam/adam.h.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/enum_words.h"
#include "core/error.h"
#include "core/spans.h"
#include "core/tensor.h"
#include "kernels/adam/adam.h"

namespace heddle::optim {

enum class Method : std::uint8_t { sgd, adam, adamw };
constexpr auto enum_words(Method) {
    return words_for<Method>({{Method::adam, "adam"}, {Method::adamw, "adamw"}, {Method::sgd, "sgd"}});
}

/// "sgd", "adam", "adamw". Error that lists them for any other name.
Method method(std::string_view name);

struct OptimizerOptions {
    Method method = Method::adam;
    double momentum = 0.9;    ///< sgd
    double beta1 = 0.9;       ///< adam, adamw: the paper's values (Vaswani et al. 2017, section 5.3)
    double beta2 = 0.98;      ///< adam, adamw
    double eps = 1e-9;        ///< adam, adamw
    double weight_decay = 0;  ///< L2 for sgd and adam, decoupled for adamw
};

/// The gradient's norm is NaN or infinite.
class NotFinite : public Error {
  public:
    using Error::Error;
    /// With the norm in its message, and how many updates were made before.
    static NotFinite of_gradient(double norm, std::int64_t updates);
};

/// A learning rate. It has no default, because an update without one would not train: StepOptions{.clip = 1} does not
/// compile.
class Rate {
  public:
    Rate(double value) : value_(value) {}  // NOLINT: a number is a rate
    operator double() const { return value_; }

  private:
    double value_;
};

/// Options of one update.
struct StepOptions {
    Rate lr;
    double clip = 0;            ///< the greatest norm of the gradient; 0: no clipping
    double gradient_scale = 1;  ///< the gradients are multiplied by this first: one over the number of accumulated batches
};

class Optimizer {
  public:
    /// parameters, gradients [n] of one dtype, f32 or f64. The state starts at zero. All elements are active. Error when the
    /// shapes or dtypes differ.
    Optimizer(Tensor parameters, Tensor gradients, const OptimizerOptions& options = {});

    /// From now on only the elements of these ascending ranges are updated. The others are frozen: neither gradient nor weight
    /// decay changes them, and the norm excludes them. Error when a range leaves the parameters or overlaps the one before.
    void set_active(std::vector<Span> ranges);
    /// From now on each update also writes what it changed, rounded, to `copy`, bf16 [n] beside the parameters: the weights that
    /// a model computes with.
    void round_to(Tensor copy);

    /// One update, in place. Returns the norm of the gradient, scaled but not yet clipped. NotFinite when the norm is not
    /// finite; nothing was changed then.
    double step(const StepOptions& with, Where where = Where::current());
    /// The same update in two halves, for a host that does not wait for the device. The first: the norm that step() returns and
    /// the factor that the gradients are to be multiplied by, f64 [2], where the parameters lie.
    Tensor measure(const StepOptions& with) const;
    /// The second: one update with the measured norm and factor, in place. If the norm is not finite when the kernel runs, it
    /// skips the update but still increments updates(). With `numbers`, f64 [3] on the parameters' device, it reads the rate and
    /// the other values that differ between updates from there: numbers() of the step. So a captured call can be replayed for a
    /// later update; call count_replay() for each replay.
    void step_measured(const StepOptions& with, const Tensor& measured, const Tensor& numbers = {},
                       Where where = Where::current());
    std::array<double, 3> numbers(const StepOptions& with) const;
    void count_replay(Where where = Where::current());
    /// Sets all gradients to zero.
    void zero_gradients(Where where = Where::current());

    /// Updates made so far; Adam's bias correction counts them.
    std::int64_t updates() const { return updates_; }
    /// For a run that is resumed.
    void set_updates(std::int64_t updates);
    /// The state's arrays by name ("momentum", or "first_moment" and "second_moment"), sharing their storage: a save reads them,
    /// a resumed run copies into them.
    std::vector<std::pair<std::string, Tensor>> state() const;
    const OptimizerOptions& options() const { return options_; }

  private:
    void apply(double lr, double factor, const kernels::UpdateInMemory& memory, Where where);
    kernels::AdamStep adam_step(double lr, double factor) const;
    kernels::SgdStep sgd_step(double lr, double factor) const;

    Tensor parameters_;
    Tensor gradients_;
    Tensor first_;   // momentum, or Adam's m
    Tensor second_;  // Adam's v
    Tensor bf16_copy_;
    Spans active_;
    OptimizerOptions options_;
    std::int64_t updates_ = 0;
};

}  // namespace heddle::optim
