// What rank 0 has the others do. All decisions are rank 0's: the others compute what they are told, until the end.
#pragma once

#include <cstdint>
#include <vector>

#include "apps/translation/ranks/ranks.h"

namespace heddle::app {

enum class Order : std::int64_t {
    begin,    ///< options and models follow, and the text of a training (apps/command/*_ranks.h); the first order
    state,    ///< of a training: updates so far, whether moments follow. Weights and moments follow
    update,   ///< of a training: numbers as update_numbers()
    moments,  ///< of a training: send the own moments to rank 0
    batches,  ///< compute batches with the model (apps/translation/spread); the number says what
    end,      ///< nothing more; may be the first order
};

struct GivenOrder {
    Order order = Order::end;
    std::vector<std::int64_t> numbers;
};

/// On rank 0.
inline void give_order(Ranks& ranks, Order order, std::vector<std::int64_t> numbers = {}) {
    numbers.insert(numbers.begin(), static_cast<std::int64_t>(order));
    broadcast(ranks, std::move(numbers));
}

/// On the others: waits for the next order.
inline GivenOrder receive_order(Ranks& ranks) {
    GivenOrder given{.order = Order::end, .numbers = broadcast(ranks, std::vector<std::int64_t>())};
    given.order = static_cast<Order>(given.numbers.at(0));
    given.numbers.erase(given.numbers.begin());
    return given;
}

}  // namespace heddle::app
