// Ranks over MPI.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>
#ifdef __linux__
#include <sched.h>
#endif

#include "apps/translation/distributed/ranks.h"
#include "core/format.h"
#include "core/parallel.h"

namespace heddle::app {
namespace {

// MPI counts with 32 bits.
constexpr std::size_t most_bytes = std::size_t{1} << 30;

class MpiRanks final : public Ranks {
  public:
    MpiRanks() {
        int provided = 0;
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
        check(provided >= MPI_THREAD_FUNNELED, "MPI: this library gives no support for programs with threads");
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
        look_at_host();
    }

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    int rank_on_host() const override { return rank_on_host_; }
    int own_processors() const override { return own_processors_; }

    std::string host() const override {
        std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
        int length = 0;
        MPI_Get_processor_name(name.data(), &length);
        return {name.data(), static_cast<std::size_t>(length)};
    }

    void broadcast(std::span<std::byte> bytes) override {
        std::vector<MPI_Request> requests;
        in_pieces(bytes, [&](std::byte* from, int count) {
            MPI_Ibcast(from, count, MPI_BYTE, 0, MPI_COMM_WORLD, &requests.emplace_back());
        });
        wait(requests);
    }

    void exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) override {
        std::vector<MPI_Request> requests;
        for (const Incoming& in : incoming)
            in_pieces(in.bytes, [&](std::byte* to, int count) {
                MPI_Irecv(to, count, MPI_BYTE, in.from, 0, MPI_COMM_WORLD, &requests.emplace_back());
            });
        for (const Outgoing& out : outgoing)
            in_pieces(out.bytes, [&](const std::byte* from, int count) {
                MPI_Isend(from, count, MPI_BYTE, out.to, 0, MPI_COMM_WORLD, &requests.emplace_back());
            });
        wait(requests);
    }

    void start_send(const Outgoing& out, int number, std::shared_ptr<const void> memory) override {
        MPI_Isend(out.bytes.data(), count_of(out.bytes), MPI_BYTE, out.to, number, MPI_COMM_WORLD, &started_.emplace_back());
        under_way_.push_back({0, std::move(memory)});
    }
    void start_receive(const Incoming& in, int number, std::shared_ptr<const void> memory) override {
        MPI_Irecv(in.bytes.data(), count_of(in.bytes), MPI_BYTE, in.from, number, MPI_COMM_WORLD, &started_.emplace_back());
        under_way_.push_back({static_cast<std::int64_t>(in.bytes.size()), std::move(memory)});
    }
    std::int64_t arrived() override {
        int done = 0;
        finished_.resize(started_.size());
        MPI_Testsome(static_cast<int>(started_.size()), started_.data(), &done, finished_.data(), MPI_STATUSES_IGNORE);
        for (int i = 0; i < done; ++i, ++ended_)  // MPI_UNDEFINED, when none is under way, is negative
            arrived_ += under_way_[static_cast<std::size_t>(finished_[static_cast<std::size_t>(i)])].incoming;
        return arrived_;
    }
    void settle() override {
        wait_until([&] {
            arrived();
            return ended_ == started_.size();
        });
        started_.clear();
        under_way_.clear();
        ended_ = 0;
        arrived_ = 0;
    }

    void finish() override { MPI_Finalize(); }

    void end_all(int status) override {
        std::fflush(nullptr);
        MPI_Abort(MPI_COMM_WORLD, status);
        std::_Exit(status);
    }

  private:
    struct UnderWay {
        std::int64_t incoming = 0;  // bytes; 0 of a message that is sent
        std::shared_ptr<const void> memory;
    };

    static int count_of(std::span<const std::byte> bytes) {
        check(bytes.size() <= most_bytes, "MPI: a message of {} bytes, wanted at most {}", bytes.size(), most_bytes);
        return static_cast<int>(bytes.size());
    }

    template <class Bytes, class Body>
    static void in_pieces(Bytes bytes, const Body& body) {
        for (std::size_t at = 0; at < bytes.size(); at += most_bytes)
            body(bytes.data() + at, static_cast<int>(std::min(most_bytes, bytes.size() - at)));
    }

    static void wait(std::vector<MPI_Request>& requests) {
        wait_until([&] {
            int done = 0;
            MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
            return done != 0;
        });
    }

    // MPI's own waiting occupies a processor, which another rank may need: ranks wait while rank 0 reads, writes or saves.
    template <class Done>
    static void wait_until(const Done& done) {
        using namespace std::chrono_literals;
        const auto start = std::chrono::steady_clock::now();
        while (!done()) {
            const auto waited = std::chrono::steady_clock::now() - start;
            if (waited < 200us)
                std::this_thread::yield();
            else
                std::this_thread::sleep_for(waited < 20ms ? 20us : 500us);
        }
    }

    void look_at_host() {
        own_processors_ = threads();
        int together = own_processors_, here = 1;
        MPI_Comm host = MPI_COMM_NULL;
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
        MPI_Comm_size(host, &here);
        MPI_Comm_rank(host, &rank_on_host_);
#ifdef __linux__
        cpu_set_t own, all;
        CPU_ZERO(&own);
        CPU_ZERO(&all);
        // Fails on machines with more than 1024 processors, for all of their ranks: the masks stay empty.
        if (sched_getaffinity(0, sizeof own, &own) != 0) CPU_ZERO(&own);
        MPI_Allreduce(&own, &all, sizeof own, MPI_BYTE, MPI_BOR, host);
        if (CPU_COUNT(&all) > 0) together = CPU_COUNT(&all);
#endif
        MPI_Comm_free(&host);
        own_processors_ = std::max(1, std::min(own_processors_, together / here));
    }

    int rank_ = 0, size_ = 1, rank_on_host_ = 0, own_processors_ = 1;
    // Since the last settle():
    std::vector<MPI_Request> started_;
    std::vector<UnderWay> under_way_;  // of each of these
    std::vector<int> finished_;        // room for MPI_Testsome
    std::size_t ended_ = 0;
    std::int64_t arrived_ = 0;
};

}  // namespace

std::unique_ptr<Ranks> join_ranks() {
    const int started = started_ranks();
    if (started == 1) return nullptr;
    if (started_without_mpi())
        refuse_start(
            fmt::format("srun started {} processes without an interface for MPI: each would do all of the work by itself; give "
                        "srun --mpi=pmix or another of those that srun --mpi=list names",
                        started));
    auto ranks = std::make_unique<MpiRanks>();
    if (ranks->size() == started) return ranks;
    const int seen = ranks->size();
    ranks->finish();
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
    int length = 0;
    MPI_Get_library_version(version.data(), &length);
    const std::string text(version.data(), static_cast<std::size_t>(length));
    refuse_start(
        fmt::format("started as {} processes, but {}, which this program was built with, sees {}: mpirun or srun belongs to "
                    "another MPI; use the one of the build",
                    started, text.substr(0, text.find_first_of(",\n")), seen));
}

}  // namespace heddle::app
