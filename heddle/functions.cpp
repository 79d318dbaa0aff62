#include "heddle/functions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "autograd/whole_numbers.h"
#include "core/check.h"
#include "core/format.h"
#include "core/random.h"
#include "kernels/elementwise/elementwise.h"

namespace heddle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void check_ranks(const char* op, const char* a_name, const Variable& a, int a_rank, const char* b_name, const Variable& b,
                 int b_rank) {
    for (const auto& [name, x, rank] : {std::tuple(a_name, &a, a_rank), {b_name, &b, b_rank}})
        check(x->rank() == rank, "{}: {} has shape {}, wanted {} axes; matmul takes any", op, name, x->shape(), rank);
}

// Each leaf once.
std::vector<Variable> distinct(const std::vector<Variable>& leaves) {
    std::vector<Variable> all;
    for (const Variable& leaf : leaves)
        if (std::none_of(all.begin(), all.end(), [&](const Variable& one) { return one.is(leaf); })) all.push_back(leaf);
    return all;
}

}  // namespace

void check_row_length(std::int64_t length, std::int64_t first) {
    check(length == first, "tensor: a row has {} numbers, but the first one has {}", length, first);
}

bool equal(const Variable& a, const Variable& b) { return a.shape() == b.shape() && bool(all(a == b)); }

bool allclose(const Variable& a, const Variable& b, double relative, double absolute) {
    if (a.shape() != b.shape()) return false;
    const std::vector<double> x = a.to_vector(), y = b.to_vector();
    for (std::size_t i = 0; i < x.size(); ++i)
        if (x[i] != y[i] && !(std::abs(x[i] - y[i]) <= absolute + relative * std::abs(y[i]))) return false;
    return true;
}

Tensor isnan(const Variable& x) { return x != x; }
Tensor isinf(const Variable& x) { return (x == kInfinity) | (x == -kInfinity); }
Tensor isfinite(const Variable& x) { return (x > -kInfinity) & (x < kInfinity); }

// ---- parts and places

Variable movedim(const Variable& x, int from, int to, Where where) {
    std::vector<int> order(static_cast<std::size_t>(x.rank()));
    std::iota(order.begin(), order.end(), 0);
    const int source = counted_axis("movedim", x.shape(), from), target = counted_axis("movedim", x.shape(), to);
    order.erase(order.begin() + source);
    order.insert(order.begin() + target, source);
    return ops::permute(x, order, where);
}

Variable unflatten(const Variable& x, int axis, std::initializer_list<std::int64_t> extents, Where where) {
    const int at = counted_axis("unflatten", x.shape(), axis);
    const Shape parts = NewShape(extents).holding(x.dim(at), "unflatten", x.shape());
    Shape shape;
    for (int i = 0; i < x.rank(); ++i) {
        if (i != at) shape.append(x.dim(i));
        for (const std::int64_t extent : parts)
            if (i == at) shape.append(extent);
    }
    return ops::reshape(x, shape, where);
}

Variable masked_select(const Variable& x, const Tensor& mask, Where where) {
    check(mask.dtype() == DType::u8 && mask.shape() == x.shape(), "masked_select: the mask is {} {}, wanted {} u8", mask.shape(),
          mask.dtype(), x.shape());
    return x.index({mask}, where);
}

Variable diag(const Variable& x, Where where) {
    check(x.rank() == 1 || x.rank() == 2, "diag: x has shape {}, wanted a vector or a matrix", x.shape());
    if (x.rank() == 1) {
        if (is_whole(x.dtype())) return diag(x.value().to(DType::f64), where).value().to(x.dtype());
        const Tensor on = Tensor::eye(x.dim(0), DType::f32, x.device()).to(DType::u8);
        return ops::where(on, ops::unsqueeze(x, 0, where), 0.0, where);
    }
    const std::int64_t count = std::min(x.dim(0), x.dim(1));
    const Tensor places = Tensor::arange(count) * static_cast<double>(x.dim(1) + 1);
    return ops::gather(ops::reshape(x, {-1}, where), places.to(x.device()), where);
}

