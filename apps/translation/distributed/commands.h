// What rank 0 has the others do. All decisions are rank 0's: the others compute what they are told, until the end.
#pragma once

#include <cstdint>
#include <vector>

#include "apps/translation/distributed/ranks.h"

namespace heddle::app {

enum class Command : std::int64_t {
    begin,    ///< options and models follow, and the text of a training (apps/command/*_ranks.h); the first command
    state,    ///< of a training: updates so far, whether moments follow. Weights and moments follow
    update,   ///< of a training: numbers as update_numbers()
    moments,  ///< of a training: send the own moments to rank 0
    batches,  ///< compute batches with the model (distributed_batches.h); the number says what
    end,      ///< nothing more; may be the first command
};

struct ReceivedCommand {
    Command command = Command::end;
    std::vector<std::int64_t> numbers;
};

/// On rank 0.
inline void send_command(Ranks& ranks, Command command, std::vector<std::int64_t> numbers = {}) {
    numbers.insert(numbers.begin(), static_cast<std::int64_t>(command));
    broadcast(ranks, std::move(numbers));
}

/// On the others: waits for the next command.
inline ReceivedCommand receive_command(Ranks& ranks) {
    ReceivedCommand given{.command = Command::end, .numbers = broadcast(ranks, std::vector<std::int64_t>())};
    given.command = static_cast<Command>(given.numbers.at(0));
    given.numbers.erase(given.numbers.begin());
    return given;
}

}  // namespace heddle::app
