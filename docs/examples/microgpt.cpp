// One small GPT on four tapes: numbers, tensors, fused ops, and the kernels of a GPU. docs/microgpt.md explains each step.
//
//     microgpt [FILE]        a file of names, one a line; otherwise the few below
#include <heddle/heddle.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <string>

using namespace heddle;

constexpr std::int64_t letters = 27, width = 16, heads = 4, block = 16, names_at_once = 16;
constexpr double eps = 1e-5;
constexpr std::int32_t mark = 26;  // before and behind each name

struct Model : nn::Module {
    explicit Model(DType dtype) : Module(1, dtype) {}

    // Queries, keys and values are one leaf of the tape, so that one product makes all three; in files it has three names.
    Variable token = weights({"token"}, letters, width), position = weights({"position"}, block, width),
             query_key_value = weights({"query", "key", "value"}, width, width), output = weights({"output"}, width, width),
             inner = weights({"inner"}, 4 * width, width), outer = weights({"outer"}, width, 4 * width),
             head = weights({"head"}, letters, width);

  private:
    Variable weights(const std::vector<std::string>& names, std::int64_t rows, std::int64_t cols) {
        Tensor values = Tensor::empty({std::ssize(names) * rows, cols}, dtype());
        std::vector<nn::ParameterSlice> slices;
        for (std::int64_t begin = 0; const std::string& name : names) {
            Tensor part = values.slice(begin, begin + rows);
            fill_normal(part, 0, 0.08, *initial_key(name));
            slices.push_back({name, begin, begin += rows});
        }
        return names.size() == 1 ? add_parameter(names[0], values) : add_parameter("query_key_value", values, slices);
    }
};

using Derivatives = std::map<std::string, std::vector<double>>;

// ---- 1. A tape of numbers: each remembers what it was made of, and its slopes.

struct Number {
    double value, gradient;
    int inputs[2];
    double slopes[2];
};
std::vector<Number> numbers;

struct Value {
    int place = -1;
    double value() const { return numbers[place].value; }
};
Value record(double value, Value a = {}, double slope_a = 0, Value b = {}, double slope_b = 0) {
    numbers.push_back({value, 0, {a.place, b.place}, {slope_a, slope_b}});
    return {static_cast<int>(numbers.size()) - 1};
}
Value operator+(Value a, Value b) { return record(a.value() + b.value(), a, 1, b, 1); }
Value operator*(Value a, Value b) { return record(a.value() * b.value(), a, b.value(), b, a.value()); }
Value operator*(Value a, double factor) { return record(a.value() * factor, a, factor); }
Value exp(Value a) { return record(std::exp(a.value()), a, std::exp(a.value())); }
Value log(Value a) { return record(std::log(a.value()), a, 1 / a.value()); }
Value power(Value a, double n) { return record(std::pow(a.value(), n), a, n * std::pow(a.value(), n - 1)); }
Value relu(Value a) { return record(std::max(a.value(), 0.0), a, a.value() > 0 ? 1 : 0); }

// Inputs stand before what is made of them, so one walk from the end meets each number when its gradient is complete.
void walk_back(Value loss) {
    numbers[loss.place].gradient = 1;
    for (int i = loss.place; i >= 0; --i)
        for (int k = 0; k < 2; ++k)
            if (numbers[i].inputs[k] >= 0) numbers[numbers[i].inputs[k]].gradient += numbers[i].slopes[k] * numbers[i].gradient;
}

using Row = std::vector<Value>;
using Matrix = std::vector<Row>;

Value dot(std::span<const Value> a, std::span<const Value> b) {
    Value sum = a[0] * b[0];
    for (std::size_t i = 1; i < a.size(); ++i) sum = sum + a[i] * b[i];
    return sum;
}
Row times(const Matrix& weight, const Row& x) {
    Row y;
    for (const Row& row : weight) y.push_back(dot(row, x));
    return y;
}
Row plus(const Row& a, const Row& b) {
    Row sum;
    for (std::size_t i = 0; i < a.size(); ++i) sum.push_back(a[i] + b[i]);
    return sum;
}
Row normalised(const Row& x) {
    const Value factor = power(dot(x, x) * (1.0 / static_cast<double>(x.size())) + record(eps), -0.5);
    Row y;
    for (const Value each : x) y.push_back(each * factor);
    return y;
}
Row softmax(const Row& x) {
    double largest = x[0].value();
    for (const Value each : x) largest = std::max(largest, each.value());
    Row y;
    for (const Value each : x) y.push_back(exp(each + record(-largest)));
    Value sum = y[0];
    for (std::size_t i = 1; i < y.size(); ++i) sum = sum + y[i];
    const Value inverse = power(sum, -1);
    for (Value& each : y) each = each * inverse;
    return y;
}