Variable pad(const Variable& x, std::initializer_list<std::int64_t> before_and_behind, double value, Where where) {
    check(before_and_behind.size() % 2 == 0 && static_cast<int>(before_and_behind.size() / 2) <= x.rank(),
          "pad: {} numbers, wanted two for each of up to {} axes of {}", before_and_behind.size(), x.rank(), x.shape());
    Variable padded = x;
    int axis = x.rank();
    for (const auto* at = before_and_behind.begin(); at != before_and_behind.end(); at += 2) {
        --axis;
        const auto filled = [&](std::int64_t extent) {
            check(extent >= 0, "pad: {} elements, wanted at least 0", extent);
            Shape shape = padded.shape();
            shape.set(axis, extent);
            return Variable(Tensor::full(shape, value, x.dtype(), x.device()));
        };
        padded = concat({filled(at[0]), padded, filled(at[1])}, axis, where);
    }
    return padded;
}

std::vector<Variable> meshgrid(const Variable& a, const Variable& b, Where where) {
    check_ranks("meshgrid", "a", a, 1, "b", b, 1);
    const Shape shape = {a.dim(0), b.dim(0)};
    return {ops::expand(ops::unsqueeze(a, 1, where), shape, where), ops::expand(ops::unsqueeze(b, 0, where), shape, where)};
}

Tensor bincount(const Tensor& numbers, std::int64_t least) {
    std::vector<std::int32_t> counts(static_cast<std::size_t>(std::max<std::int64_t>(least, 0)));
    for (const double number : numbers.to_vector()) {
        check(number >= 0 && number == std::floor(number) && number < INT32_MAX, "bincount: {} is no number to count", number);
        const auto place = static_cast<std::size_t>(number);
        if (place >= counts.size()) counts.resize(place + 1);
        ++counts[place];
    }
    return Tensor::from(counts).to(numbers.device());
}

Tensor argsort(const Variable& x, int axis, bool descending) {
    const int at = counted_axis("argsort", x.shape(), axis);
    const std::vector<double> values = x.to_vector();
    std::vector<std::int32_t> result(values.size()), order(static_cast<std::size_t>(x.dim(at)));
    std::size_t inner = 1;
    for (int i = at + 1; i < x.rank(); ++i) inner *= static_cast<std::size_t>(x.dim(i));
    const std::size_t n = order.size();
    for (std::size_t line = 0; line < (n == 0 ? 0 : values.size() / n); ++line) {
        const std::size_t begin = line / inner * n * inner + line % inner;
        const auto number = [&](std::int32_t place) { return values[begin + static_cast<std::size_t>(place) * inner]; };
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
            if (std::isnan(number(a)) || std::isnan(number(b))) return !std::isnan(number(a));
            return descending ? number(a) > number(b) : number(a) < number(b);
        });
        for (std::size_t i = 0; i < n; ++i) result[begin + i * inner] = order[i];
    }
    return Tensor::from(result, x.shape()).to(x.device());
}

Sorted sort(const Variable& x, int axis, bool descending, Where where) {
    const int at = counted_axis("sort", x.shape(), axis);
    const Tensor places = argsort(x, at, descending);
    return {ops::gather(x, at, places, where), places};
}

Sorted topk(const Variable& x, std::int64_t k, int axis, Where where) {
    const int at = counted_axis("topk", x.shape(), axis);
    check(k >= 0 && k <= x.dim(at), "topk: {} numbers of axis {} of {}", k, axis, x.shape());
    const Tensor places = argsort(x, at, true).narrow(at, 0, k);
    return {ops::gather(x, at, places, where), places};
}

// ---- functions

Variable log2(const Variable& x, Where where) { return ops::scale(ops::log(x, where), 1 / std::log(2.0), where); }
Variable log10(const Variable& x, Where where) { return ops::scale(ops::log(x, where), 1 / std::log(10.0), where); }
Variable tan(const Variable& x, Where where) { return ops::div(ops::sin(x, where), ops::cos(x, where), where); }

