// What gradcheck tries: which elements, and which inputs require gradients.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "autograd/gradcheck_impl.h"

namespace heddle::proof {

std::string needs_text(const std::vector<bool>& needs) {
    if (std::find(needs.begin(), needs.end(), false) == needs.end()) return "every input requires its gradient";
    std::string list;
    for (std::size_t i = 0; i < needs.size(); ++i)
        if (needs[i]) list += fmt::format("{}{}", list.empty() ? "" : ", ", i);
    return fmt::format("only these inputs need a gradient: {}", list.empty() ? "none" : list);
}

std::vector<std::int64_t> probed_elements(std::int64_t count, const GradcheckOptions& options) {
    std::vector<std::int64_t> elements(static_cast<std::size_t>(count));
    std::iota(elements.begin(), elements.end(), 0);
    if (count <= options.elements_up_to) return elements;
    Sequence(options.seed).shuffle(elements);
    elements.resize(static_cast<std::size_t>(options.elements_up_to));
    std::sort(elements.begin(), elements.end());
    return elements;
}

std::vector<std::vector<bool>> partial_combinations(std::size_t inputs) {
    std::vector<std::vector<bool>> result;
    if (inputs <= 4) {
        for (std::size_t bits = 0; bits + 1 < (std::size_t{1} << inputs); ++bits) {
            result.emplace_back(inputs);
            for (std::size_t i = 0; i < inputs; ++i) result.back()[i] = ((bits >> i) & 1) != 0;
        }
        return result;
    }
    result.emplace_back(inputs);
    for (std::size_t i = 0; i < inputs; ++i) {
        result.emplace_back(inputs);
        result.back()[i] = true;
    }
    return result;
}

}  // namespace heddle::proof