// -log p of each letter that follows, summed; the keys and values of the letters read so far are kept.
Value loss_of_name(const std::map<std::string, Matrix>& w, const nn::Tokens& name) {
    Matrix keys, values;
    Value loss = record(0);
    for (std::size_t t = 0; t <= name.size(); ++t) {
        Row x = normalised(plus(w.at("token")[t == 0 ? mark : name[t - 1]], w.at("position")[t]));
        const Row read = normalised(x), query = times(w.at("query"), read);
        keys.push_back(times(w.at("key"), read));
        values.push_back(times(w.at("value"), read));
        Row found;
        for (std::size_t h = 0; h < heads; ++h) {
            constexpr std::size_t each = width / heads;
            Row scores;
            for (const Row& key : keys)
                scores.push_back(dot(std::span(query).subspan(h * each, each), std::span(key).subspan(h * each, each)) *
                                 std::pow(each, -0.5));
            const Row shares = softmax(scores);
            for (std::size_t j = h * each; j < (h + 1) * each; ++j) {
                Value sum = shares[0] * values[0][j];
                for (std::size_t s = 1; s < shares.size(); ++s) sum = sum + shares[s] * values[s][j];
                found.push_back(sum);
            }
        }
        x = plus(x, times(w.at("output"), found));
        Row hidden = times(w.at("inner"), normalised(x));
        for (Value& each : hidden) each = relu(each);
        x = plus(x, times(w.at("outer"), hidden));
        loss = loss + log(softmax(times(w.at("head"), x))[t == name.size() ? mark : name[t]]) * -1.0;
    }
    return loss;
}

double by_numbers(const Model& model, std::span<const nn::Tokens> names, Derivatives& gradients) {
    numbers.clear();
    std::map<std::string, Matrix> weights;
    for (const auto& [name, values] : model.named_tensors())
        for (std::int64_t i = 0; i < values.rows(); ++i) {
            Row& row = weights[name].emplace_back();
            for (const double each : values.slice(i, i + 1).to_vector()) row.push_back(record(each));
        }
    Value loss = record(0);
    std::size_t count = 0;
    for (const nn::Tokens& name : names) {
        loss = loss + loss_of_name(weights, name);
        count += name.size() + 1;
    }
    loss = loss * (1 / static_cast<double>(count));
    walk_back(loss);
    for (const auto& [name, matrix] : weights)
        for (const Row& row : matrix)
            for (const Value each : row) gradients[name].push_back(numbers[each.place].gradient);
    return loss.value();
}

// ---- 2. A tape of tensors: a node for each matrix product instead of each of its numbers.

Variable normalised(const Variable& x) { return x * rsqrt(mean(square(x), 1, true) + eps); }

Variable op_by_op(const Model& m, std::span<const nn::Tokens> names) {
    std::vector<Variable> losses;
    std::int64_t count = 0;
    for (const nn::Tokens& name : names) {
        const auto [read, written] = nn::text_batch({&name, 1}, {.begin = mark, .end = mark});
        const std::int64_t time = written.numel();
        Variable x = normalised(embedding(m.token, read.tokens) + slice(m.position, 0, 0, time));
        const Variable h = normalised(x);
        const auto by_head = [&](std::int64_t part) {  // [heads, time, width / heads]
            const Variable weight = slice(m.query_key_value, 0, part * width, (part + 1) * width);
            return permute(reshape(linear(h, weight), {time, heads, width / heads}), {1, 0, 2});
        };
        Tensor mask = Tensor::zeros({time, time}, DType::u8);
        for (std::int64_t i = 0; i < time; ++i) mask.slice(i, i + 1).reshape({time}).slice(0, i + 1).fill_(1);
        const Variable scores = matmul(by_head(0), by_head(1), false, true) * std::pow(width / heads, -0.5);
        const Variable found = matmul(softmax(scores, mask), by_head(2));
        x = x + linear(reshape(permute(found, {1, 0, 2}), {time, width}), m.output);
        x = x + linear(relu(linear(normalised(x), m.inner)), m.outer);
        losses.push_back(cross_entropy(linear(x, m.head), written) * static_cast<double>(time));
        count += time;
    }
    Variable sum = losses[0];
    for (std::size_t i = 1; i < losses.size(); ++i) sum = sum + losses[i];
    return sum * (1 / static_cast<double>(count));
}

// ---- 3. Fused ops, all names at once: attention, both products of the feed-forward layer, and loss are one node each.

struct Packed {
    nn::TextBatch text;
    Variable gamma;  // ones: the norm has no weights
};

Packed packed(std::span<const nn::Tokens> names, DType dtype, Device device) {
    nn::TextBatch text = nn::text_batch(names, {.begin = mark, .end = mark});
    text.read.tokens = text.read.tokens.to(device);
    text.written = text.written.to(device);
    return {std::move(text), Tensor::full({width}, 1, dtype).to(device)};
}