// sinh x = (e^x - 1) / 2 - (e^-x - 1) / 2. With h = e^(x/2) - 1, which is exact near 0, e^x - 1 is h (h + 2): so e^x / 2 is
// reached where e^x itself is too large.
Variable sinh(const Variable& x, Where where) {
    const auto half = [&](double sign) {
        const Variable h = ops::expm1(ops::scale(x, sign / 2, where), where);
        return ops::mul(ops::scale(h, 0.5, where), Operand(h, where) + 2, where);
    };
    return ops::sub(half(1), half(-1), where);
}
// e^x / 2 + e^-x / 2, by e^(x/2) likewise.
Variable cosh(const Variable& x, Where where) {
    const auto half = [&](double sign) {
        const Variable h = ops::exp(ops::scale(x, sign / 2, where), where);
        return ops::mul(ops::scale(h, 0.5, where), h, where);
    };
    return ops::add(half(1), half(-1), where);
}
Variable leaky_relu(const Variable& x, double slope, Where where) {
    return ops::where(x > 0, x, ops::scale(x, slope, where), where);
}
// The exponent is never positive, so that no infinity meets the mask.
Variable elu(const Variable& x, double alpha, Where where) {
    const Tensor above = x > 0;
    const Variable below = ops::scale(ops::expm1(ops::where(above, 0.0, x, where), where), alpha, where);
    return ops::where(above, x, below, where);
}
Variable log_sigmoid(const Variable& x, Where where) { return ops::neg(ops::softplus(ops::neg(x, where), where), where); }
// From the nearer end, so that the weight 1 gives b itself.
Variable lerp(const Variable& a, const Variable& b, double weight, Where where) {
    const Variable way = ops::sub(b, a, where);
    if (weight < 0.5) return ops::add(a, ops::scale(way, weight, where), where);
    return ops::sub(b, ops::scale(way, 1 - weight, where), where);
}
// The larger one and ln(1 + e^-d) with their distance d. Equal ones, infinities among them, have the distance 0.
Variable logaddexp(const Variable& a, const Variable& b, Where where) {
    const Variable d = ops::where(a == b, 0.0, ops::sub(a, b, where), where);
    return ops::add(ops::maximum(a, b, where), ops::softplus(ops::neg(ops::abs(d, where), where), where), where);
}
// By the largest magnitude m first, so that no square is too large or too small: (x / m) / max(|x / m|, eps / m). The result is
// the same for every m, which therefore gets no gradient.
Variable normalize(const Variable& x, int axis, double eps, Where where) {
    counted_axis("normalize", x.shape(), axis);
    if (x.dim(axis) == 0) return x;
    const Tensor largest = ops::max(ops::abs(x.detach(), where), axis, true, where).value();
    const Tensor unit = ops::where((largest > 0) & isfinite(largest), largest, 1.0, where).value();
    const Variable even = ops::div(x, unit, where), least = Operand(eps, where) / unit;
    return ops::div(even, ops::maximum(ops::norm(even, axis, true, 2, where), least, where), where);
}
Variable cosine_similarity(const Variable& a, const Variable& b, int axis, double eps, Where where) {
    const Shape shape = kernels::broadcast_shape("cosine_similarity", a.shape(), b.shape());
    const int at = counted_axis("cosine_similarity", shape, axis);
    const auto direction = [&](const Variable& x) {
        return normalize(x.shape() == shape ? x : ops::expand(x, shape, where), at, eps, where);
    };
    return ops::sum(ops::mul(direction(a), direction(b), where), at, false, where);
}

Variable bmm(const Variable& a, const Variable& b, Where where) {
    check_ranks("bmm", "a", a, 3, "b", b, 3);
    check(a.dim(0) == b.dim(0), "bmm: a has shape {} and b {}, wanted one batch extent; matmul broadcasts", a.shape(), b.shape());
    return ops::matmul(a, b, false, false, where);
}
Variable mm(const Variable& a, const Variable& b, Where where) {
    check_ranks("mm", "a", a, 2, "b", b, 2);
    return ops::matmul(a, b, false, false, where);
}
Variable mv(const Variable& a, const Variable& x, Where where) {
    check_ranks("mv", "a", a, 2, "x", x, 1);
    return ops::matmul(a, x, false, false, where);
}
Variable dot(const Variable& a, const Variable& b, Where where) {
    check_ranks("dot", "a", a, 1, "b", b, 1);
    return ops::matmul(a, b, false, false, where);
}
Variable outer(const Variable& a, const Variable& b, Where where) {
    check_ranks("outer", "a", a, 1, "b", b, 1);
    return ops::mul(ops::unsqueeze(a, 1, where), ops::unsqueeze(b, 0, where), where);
}

