// Einstein's sums, by matrix products of two operands at a time.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/format.h"
#include "heddle/functions.h"

namespace heddle {
namespace {

// A Variable with a letter for each axis.
struct Lettered {
    Variable value;
    std::string letters;
};

bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

// The letters of the operands, and of the result: those that are given, or all that occur once, in alphabetical order.
std::vector<std::string> parsed(const std::string& sum) {
    std::vector<std::string> parts(1);
    bool result = false;
    for (std::size_t i = 0; i < sum.size(); ++i) {
        if (sum[i] == ' ') continue;
        if (sum[i] == ',' && !result) {
            parts.emplace_back();
        } else if (sum.compare(i, 2, "->") == 0 && !result) {
            parts.emplace_back();
            result = true;
            ++i;
        } else {
            check((sum[i] >= 'a' && sum[i] <= 'z') || (sum[i] >= 'A' && sum[i] <= 'Z'),
                  "einsum: \"{}\" has the character {}, wanted letters, commas and one ->", sum, sum[i]);
            check(!has(parts.back(), sum[i]), "einsum: \"{}\" names {} twice in one place; diag() takes a diagonal", sum, sum[i]);
            parts.back() += sum[i];
        }
    }
    if (result) return parts;
    std::map<char, int> times;
    for (const std::string& part : parts)
        for (const char letter : part) ++times[letter];
    parts.emplace_back();
    for (const auto& [letter, count] : times)
        if (count == 1) parts.back() += letter;
    return parts;
}

Lettered ordered(const Lettered& x, const std::string& letters, Where where) {
    std::vector<int> axes;
    for (const char letter : letters) axes.push_back(static_cast<int>(x.letters.find(letter)));
    return {x.letters == letters ? x.value : ops::permute(x.value, axes, where), letters};
}

// Summed over the letters that nothing needs.
Lettered without(const Lettered& x, const std::string& needed, Where where) {
    std::vector<int> axes;
    std::string kept;
    for (std::size_t i = 0; i < x.letters.size(); ++i) {
        if (has(needed, x.letters[i]))
            kept += x.letters[i];
        else
            axes.push_back(static_cast<int>(i));
    }
    return {axes.empty() ? x.value : ops::sum(x.value, Axes(axes), false, where), kept};
}

Lettered product(const Lettered& a, const Lettered& b, const std::string& needed, Where where) {
    std::string both, summed, left, right;
    for (const char letter : a.letters) (!has(b.letters, letter) ? left : has(needed, letter) ? both : summed) += letter;
    for (const char letter : b.letters)
        if (!has(a.letters, letter)) right += letter;
    std::map<char, std::int64_t> extents;
    for (const Lettered* side : {&a, &b})
        for (std::size_t i = 0; i < side->letters.size(); ++i) extents[side->letters[i]] = side->value.dim(static_cast<int>(i));
    const auto count = [&](const std::string& letters) {
        std::int64_t n = 1;
        for (const char letter : letters) n *= extents[letter];
        return n;
    };
    const Variable x =
        ops::reshape(ordered(a, both + left + summed, where).value, {count(both), count(left), count(summed)}, where);
    const Variable y =
        ops::reshape(ordered(b, both + summed + right, where).value, {count(both), count(summed), count(right)}, where);
    Shape shape;
    for (const char letter : both + left + right) shape.append(extents[letter]);
    return {ops::reshape(ops::matmul(x, y, false, false, where), shape, where), both + left + right};
}

}  // namespace

Variable einsum(const std::string& sum, const std::vector<Variable>& operands, Where where) {
    std::vector<std::string> parts = parsed(sum);
    const std::string result = parts.back();
    parts.pop_back();
    check(parts.size() == operands.size(), "einsum: \"{}\" names {} operands, but {} are given", sum, parts.size(),
          operands.size());
    std::map<char, std::int64_t> extents;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        check(operands[i].rank() == static_cast<int>(parts[i].size()), "einsum: \"{}\" has letters {} for an operand of shape {}",
              sum, parts[i], operands[i].shape());
        for (std::size_t axis = 0; axis < parts[i].size(); ++axis) {
            const std::int64_t extent = operands[i].dim(static_cast<int>(axis));
            const auto [known, fresh] = extents.try_emplace(parts[i][axis], extent);
            check(fresh || known->second == extent, "einsum: \"{}\": {} has the extents {} and {}", sum, parts[i][axis],
                  known->second, extent);
        }
    }
    for (const char letter : result) check(extents.count(letter) == 1, "einsum: \"{}\": no operand has {}", sum, letter);
    Lettered total{operands.front(), parts.front()};
    for (std::size_t i = 1; i < parts.size(); ++i) {
        std::string needed = result;
        for (std::size_t later = i + 1; later < parts.size(); ++later) needed += parts[later];
        total = product(without(total, needed + parts[i], where), without({operands[i], parts[i]}, needed + total.letters, where),
                        needed, where);
    }
    return ordered(without(total, result, where), result, where).value;
}

}  // namespace heddle
