// Runs a launch from its first block to its last: any free CPU thread takes the next group of blocks.
#include "kernels/emulator/run/run.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/trace_hooks.h"
#include "kernels/emulator/run/verdict.h"

namespace heddle::emulator {
namespace {

std::atomic<std::uint64_t> the_seed{0};
std::atomic<bool> seed_known{false};
std::atomic<std::uint64_t> launches{0};
std::atomic<std::uint64_t> generation{0};
thread_local constinit const std::vector<std::uint64_t>* chosen = nullptr;

int wanted_workers() {
    const char* const text = std::getenv("HEDDLE_EMULATOR_THREADS");
    // Each may hold the fibers of a whole block.
    const int most = static_cast<int>(kMostFibers / 1024);
    const int count = text != nullptr ? std::atoi(text) : static_cast<int>(std::thread::hardware_concurrency());
    return std::clamp(count, 1, most);
}

// The CPU threads that run blocks: the launching thread and others that sleep between launches.
class Pool {
  public:
    explicit Pool(int workers) : process_(getpid()) {
        for (int i = 0; i < workers; ++i) schedulers_.push_back(std::make_unique<Scheduler>());
        for (int i = 1; i < workers; ++i) threads_.emplace_back([this, i] { serve(*schedulers_[static_cast<std::size_t>(i)]); });
    }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    bool is_of_this_process() const { return process_ == getpid(); }

    void run(Launch& launch, bool alone) {
        if (!alone && !threads_.empty()) {
            {
                const std::lock_guard lock(mutex_);
                launch_ = &launch;
                ++round_;
            }
            wake_.notify_all();
        }
        schedulers_[0]->attach();
        std::exception_ptr error;
        try {
            schedulers_[0]->work(launch);
        } catch (...) {
            error = std::current_exception();
        }
        scheduler = nullptr;
        std::unique_lock lock(mutex_);
        launch_ = nullptr;  // threads that have not started by now are too late
        idle_.wait(lock, [this] { return working_ == 0; });
        const std::exception_ptr others = std::exchange(error_, nullptr);  // reset it even if it is not thrown
        if (error == nullptr) error = others;
        if (error != nullptr) std::rethrow_exception(error);
    }

  private:
    void serve(Scheduler& own) {
        own.attach();
        std::uint64_t seen = 0;
        std::unique_lock lock(mutex_);
        for (;;) {
            wake_.wait(lock, [&] { return launch_ != nullptr && round_ != seen; });
            seen = round_;
            ++working_;
            Launch& launch = *launch_;
            lock.unlock();
            std::exception_ptr error;
            try {
                own.work(launch);
            } catch (...) {
                launch.failed = true;
                error = std::current_exception();
            }
            lock.lock();
            if (error != nullptr) error_ = error;
            if (--working_ == 0) idle_.notify_all();
        }
    }