Variable scaled_dot_product_attention(const Variable& query, const Variable& key, const Variable& value, bool causal,
                                      Where where) {
    const Variable scores = ops::matmul(query, key, false, true, where);
    Tensor mask;
    if (causal)
        mask = Tensor::ones({query.dim(-2), key.dim(-2)}).tril(key.dim(-2) - query.dim(-2)).to(DType::u8).to(query.device());
    const double scale = 1 / std::sqrt(static_cast<double>(query.dim(-1)));
    return ops::matmul(ops::softmax(scores, mask, {}, {.scale = scale}, where), value, false, false, where);
}

Variable dropout(const Variable& x, double probability, bool training, Where where) {
    if (!training || probability == 0) return x;
    return ops::dropout(x, generator().next_dropout("dropout", probability), where);
}

Variable embedding(const Variable& table, const Tensor& tokens, Where where) {
    const std::int64_t count = tokens.numel();
    const Variable rows = ops::embedding(table, tokens.reshape({count}), Spans({{0, count}}, count), {}, where);
    Shape shape = tokens.shape();
    shape.append(table.cols());
    return ops::reshape(rows, shape, where);
}

// ---- learning

double accuracy(const Variable& logits, const Tensor& targets) {
    check(logits.rank() >= 1 && logits.rows() == targets.numel() && targets.numel() > 0,
          "accuracy: logits {} and targets {}, wanted [..., classes] and a target for each row", logits.shape(), targets.shape());
    const Tensor hits = argmax(logits.value().reshape({targets.numel(), logits.cols()}), 1) == targets.reshape({-1});
    return hits.sum().item() / static_cast<double>(targets.numel());
}

std::vector<Tensor> grad(const Variable& loss, const std::vector<Variable>& leaves) {
    for (const Variable& leaf : leaves)
        check(leaf.is_leaf() && leaf.requires_grad(), "grad: {} is no leaf that requires a gradient",
              leaf.name().empty() ? std::string("a Variable") : leaf.name());
    // Puts back what the leaves held, even if backward throws; backwards, since the second of two equal leaves held nothing.
    struct Held {
        explicit Held(const std::vector<Variable>& of) : leaves(of) {
            for (Variable& leaf : leaves) {
                before.push_back(leaf.grad());
                leaf.set_grad({});
            }
        }
        ~Held() {
            for (std::size_t i = leaves.size(); i-- > 0;) leaves[i].set_grad(before[i]);
        }
        Held(const Held&) = delete;
        Held& operator=(const Held&) = delete;
        std::vector<Variable> leaves;
        std::vector<Tensor> before;
    };
    const Held held(leaves);
    loss.backward();
    std::vector<Tensor> result;
    for (const Variable& leaf : leaves) result.push_back(leaf.grad().defined() ? leaf.grad() : Tensor::zeros_like(leaf.value()));
    return result;
}

double clip_grad_norm(const std::vector<Variable>& leaves, double most) {
    check(most > 0, "clip_grad_norm: the largest norm is {}, wanted a positive number", most);
    double squares = 0;
    const std::vector<Variable> each = distinct(leaves);
    for (const Variable& leaf : each)
        if (leaf.grad().defined()) squares += ops::sum(ops::square(leaf.grad().to(DType::f64))).item();
    const double norm = std::sqrt(squares);
    if (!(norm <= most))
        for (const Variable& leaf : each)
            if (leaf.grad().defined()) {
                Tensor gradient = leaf.grad();
                gradient *= most / norm;
            }
    return norm;
}

}  // namespace heddle
