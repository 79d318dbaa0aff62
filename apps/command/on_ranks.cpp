#include "apps/command/on_ranks.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "apps/command/commands.h"
#include "apps/command/memory_advice.h"
#include "apps/terminal/error_text.h"
#include "apps/translation/distributed/distributed_batches.h"
#include "apps/translation/distributed/message.h"
#include "core/cpu.h"
#include "core/error.h"
#include "core/parallel.h"

namespace heddle::app {
namespace {

// How a process was started; must be equal on all ranks.
struct Start {
    std::string program;    // version and commit
    std::string arguments;  // one per line

    std::string text() const { return program + "\n" + arguments; }
};

Start start_of(Arguments arguments) {
    Start start{.program = fmt::format("{} {}", version, build_commit), .arguments = {}};
    for (const char* const argument : arguments) start.arguments.append(argument).append("\n");
    return start;
}

void check_started_alike(Ranks& ranks, Arguments arguments) {
    const Start own = start_of(arguments);
    const std::string first = broadcast(ranks, own.text());
    check_on_all(ranks, [&] {
        check_usage(first.substr(0, first.find('\n')) == own.program,
                    fmt::format("this is version {}, rank 0 is {}; start the same program everywhere", own.program,
                                first.substr(0, first.find('\n'))));
        check_usage(first == own.text(), "started with other arguments than rank 0; give all ranks the same");
    });
}

// Runs `run`; errors of ranks other than 0 name the rank and its host.
int with_named_errors(const Ranks& ranks, const std::function<int()>& run) {
    try {
        return with_memory_advice([] { return more_memory; }, run);
    } catch (const UsageError& error) {
        throw UsageError(naming_the_rank(ranks, error.what()));
    } catch (const std::exception& error) {
        throw Error(naming_the_rank(ranks, error_text(error)));
    }
}

}  // namespace

void check_on_all(Ranks& ranks, const std::function<void()>& check) {
    std::string objection;
    try {
        check();
    } catch (const UsageError& error) {
        objection = naming_the_rank(ranks, error.what());
    }
    for (const std::string& each : gather(ranks, objection)) check_usage(each.empty(), each);
}

void apply_alike(Ranks& ranks, const MachineOptions& machine, CpuLevel level_of_rank_0) {
    check_on_all(ranks, [&] {
        apply_silently(machine);
        check_usage(same_bits(level_of_rank_0, cpu_level()),
                    fmt::format("this processor computes at the level {}, rank 0 at {}, with other bits; give --cpu-level {}",
                                name(cpu_level()), name(level_of_rank_0), word_of(std::min(level_of_rank_0, cpu_level()))));
    });
}

int on_ranks(Arguments arguments, const std::function<int(Ranks*)>& lead, const std::function<int(Ranks&)>& follow) {
    const std::unique_ptr<Ranks> ranks = join_ranks();
    if (ranks == nullptr) return lead(nullptr);
    set_threads(ranks->own_processors());  // the default, before --threads
    // Must precede the first CUDA call, which then sees this GPU only.
    setenv("CUDA_VISIBLE_DEVICES", device_of_rank(std::getenv("CUDA_VISIBLE_DEVICES"), ranks->rank_on_host()).c_str(), 1);
    bool well = false;
    const int status = guarded([&] {
        const auto run = [&] {
            check_started_alike(*ranks, arguments);
            return ranks->rank() == 0 ? lead(ranks.get()) : follow(*ranks);
        };
        const int result = ranks->rank() == 0 ? run() : with_named_errors(*ranks, run);
        well = true;
        return result;
    });
    if (!well) ranks->end_all(status);
    if (ranks->rank() == 0) send_command(*ranks, Command::end);
    ranks->finish();
    return status;
}

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