Variable fused(const Model& m, const Packed& batch) {
    const Spans& spans = batch.text.read.spans;
    Variable x = rms_norm(embedding(m.token, batch.text.read.tokens, spans, {.positions = m.position}), batch.gamma, eps);
    const Variable qkv = linear(rms_norm(x, batch.gamma, eps), m.query_key_value);
    const auto part = [&](std::int64_t i) { return ColumnsOf(qkv, i * width, width); };
    const Variable found = attention(part(0), part(1), part(2), spans, spans, {.heads = heads, .causal = true});
    const auto [sum, read] = residual_rms_norm(x, linear(found, m.output), batch.gamma, eps);
    x = sum + feed_forward(read, m.inner, {}, m.outer, {}, Activation::relu);
    return linear_cross_entropy(x, m.head, {}, batch.text.written);
}

// ---- What each step gives, and its time.

Derivatives gradients_of(const Model& model) {
    Derivatives all;
    for (const nn::Parameter& each : model.parameters())
        for (const auto& [name, part] : each.named(each.variable.grad())) all[name] = part.to(Device::cpu).to_vector();
    return all;
}

double largest_difference(const Derivatives& a, const Derivatives& b) {
    double largest = 0;
    for (const auto& [name, values] : a)
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double difference = std::abs(values[i] - b.at(name)[i]);
            if (!(difference <= largest)) largest = difference;  // NaN stays
        }
    return largest;
}

// The shortest of several runs, in microseconds.
double time_of(const std::function<void()>& work, int runs) {
    double shortest = INFINITY;
    for (int i = 0; i < runs; ++i) {
        const auto start = std::chrono::steady_clock::now();
        work();
        shortest =
            std::min(shortest, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    return shortest;
}

std::vector<nn::Tokens> read_names(const char* file) {
    std::vector<std::string> lines = {"ada",  "blaise",  "carl",     "dorothy", "emmy",     "euclid", "florence", "grace",
                                      "hedy", "isaac",   "joan",     "karen",   "leonhard", "maria",  "niels",    "olga",
                                      "paul", "queenie", "rosalind", "sofia",   "tim",      "ursula", "vera",     "wang"};
    if (file != nullptr) {
        lines.clear();
        std::ifstream in(file);
        for (std::string line; std::getline(in, line);) lines.push_back(line);
        if (lines.empty()) fail(fmt::format("microgpt: {} cannot be read, or has no lines", file));
    }
    std::vector<nn::Tokens> names;
    for (const std::string& line : lines) {
        nn::Tokens& name = names.emplace_back();
        for (const char letter : line)
            if (letter >= 'a' && letter <= 'z' && std::ssize(name) + 1 < block) name.push_back(letter - 'a');
    }
    return names;
}

struct Step {
    std::string name;
    double loss;
    Derivatives gradients;
    double microseconds;
};

// Loss, gradients and time of an update: backward and Adam.
Step measured(const std::string& name, Model& model, int runs, const std::function<Variable()>& loss) {
    optim::Adam adam(model, {.lr = 0.01, .beta1 = 0.85, .beta2 = 0.99});
    Step step{name, loss().value().to(Device::cpu).item(), {}, 0};
    loss().backward();
    step.gradients = gradients_of(model);
    step.microseconds = time_of(
        [&] {
            adam.zero_grad();
            loss().backward();
            adam.step();
            if (model.device() == Device::cuda) model.token.value().to(Device::cpu);  // waits
        },
        runs);
    return step;
}

int main(int count, char** arguments) try {
    set_threads(1);
    const std::vector<nn::Tokens> all = read_names(count > 1 ? arguments[1] : nullptr);
    const std::span<const nn::Tokens> names(all.data(), std::min<std::size_t>(all.size(), names_at_once));
    std::vector<Step> steps;
    {
        const Model model(DType::f64);
        Step numbers_step{"a tape of numbers", 0, {}, 0};
        numbers_step.loss = by_numbers(model, names, numbers_step.gradients);
        numbers_step.microseconds = time_of(
            [&] {
                Derivatives again;
                by_numbers(model, names, again);
            },
            3);
        steps.push_back(std::move(numbers_step));
    }
    Model tensors(DType::f64), fused_model(DType::f64), single(DType::f32);
    steps.push_back(measured("tensors, op by op", tensors, 20, [&] { return op_by_op(tensors, names); }));
    const Packed in_f64 = packed(names, DType::f64, Device::cpu), in_f32 = packed(names, DType::f32, Device::cpu);
    steps.push_back(measured("fused ops, f64", fused_model, 200, [&] { return fused(fused_model, in_f64); }));
    steps.push_back(measured("fused ops, f32", single, 500, [&] { return fused(single, in_f32); }));
    if (device::available()) {
        Model there(DType::f64);
        there.to(Device::cuda);
        const Packed batch = packed(names, DType::f64, Device::cuda);
        steps.push_back(measured("CUDA kernels, f64", there, 1, [&] { return fused(there, batch); }));
        if (device::emulated()) steps.back().name += ", emulated";
    }
    fmt::print("{:<28}{:>12}{:>24}{:>18}\n", "", "loss", "gradients differ by", "us an update");
    for (const Step& step : steps)
        fmt::print("{:<28}{:>12.8f}{:>24.1e}{:>18.1f}\n", step.name, step.loss,
                   largest_difference(steps[0].gradients, step.gradients), step.microseconds);
} catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
}
