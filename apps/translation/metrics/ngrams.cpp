#include "apps/translation/metrics/ngrams.h"

#include <algorithm>
#include <vector>

namespace heddle::app {
namespace {

using Pieces = std::vector<std::u32string_view>;

/// The longest n-gram at each position, sorted.
Pieces sorted_pieces(std::u32string_view text, std::size_t longest) {
    Pieces pieces(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) pieces[i] = text.substr(i, longest);
    std::sort(pieces.begin(), pieces.end());
    return pieces;
}

/// Cuts the pieces to n symbols and drops shorter ones; pieces sorted by more symbols stay sorted.
void cut(Pieces& pieces, std::size_t n) {
    std::erase_if(pieces, [n](std::u32string_view piece) { return piece.size() < n; });
    for (std::u32string_view& piece : pieces) piece = piece.substr(0, n);
}

/// The size of the intersection of two sorted multisets.
std::int64_t in_common(const Pieces& a, const Pieces& b) {
    std::int64_t count = 0;
    for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
        const int order = x->compare(*y);
        if (order == 0) ++count;
        if (order <= 0) ++x;
        if (order >= 0) ++y;
    }
    return count;
}

}  // namespace

void count_ngrams(std::u32string_view hypothesis, std::u32string_view reference, std::span<NgramCounts> orders) {
    const Pieces said = sorted_pieces(hypothesis, orders.size()), wanted = sorted_pieces(reference, orders.size());
    for (std::size_t n = 1; n <= orders.size(); ++n) {
        Pieces a = said, b = wanted;
        cut(a, n);
        cut(b, n);
        orders[n - 1] = {.hypothesis = static_cast<std::int64_t>(a.size()),
                         .reference = static_cast<std::int64_t>(b.size()),
                         .matches = in_common(a, b)};
    }
}

std::u32string WordNumbers::operator()(std::span<const std::string> words) {
    std::u32string out;
    for (const std::string& word : words)
        out.push_back(numbers_.try_emplace(word, static_cast<char32_t>(numbers_.size())).first->second);
    return out;
}

}  // namespace heddle::app
