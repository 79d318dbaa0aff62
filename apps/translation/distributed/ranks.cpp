#include "apps/translation/distributed/ranks.h"

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "core/format.h"
#include "core/from_chars.h"

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

template <class Values>
Values broadcast_values(Ranks& ranks, Values values) {
    auto count = static_cast<std::int64_t>(values.size());
    ranks.broadcast(std::as_writable_bytes(std::span(&count, 1)));
    values.resize(static_cast<std::size_t>(count));
    ranks.broadcast(std::as_writable_bytes(std::span(values)));
    return values;
}

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

std::vector<std::int64_t> broadcast(Ranks& ranks, std::vector<std::int64_t> values) {
    return broadcast_values(ranks, std::move(values));
}

std::string broadcast(Ranks& ranks, std::string text) { return broadcast_values(ranks, std::move(text)); }

std::string scatter(Ranks& ranks, std::vector<std::string> texts) {
    const auto bytes = [](auto& value) { return std::as_writable_bytes(std::span(&value, 1)); };
    if (ranks.rank() != 0) {
        std::int64_t length = 0;
        const Incoming in{0, bytes(length)};
        ranks.exchange({}, {&in, 1});
        std::string text(static_cast<std::size_t>(length), '\0');
        const Incoming letters{0, std::as_writable_bytes(std::span(text))};
        ranks.exchange({}, {&letters, 1});
        return text;
    }
    std::vector<std::int64_t> lengths;
    for (const std::string& text : texts) lengths.push_back(static_cast<std::int64_t>(text.size()));
    std::vector<Outgoing> outgoing;
    for (std::size_t rank = 1; rank < texts.size(); ++rank) {
        outgoing.push_back({static_cast<int>(rank), bytes(lengths[rank])});
        outgoing.push_back({static_cast<int>(rank), std::as_bytes(std::span(texts[rank]))});
    }
    ranks.exchange(outgoing, {});
    return std::move(texts.at(0));
}

std::vector<std::string> gather(Ranks& ranks, const std::string& text) {
    const auto others = static_cast<std::size_t>(ranks.size());
    std::vector<std::int64_t> lengths(others, static_cast<std::int64_t>(text.size()));
    const auto bytes = [](auto& value) { return std::as_writable_bytes(std::span(&value, 1)); };
    if (ranks.rank() != 0) {
        const Outgoing length{0, bytes(lengths[0])}, letters{0, std::as_bytes(std::span(text))};
        ranks.exchange({&length, 1}, {});
        ranks.exchange({&letters, 1}, {});
        return {};
    }
    std::vector<std::string> texts(others);
    texts[0] = text;
    std::vector<Incoming> incoming;
    for (std::size_t rank = 1; rank < others; ++rank) incoming.push_back({static_cast<int>(rank), bytes(lengths[rank])});
    ranks.exchange({}, incoming);
    incoming.clear();
    for (std::size_t rank = 1; rank < others; ++rank) {
        texts[rank].resize(static_cast<std::size_t>(lengths[rank]));
        incoming.push_back({static_cast<int>(rank), std::as_writable_bytes(std::span(texts[rank]))});
    }
    ranks.exchange({}, incoming);
    return texts;
}

}  // namespace heddle::app
