#include "apps/command/model_ranks.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "apps/command/on_ranks.h"
#include "apps/translation/distributed/distributed_batches.h"
#include "apps/translation/distributed/message.h"
#include "core/cpu.h"
#include "core/error.h"

namespace heddle::app {
namespace {

// Identifies the file that is standard input; empty for a terminal, a pipe, an empty file and no input.
std::string input_file() {
    struct stat file {};
    if (fstat(STDIN_FILENO, &file) != 0 || !S_ISREG(file.st_mode) || file.st_size == 0) return {};
    return fmt::format("{} {}", file.st_ino, file.st_size);  // st_dev may differ between machines
}

// Copies rank 0's weights to every rank, through host memory.
void broadcast_weights(Ranks& ranks, const nn::Transformer& model) {
    for (auto& [name, weight] : model.named_tensors()) {
        Tensor here = weight.to(Device::cpu);
        ranks.broadcast(mutable_bytes_of(here));
        if (ranks.rank() != 0) Tensor(weight).copy_(here);
    }
}

}  // namespace

void share_models(Ranks* ranks, std::span<const Run> runs, const MachineOptions& machine) {
    if (ranks == nullptr) return;
    Message message;
    message.put_one(machine);
    message.put_one(cpu_level());
    std::vector<nn::TransformerOptions> models;
    for (const Run& run : runs) models.push_back(run.model->options());
    message.put(models);
    message.put_text(input_file());
    send_command(*ranks, Command::begin, message);
    check_on_all(*ranks, [] {});  // the others' input, compared with this one's
    check_on_all(*ranks, [] {});  // and their processors
    for (const Run& run : runs) broadcast_weights(*ranks, *run.model);
}

int follow_with_models(Ranks& ranks) {
    ReceivedCommand given = receive_command(ranks);
    if (given.command == Command::end) return 0;
    Message& message = given.message;
    const auto machine = message.take_one<MachineOptions>();
    const auto level = message.take_one<CpuLevel>();
    const auto options_of_models = message.take<nn::TransformerOptions>();
    const std::string input = input_file(), input_of_rank_0 = message.take_text();
    check_on_all(ranks, [&] {
        check_usage(input.empty() || input == input_of_rank_0,
                    "its standard input is not that of rank 0, which alone is read; start processes that work on texts of their "
                    "own without mpirun or srun");
    });
    apply_alike(ranks, machine, level);
    std::vector<std::unique_ptr<nn::Transformer>> models;
    std::vector<const nn::Transformer*> ensemble;
    for (const nn::TransformerOptions& options : options_of_models) {
        nn::Transformer& model = *models.emplace_back(std::make_unique<nn::Transformer>(options, std::nullopt));
        ensemble.push_back(&model);
        model.to(machine.device);
        model.to(machine.dtype);
        model.eval();
        broadcast_weights(ranks, model);
    }
    const Ensemble all(std::move(ensemble));
    for (;;) {
        given = receive_command(ranks);
        if (given.command == Command::end) return 0;
        compute_batches(ranks, all, std::move(given.message));
    }
}

}  // namespace heddle::app
