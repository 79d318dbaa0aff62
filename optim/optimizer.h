// Updates parameters with their gradients.
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

/// The method with this name: "sgd", "adam", "adamw". Error, listing these, for any other name.
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
    /// The message has the norm and the number of updates before.
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

/// Error when the rate is negative or not finite.
void check_rate(double lr);

/// Options of one update.
struct StepOptions {
    Rate lr;
    double clip = 0;            ///< maximum norm of the gradient; 0: no clipping
    double gradient_scale = 1;  ///< factor for the gradients: one over the number of accumulated batches
};

class Optimizer {
  public:
    /// parameters, gradients [n] of one dtype, f32 or f64. The state starts at zero. All elements are active. Error when the
    /// shapes or dtypes differ, when momentum or a beta lies outside [0, 1), or eps or the weight decay is negative or not
    /// finite.
    Optimizer(Tensor parameters, Tensor gradients, const OptimizerOptions& options = {});

    /// Restricts updates to the elements of these ascending ranges. The others are frozen: neither gradient nor weight decay
    /// changes them, and the norm excludes them. Error if a range exceeds the parameters or overlaps the one before.
    void set_active(std::vector<Span> ranges);
    /// Makes each update also write the changed elements, rounded, to `copy`, bf16 [n] on the parameters' device: the weights
    /// that a model computes with.
    void round_to(Tensor copy);

    /// One update, in place. Returns the norm of the gradient, scaled but not yet clipped. NotFinite if the norm is not finite;
    /// nothing is changed then. Error, here and below, when the rate is negative or not finite.
    double step(const StepOptions& with, Where where = Where::current());
    /// First half of an update without waiting for the device: the norm that step() returns and the factor for the gradients,
    /// f64 [2], on the parameters' device.
    Tensor measure(const StepOptions& with) const;
    /// Second half: an update in place with the measured norm and factor. If the norm is not finite when the kernel runs, it
    /// skips the update but still increments updates(). With `numbers`, f64 [3] on the parameters' device (see numbers()), it
    /// reads the rate and the other values that change between updates from there, so that a captured call can be replayed for a
    /// later update; call count_replay() for each replay.
    void step_measured(const StepOptions& with, const Tensor& measured, const Tensor& numbers = {},
                       Where where = Where::current());
    std::array<double, 3> numbers(const StepOptions& with) const;
    void count_replay(Where where = Where::current());
    /// Sets all gradients to zero.
    void zero_gradients(Where where = Where::current());

    /// Number of updates so far, which Adam's bias correction uses.
    std::int64_t updates() const { return updates_; }
    /// Sets the number of updates, for a resumed run.
    void set_updates(std::int64_t updates);
    /// The state's arrays by name ("momentum", or "first_moment" and "second_moment"). They share storage: a save reads them, a
    /// resumed run copies into them.
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
