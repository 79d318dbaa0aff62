#include "apps/explain/examples.h"

#include <algorithm>

#include "autograd/cases/op_cases.h"

namespace heddle::explain {

const std::vector<Example>& examples() {
    static const std::vector<Example> all = [] {
        std::vector<OpCases> ops = op_cases();
        std::stable_sort(ops.begin(), ops.end(),
                         [](const OpCases& a, const OpCases& b) { return a.example_place < b.example_place; });
        std::vector<Example> found;
        for (const OpCases& op : ops) found.insert(found.end(), op.examples.begin(), op.examples.end());
        for (const auto& more : {ladder_examples(), model_examples()}) found.insert(found.end(), more.begin(), more.end());
        return found;
    }();
    return all;
}

}  // namespace heddle::explain
