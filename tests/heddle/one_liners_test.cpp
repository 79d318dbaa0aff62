// The lines that a user of PyTorch, libtorch or MLX writes, each with what it gives. The tables are read twice: what works is
// compiled and run, what is refused is counted with the reason.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <heddle/heddle.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <sstream>

namespace {

using namespace heddle;

// ---- results as text: "[[1, 2], [3, 4]]", parts with " | " between

std::string text_of(const std::vector<double>& values, const Shape& shape, int axis, std::size_t& next) {
    if (axis == shape.rank()) return fmt::format("{:.9g}", values[next++]);
    std::vector<std::string> parts;
    for (std::int64_t i = 0; i < shape[axis]; ++i) parts.push_back(text_of(values, shape, axis + 1, next));
    return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string shown(const Tensor& tensor) {
    std::size_t next = 0;
    return text_of(tensor.to_vector(), tensor.shape(), 0, next);
}
std::string shown(const Variable& variable) { return shown(variable.value()); }
std::string shown(const Shape& shape) { return shape.str(); }
std::string shown(const std::string& text) { return text; }
template <class Number>
requires std::is_arithmetic_v<Number> std::string shown(Number number) {
    return fmt::format("{:.9g}", static_cast<double>(number));
}
template <class T>
std::string shown(const std::vector<T>& values) {
    if constexpr (std::is_arithmetic_v<T>) {
        return fmt::format("[{}]", fmt::join(values, ", "));
    } else {
        std::vector<std::string> parts;
        for (const T& value : values) parts.push_back(shown(value));
        return fmt::format("{}", fmt::join(parts, " | "));
    }
}

// How far a number may be from the written one: a few roundings of f32, and what six written digits leave open.
double room_of(const std::string& wanted) {
    const std::size_t end = std::min(wanted.find('e'), wanted.size()), point = std::min(wanted.find('.'), end);
    const auto first = std::find_if(wanted.begin(), wanted.end(), [](char c) { return c >= '1' && c <= '9'; });
    const auto digits = std::count_if(first, wanted.begin() + static_cast<std::ptrdiff_t>(end), [](char c) { return c != '.'; });
    const double value = std::strtod(wanted.c_str(), nullptr);
    const int exponent = end < wanted.size() ? std::atoi(wanted.c_str() + end + 1) : 0;
    const int behind_point = end > point ? static_cast<int>(end - point) - 1 : 0;
    const double last_digit = digits < 6 ? 0 : std::pow(10, exponent - behind_point);
    return 4 * 0x1p-23 * std::abs(value) + last_digit / 2;
}

// Equal texts, numbers up to rounding.
bool agree(std::string_view a, std::string_view b) {
    const auto in_number = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '+'; };
    while (!a.empty() && !b.empty()) {
        if (!in_number(a.front()) || !in_number(b.front())) {
            if (a.front() != b.front()) return false;
            a.remove_prefix(1);
            b.remove_prefix(1);
            continue;
        }
        const auto word = [&](std::string_view& rest) {
            std::size_t size = 0;
            while (size < rest.size() && in_number(rest[size])) ++size;
            const std::string taken(rest.substr(0, size));
            rest.remove_prefix(size);
            return taken;
        };
        const std::string x = word(a), y = word(b);
        if (x == y) continue;
        char *end_x = nullptr, *end_y = nullptr;
        const double p = std::strtod(x.c_str(), &end_x), q = std::strtod(y.c_str(), &end_y);
        if (*end_x != 0 || *end_y != 0 || !(std::abs(p - q) <= room_of(y))) return false;
    }
    return a.empty() && b.empty();
}

// ---- what the lines are given

struct Line {
    const char* file;
    const char* source;
    const char* expected;
    std::function<std::string()> run;  // empty: refused
};

#define HEDDLE_GIVEN                                                                                                          \
    [[maybe_unused]] Variable a = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}), b = tensor({{6.0, 5.0, 4.0}, {3.0, 2.0, 1.0}}); \
    [[maybe_unused]] Variable v = tensor({1.0, 2.0, 3.0}), m = tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}});                  \
    [[maybe_unused]] Variable c = Tensor::arange(24, DType::f32).reshape({2, 3, 4});                                          \
    [[maybe_unused]] Variable p(tensor({{1.0, 2.0}, {3.0, 4.0}}), true);                                                      \
    [[maybe_unused]] Tensor t = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}), i = tensor({2, 0}), y = tensor({2, 0});           \
    [[maybe_unused]] Tensor mask = tensor({{true, false, true}, {false, true, false}});                                       \
    [[maybe_unused]] Variable logits = tensor({{1.0, 2.0, 3.0}, {3.0, 2.0, 1.0}});

std::vector<Line> lines() {
    std::vector<Line> table;
#define LINE(source, expected, ...) table.push_back({__FILE__, source, expected, [] { HEDDLE_GIVEN return shown(__VA_ARGS__); }});
#define DO(source, expected, ...) \
    table.push_back({__FILE__, source, expected, [] { HEDDLE_GIVEN return shown([&] { __VA_ARGS__ }()); }});
#define REFUSED(source, reason) table.push_back({__FILE__, source, reason, {}});
#include "tests/heddle/one_liners/libtorch.inc"
#include "tests/heddle/one_liners/mlx.inc"
#include "tests/heddle/one_liners/pytorch_learning.inc"
#include "tests/heddle/one_liners/pytorch_math.inc"
#include "tests/heddle/one_liners/pytorch_tensors.inc"
    return table;
}

TEST(OneLiners, GiveWhatTheirSourcesGive) {
    for (const Line& line : lines()) {
        if (!line.run) continue;
        std::string result;
        try {
            result = line.run();
        } catch (const std::exception& error) {
            result = error.what();
        }
        EXPECT_TRUE(agree(result, line.expected)) << line.source << "\n  gives " << result << "\n  wanted " << line.expected;
    }
}

TEST(OneLiners, AreRarelyRefused) {
    std::size_t refused = 0;
    for (const Line& line : lines())
        if (!line.run) ++refused;
    EXPECT_GE(lines().size(), 200u);
    EXPECT_LE(refused * 10, lines().size());
}

}  // namespace