    const pid_t process_;
    std::vector<std::unique_ptr<Scheduler>> schedulers_;
    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable wake_, idle_;
    Launch* launch_ = nullptr;
    std::uint64_t round_ = 0;
    int working_ = 0;
    std::exception_ptr error_;
};

Pool& pool() {
    // Never destroyed: its threads sleep when the process ends, and do not exist after a fork.
    static Pool* made = nullptr;
    if (made == nullptr || !made->is_of_this_process()) made = new Pool(checker::kEnabled ? 1 : wanted_workers());
    return *made;
}

// Groups run in the order first, first + stride, ... (mod groups), which depends on the seed; stride and groups are coprime, so
// each group runs once. Above 2^32 groups the order is ascending.
void draw_order(Launch& launch) {
    Random random(Random(seed() + launch.number).next());
    launch.first = 0;
    launch.stride = 1;
    if (launch.groups < 2 || launch.groups > (std::uint64_t{1} << 32) - 1) return;
    launch.first = random.below(launch.groups);
    do {
        launch.stride = 1 + random.below(launch.groups - 1);
    } while (std::gcd(launch.stride, launch.groups) != 1);
}

}  // namespace

std::uint64_t seed() {
    if (!seed_known) {
        const char* const text = std::getenv("HEDDLE_EMULATOR_SEED");
        std::uint64_t drawn = text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
        static std::mutex mutex;
        const std::lock_guard lock(mutex);
        if (!seed_known) the_seed = drawn;
        seed_known = true;
    }
    return the_seed;
}

void set_seed(std::uint64_t seed) {
    the_seed = seed;
    seed_known = true;
    launches = 0;
    ++generation;
}

std::uint64_t seed_generation() { return generation; }

ChosenBlocks::ChosenBlocks(std::vector<std::uint64_t> blocks) : blocks_(std::move(blocks)), before_(chosen) { chosen = &blocks_; }
ChosenBlocks::~ChosenBlocks() { chosen = before_; }
const std::vector<std::uint64_t>* chosen_blocks() { return chosen; }

bool is_stack_of_thread(const void* address) { return fiber_stacks().holds(address); }

void run(const LaunchRequest& request, const std::vector<std::uint64_t>* blocks) {
    if (scheduler != nullptr && scheduler->current != nullptr) violate("launches another kernel");
    if (const std::string error = geometry_error(request); !error.empty())
        throw std::invalid_argument("kernel " + kernel_name(request.kernel) + ": " + error);
    if (blocks == nullptr) blocks = chosen;
    const std::uint64_t all = std::uint64_t{request.grid.x} * request.grid.y * request.grid.z;
    std::vector<std::uint64_t> numbers;
    if (blocks != nullptr) {
        numbers = *blocks;
        if (all == 0) std::erase(numbers, kLastBlock);
        std::replace(numbers.begin(), numbers.end(), kLastBlock, all - 1);
        blocks = &numbers;
    }
    const std::uint64_t count = blocks != nullptr ? blocks->size() : all;
    if (blocks != nullptr) {
        if (request.cooperative || request.cluster > 1)
            throw std::invalid_argument("kernel " + kernel_name(request.kernel) +
                                        ": of a cooperative or cluster launch no blocks can be chosen");
        for (const std::uint64_t block : *blocks)
            if (block >= all)
                throw std::invalid_argument("kernel " + kernel_name(request.kernel) + ": block " + std::to_string(block) +
                                            " was chosen of a grid of " + std::to_string(all));
    }
    static std::mutex one_launch_at_a_time;
    const std::lock_guard lock(one_launch_at_a_time);
    note_launch(request.kernel);
    if (count == 0) return;
    Launch launch;
    launch.request = &request;
    launch.number = launches++;
    launch.chosen = blocks;
    launch.blocks_per_group = request.cooperative ? static_cast<int>(count) : request.cluster;
    launch.groups = count / static_cast<std::uint64_t>(launch.blocks_per_group);
    draw_order(launch);
    launch.is_late = is_time_over();
    const checker::Alone alone;
    if constexpr (checker::kEnabled) checker::launch_begins(request);
    if (traces()) trace_launch_begins(request);
    std::exception_ptr error;
    try {
        const std::optional<Timed> timed = request.is_foreign ? std::optional<Timed>(std::in_place) : std::nullopt;
        pool().run(launch, launch.groups == 1);
    } catch (...) {
        error = std::current_exception();
    }
    if (traces()) trace_launch_ends();
    if (std::optional<ViolationRecord> held = checker::held_back(); held && !launch.is_told) write_record(std::move(*held));
    if constexpr (checker::kEnabled) checker::launch_ends();
    if (request.is_foreign) std::fflush(stdout);  // what the kernel printed: a program may end without this
    if (!launch.error.empty()) {
        if (request.is_foreign) checker::forgive_unwritten();
        Violation violation("kernel " + kernel_name(request.kernel) + launch.error + " (HEDDLE_EMULATOR_SEED=" +
                            std::to_string(seed()) + ", launch " + std::to_string(launch.number) + ")");
        if (launch.kind == "assert" && is_foreign_program()) violation.code = 710;  // cudaErrorAssert
        violation.is_told = request.is_foreign;
        throw violation;
    }
    if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace heddle::emulator
