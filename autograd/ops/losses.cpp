// Losses made of other ops. Each formula stays exact for arguments of any size.
#include <limits>

#include "autograd/operators.h"
#include "autograd/ops.h"
#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "kernels/cast/cast.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/gather/gather.h"

namespace heddle::inline ops {
namespace {

void check_alike(const char* op, const char* name, const Variable& x, const Variable& target) {
    check(x.shape() == target.shape(), "{}: {} has shape {}, but the target {}; wanted one shape", op, name, x.shape(),
          target.shape());
    check(x.dtype() == target.dtype(), "{}: {} is {}, but the target {}; wanted one dtype", op, name, x.dtype(), target.dtype());
}

Variable reduced(const char* op, const Variable& losses, Reduction reduction, Where where) {
    switch (reduction) {
        case Reduction::none: return losses;
        case Reduction::mean: return mean(losses, {}, false, where);
        case Reduction::sum: return sum(losses, {}, false, where);
        case Reduction::batch_mean: break;
    }
    check(losses.shape().rank() >= 1 && losses.dim(0) > 0, "{}: x has shape {}, there is no batch to divide by", op,
          losses.shape());
    return scale(sum(losses, {}, false, where), 1 / static_cast<double>(losses.dim(0)), where);
}

// Times the options' weight, and reduced.
Variable weighted(const char* op, const Variable& losses, const BinaryLossOptions& options, Where where) {
    if (!options.weight.defined()) return reduced(op, losses, options.reduction, where);
    check_dtype(op, "weight", options.weight, losses.dtype());
    check(kernels::broadcast_shape(op, options.weight.shape(), losses.shape()) == losses.shape(),
          "{}: the weight has shape {}, which does not broadcast to x {}", op, options.weight.shape(), losses.shape());
    return reduced(op, mul(losses, options.weight, where), options.reduction, where);
}

// 1 - x
Variable rest_of_one(const Variable& x, Where where) { return sub(Tensor::full({}, 1, x.dtype(), x.device()), x, where); }

// A mask as numbers of the other side's dtype.
Variable as_numbers(const Variable& targets, const Variable& beside) {
    return targets.dtype() == DType::u8 ? Variable(kernels::cast(targets.value(), beside.dtype())) : targets;
}

// The targets' part times the weight of positive targets.
Variable positive_part(const char* op, const Variable& targets, const BinaryLossOptions& options, Where where) {
    if (!options.positive_weight.defined()) return targets;
    const Tensor& weight = options.positive_weight;
    check_dtype(op, "positive_weight", weight, targets.dtype());
    check(kernels::broadcast_shape(op, weight.shape(), targets.shape()) == targets.shape(),
          "{}: the weight of positive targets has shape {}, which does not broadcast to x {}", op, weight.shape(),
          targets.shape());
    return mul(targets, weight, where);
}

// log x, but -100 where it is smaller: there x is replaced before the logarithm, whose slope at 0 is infinite.
Variable bounded_log(const Variable& x, Where where) {
    constexpr double kLeast = -100;
    const Tensor small = log(x.detach(), where) < kLeast;
    return ops::where(small, kLeast, log(ops::where(small, 1.0, x, where), where), where);
}

// On CUDA, composed of other ops. The row of an ignored target gives its first number, which does not count.
Variable nll_on_device(const Variable& log_probabilities, const Tensor& targets, const LossOptions& options, Where where) {
    const Tensor& x = log_probabilities.value();
    const Device device = x.device();
    // The count stays on the device.
    const Tensor divisor = kernels::loss_divisor_cuda(targets, x.cols(), options).slice(0, 1).reshape(Shape());
    check(x.numel() <= std::numeric_limits<std::int32_t>::max(),
          "nll_loss: log_probabilities {} have more places than i32 numbers; cross_entropy has no such bound", x.shape());
    const Tensor counted = targets != options.ignore;
    const Tensor places = Tensor::arange(x.rows(), DType::i32, device) * static_cast<double>(x.cols()) + targets * counted;
    const Variable found = gather(reshape(log_probabilities, {x.numel()}, where), places, where);
    const Variable total = sum(ops::where(counted, found, 0.0, where), {}, false, where);
    return neg(div(total, kernels::cast(divisor, x.dtype()), where), where);
}

// On the CPU in one pass over the targets, and one for the gradient.
Variable nll_on_cpu(const Variable& log_probabilities, const Tensor& targets, const LossOptions& options, Where where) {
    const Tensor& x = log_probabilities.value();
    const double divisor =
        kernels::loss_divisor(options, kernels::count_targets("nll_loss", targets, x.rows(), x.cols(), options));
    // body(i) for each place of x that a target names.
    const auto each = [ignore = options.ignore, cols = x.cols()](const Tensor& at, const auto& body) {
        const std::int32_t* const target = at.data<std::int32_t>();
        for (std::int64_t row = 0; row < at.numel(); ++row)
            if (target[row] != ignore) body(row * cols + target[row]);
    };
    Tensor loss = Tensor::empty({}, x.dtype());
    dispatch_real("nll_loss", x, [&]<class T>(TypeTag<T>) {
        Accumulator<T> total = 0;
        each(targets, [&total, from = x.data<T>()](std::int64_t i) { total += Accumulator<T>(from[i]); });
        *loss.mutable_data<T>() = static_cast<T>(-total / divisor);
    });
    return record(loss, {.op = "nll_loss",
                         .where = where,
                         .inputs = {log_probabilities},
                         .saved = {targets},
                         .backward = [each, divisor](Gradients& g) {
                             const Tensor dy = g.output();
                             Tensor dx = g.accumulate_into(0);
                             dispatch_real("nll_loss", dx, [&]<class T>(TypeTag<T>) {
                                 const auto share = static_cast<T>(-Accumulator<T>(*dy.data<T>()) / divisor);
                                 each(g.saved(0), [share, to = dx.mutable_data<T>()](std::int64_t i) { to[i] += share; });
                             });
                         }});
}

}  // namespace

// ---- distances

Variable mse_loss(const Variable& x, const Variable& target, Reduction reduction, Where where) {
    check_alike("mse_loss", "x", x, target);
    return reduced("mse_loss", square(sub(x, target, where), where), reduction, where);
}

Variable l1_loss(const Variable& x, const Variable& target, Reduction reduction, Where where) {
    check_alike("l1_loss", "x", x, target);
    return reduced("l1_loss", abs(sub(x, target, where), where), reduction, where);
}

// With c = d within [-delta, delta] it is c (d - c / 2): d^2 / 2 inside, and delta (|d| - delta / 2) outside.
Variable huber_loss(const Variable& x, const Variable& target, double delta, Reduction reduction, Where where) {
    check_alike("huber_loss", "x", x, target);
    check(delta > 0, "huber_loss: delta is {}, wanted a number above 0", delta);
    const Variable d = sub(x, target, where), c = clamp(d, -delta, delta, where);
    return reduced("huber_loss", mul(c, sub(d, scale(c, 0.5, where), where), where), reduction, where);
}

Variable smooth_l1_loss(const Variable& x, const Variable& target, double beta, Reduction reduction, Where where) {
    check(beta > 0, "smooth_l1_loss: beta is {}, wanted a number above 0; with 0 it is l1_loss", beta);
    return scale(huber_loss(x, target, beta, reduction, where), 1 / beta, where);
}

// ---- of two classes

// -log sigmoid(x) = softplus(-x), and -log(1 - sigmoid(x)) = softplus(x), which x + softplus(-x) would round to 0 for x below
// -17. With weight w of positive targets: w t softplus(-x) + (1 - t) softplus(x)
Variable bce_with_logits(const Variable& logits, const Variable& given, const BinaryLossOptions& options, Where where) {
    const char* op = "bce_with_logits";
    const Variable targets = as_numbers(given, logits);
    check_alike(op, "logits", logits, targets);
    const Variable positive = mul(positive_part(op, targets, options, where), softplus(neg(logits, where), where), where);
    const Variable negative = mul(rest_of_one(targets, where), softplus(logits, where), where);
    return weighted(op, add(positive, negative, where), options, where);
}

Variable bce_loss(const Variable& probabilities, const Variable& given, const BinaryLossOptions& options, Where where) {
    const char* op = "bce_loss";
    const Variable targets = as_numbers(given, probabilities);
    check_alike(op, "probabilities", probabilities, targets);
    const Variable yes = bounded_log(probabilities, where), no = bounded_log(rest_of_one(probabilities, where), where);
    const Variable sums =
        add(mul(positive_part(op, targets, options, where), yes, where), mul(rest_of_one(targets, where), no, where), where);
    return weighted(op, neg(sums, where), options, where);
}

// ---- of several classes

Variable nll_loss(const Variable& log_probabilities, const Tensor& targets, const LossOptions& options, Where where) {
    const char* op = "nll_loss";
    const Tensor& x = log_probabilities.value();
    check_rank(op, "log_probabilities", x, 2);
    check(options.label_smoothing == 0, "nll_loss: label smoothing is {}; cross_entropy has it, for logits",
          options.label_smoothing);
    kernels::check_targets(op, targets, x.rows(), options);
    check_device(op, {{"log_probabilities", x}, {"targets", targets}, {"divisor_in_memory", options.divisor_in_memory}});
    return x.device() == Device::cuda ? nll_on_device(log_probabilities, targets, options, where)
                                      : nll_on_cpu(log_probabilities, targets, options, where);
}

Variable kl_div(const Variable& log_probabilities, const Variable& target, const DivergenceOptions& options, Where where) {
    const char* op = "kl_div";
    check_alike(op, "log_probabilities", log_probabilities, target);
    if (options.log_target) {
        const Variable losses = mul(exp(target, where), sub(target, log_probabilities, where), where);
        return reduced(op, losses, options.reduction, where);
    }
    // Where the target is 0 neither its logarithm nor log_probabilities of -infinity may reach the sum.
    const Tensor none = target == 0;
    const Variable log_target = log(ops::where(none, 1.0, target, where), where);
    const Variable distance = ops::where(none, 0.0, sub(log_target, log_probabilities, where), where);
    return reduced(op, mul(target, distance, where), options.reduction, where);
}

}  // namespace heddle::inline ops
