#include "apps/translation/distributed/ranks.h"

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "core/format.h"
#include "core/text.h"

namespace heddle::app {
namespace {

// The number that an environment variable holds; 0 when there is none.
int number_in(const char* name) {
    const char* const text = std::getenv(name);
    if (text == nullptr) return 0;
    const std::string_view digits = text;
    int number = 0;
    const auto [rest, error] = from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc() && rest == digits.data() + digits.size() ? number : 0;
}

bool has(const char* name) { return std::getenv(name) != nullptr; }
bool has_pmi() { return has("PMI_RANK") || has("PMIX_RANK"); }

}  // namespace

std::string naming_the_rank(const Ranks& ranks, std::string_view what) {
    return fmt::format("rank {} on {}: {}", ranks.rank(), ranks.host(), what);
}

int started_ranks() {
    // OpenMPI's mpirun; MPICH's (Hydra), Intel's and srun --mpi=pmi2; srun --mpi=pmix and --mpi=none, which leave the number to
    // Slurm's own variables. A batch script, which is one process, has SLURM_NTASKS, too, but no SLURM_STEP_NUM_TASKS.
    const int by_pmix = has_pmi() && !has("SLURM_STEP_NUM_TASKS") ? number_in("SLURM_NTASKS") : 0;
    for (const int number :
         {number_in("OMPI_COMM_WORLD_SIZE"), number_in("PMI_SIZE"), number_in("SLURM_STEP_NUM_TASKS"), by_pmix})
        if (number > 0) return number;
    return 1;
}

bool started_without_mpi() { return number_in("SLURM_STEP_NUM_TASKS") > 1 && !has("OMPI_COMM_WORLD_SIZE") && !has_pmi(); }

void refuse_start(const std::string& why) {
    // Under mpirun, Slurm's number is that of the starter of each machine.
    int rank = 0;
    for (const char* name : {"SLURM_PROCID", "PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK"})
        if (has(name)) rank = number_in(name);
    if (rank == 0) throw UsageError(why);
    std::this_thread::sleep_for(std::chrono::seconds(2));
    std::_Exit(2);
}

std::string device_of_rank(const char* visible, int rank_on_host) {
    if (visible == nullptr) return std::to_string(rank_on_host);
    std::vector<std::string> devices;
    std::istringstream list(visible);
    for (std::string device; std::getline(list, device, ',');) devices.push_back(device);
    return devices.empty() ? std::string() : devices[static_cast<std::size_t>(rank_on_host) % devices.size()];
}

}  // namespace heddle::app
