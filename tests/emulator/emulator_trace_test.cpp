// The trace of watched kernels and the costs of warps' requests: every expected count is computed by hand.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/emulator/checker/reported.h"
#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/trace/requests.h"
#include "kernels/emulator/trace/traffic.h"
#include "tests/emulator/emulator_trace_kernels.h"

namespace heddle::emulator {
namespace {

constexpr std::size_t kFloats = 4096;
constexpr std::uint32_t kAllLanes = ~std::uint32_t{0};

class DeviceFloats {
  public:
    explicit DeviceFloats(bool filled) {
        EXPECT_EQ(cudaMalloc(&data_, kFloats * sizeof(float)), cudaSuccess);
        std::vector<float> values(kFloats);
        for (std::size_t i = 0; filled && i < kFloats; ++i) values[i] = static_cast<float>(i);
        EXPECT_EQ(cudaMemcpy(data_, values.data(), kFloats * sizeof(float), cudaMemcpyHostToDevice), cudaSuccess);
    }
    ~DeviceFloats() { cudaFree(data_); }
    DeviceFloats(const DeviceFloats&) = delete;
    DeviceFloats& operator=(const DeviceFloats&) = delete;
    float* get() const { return data_; }

  private:
    float* data_ = nullptr;
};

struct Traced {
    TracedLaunch launch;
    std::vector<Request> requests;
    std::uint64_t x = 0, y = 0;  // addresses

    std::vector<Request> of(Action action, bool shared) const {
        std::vector<Request> found;
        for (const Request& request : requests)
            if (request.action == action && request.shared == shared) found.push_back(request);
        return found;
    }
    const TraceEvent& event(const Request& request, std::size_t lane) const { return launch.events.at(request.events.at(lane)); }
    float value(const Request& request, std::size_t lane) const {
        float value = 0;
        std::memcpy(&value, event(request, lane).value.data(), sizeof value);
        return value;
    }
};

Traced traced(const Pattern& pattern) {
    const DeviceFloats x(true), y(false);
    begin_trace();
    pattern(x.get(), y.get());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << cudaGetErrorString(cudaErrorLaunchFailure);
    std::vector<TracedLaunch> launches = end_trace();
    EXPECT_EQ(launches.size(), 1u);
    Traced result{launches.empty() ? TracedLaunch() : std::move(launches.front()),
                  {},
                  reinterpret_cast<std::uint64_t>(x.get()),
                  reinterpret_cast<std::uint64_t>(y.get())};
    result.requests = requests_of(result.launch);
    return result;
}

class EmulatorTrace : public testing::Test {
  protected:
    void SetUp() override {
        if (!checker::kEnabled) GTEST_SKIP() << "only watched kernels can be traced";
    }
    /// Runs the check in ten random orders of the threads.
    template <class Check>
    static void in_orders(const Pattern& pattern, const Check& check) {
        for (std::uint64_t order = 0; order < 10; ++order) {
            SCOPED_TRACE("seed " + std::to_string(order));
            set_seed(order);
            check(traced(pattern));
            if (testing::Test::HasFailure()) return;
        }
    }
    static void expect_global(const Request& request, std::uint64_t asked, std::uint64_t needed, std::uint64_t sectors) {
        EXPECT_EQ(request.lanes, kAllLanes);
        EXPECT_EQ(request.asked, asked);
        EXPECT_EQ(request.needed, needed);
        EXPECT_EQ(request.sectors, sectors);
    }
    static void expect_shared(const Request& request, std::uint32_t degree, std::uint32_t cycles, std::uint32_t parts) {
        EXPECT_EQ(request.lanes, kAllLanes);
        EXPECT_EQ(request.degree, degree);
        EXPECT_EQ(request.cycles, cycles);
        EXPECT_EQ(request.parts, parts);
    }
    /// Expects one read of x by all lanes with this cost, and one contiguous write of y.
    static void expect_read(const Pattern& pattern, std::uint64_t asked, std::uint64_t needed, std::uint64_t sectors) {
        in_orders(pattern, [&](const Traced& seen) {
            ASSERT_EQ(seen.requests.size(), 2u);
            EXPECT_EQ(seen.requests[0].action, Action::read);
            expect_global(seen.requests[0], asked, needed, sectors);
            EXPECT_EQ(seen.requests[1].action, Action::write);
            expect_global(seen.requests[1], asked, asked, asked / 32);
        });
    }
    /// Expects one read of shared memory with this cost. Filling shared memory causes no conflict.
    static void expect_banks(const Pattern& pattern, std::uint32_t degree, std::uint32_t cycles, std::uint32_t parts) {
        in_orders(pattern, [&](const Traced& seen) {
            const std::vector<Request> reads = seen.of(Action::read, true), writes = seen.of(Action::write, true);
            ASSERT_EQ(reads.size(), 1u);
            expect_shared(reads[0], degree, cycles, parts);
            ASSERT_EQ(writes.size(), 32u);
            for (const Request& write : writes) expect_shared(write, 1, 1, 1);
        });
    }
};

// 32 lanes of 4 bytes: 128 bytes, 4 sectors of 32.
TEST_F(EmulatorTrace, Coalesced) { expect_read(strided_pattern(1, 0), 128, 128, 4); }
// Every other number: 256 bytes are spanned.
TEST_F(EmulatorTrace, StridedBy2) { expect_read(strided_pattern(2, 0), 128, 128, 8); }
// 132 bytes from lane to lane: each lane has its own sector.
TEST_F(EmulatorTrace, StridedBy33) { expect_read(strided_pattern(33, 0), 128, 128, 32); }
// From byte 4 to byte 131: the last number is in a fifth sector.
TEST_F(EmulatorTrace, OffsetBy4Bytes) { expect_read(strided_pattern(1, 1), 128, 128, 5); }
// All lanes read the same 4 bytes.
TEST_F(EmulatorTrace, Broadcast) { expect_read(strided_pattern(0, 7), 128, 4, 1); }
// 32 lanes of 16 bytes: 512 bytes, 16 sectors.
TEST_F(EmulatorTrace, Float4) { expect_read(float4_pattern(), 512, 512, 16); }

TEST_F(EmulatorTrace, Transposed) {
    in_orders(transposed_pattern(), [](const Traced& seen) {
        const std::vector<Request> reads = seen.of(Action::read, false), writes = seen.of(Action::write, false);
        ASSERT_EQ(reads.size(), 4u);
        ASSERT_EQ(writes.size(), 4u);
        for (std::uint32_t i = 0; i < 4; ++i) {
            expect_global(reads[i], 128, 128, 32);  // rows of 128 bytes: one sector per lane
            expect_global(writes[i], 128, 128, 4);
            for (std::uint32_t lane = 0; lane < 32; ++lane)
                EXPECT_EQ(seen.event(reads[i], lane).address, seen.x + 4 * (32 * lane + i));
        }
    });
}

// Lanes t and t + 16 access different words of bank 2 t mod 32.
TEST_F(EmulatorTrace, BankConflict2Way) { expect_banks(banks_pattern(2), 2, 2, 1); }
// Banks 0, 8, 16 and 24 have 8 words each.
TEST_F(EmulatorTrace, BankConflict8Way) { expect_banks(banks_pattern(8), 8, 8, 1); }
// A column of a tile with rows of 32 floats: one bank has all 32 words.
TEST_F(EmulatorTrace, BankConflict32Way) { expect_banks(banks_pattern(32), 32, 32, 1); }
// The same column, with row r's words permuted by ^ r: each is in a different bank.
TEST_F(EmulatorTrace, Swizzled) { expect_banks(swizzled_pattern(5), 1, 1, 1); }

TEST_F(EmulatorTrace, Divergent) {
    in_orders(divergent_pattern(), [](const Traced& seen) {
        const std::vector<Request> reads = seen.of(Action::read, false);
        ASSERT_EQ(reads.size(), 3u);
        for (const Request& read : reads) {
            const std::uint64_t lanes = read.lanes == 0xffu ? 8 : 16;
            EXPECT_TRUE(read.lanes == 0xaaaaaaaau || read.lanes == 0x55555555u || read.lanes == 0xffu) << read.lanes;
            EXPECT_EQ(read.needed, 4 * lanes);
            EXPECT_EQ(read.sectors, lanes == 8 ? 1u : 4u);
        }
        EXPECT_NE(reads[0].lanes, reads[1].lanes);
        EXPECT_EQ(reads[2].lanes, 0xffu);
        EXPECT_EQ(totals_of(seen.launch, seen.requests).divergent, 6u);  // with the writes
    });
}

// One word for all lanes, and an odd stride, are no conflict.
TEST_F(EmulatorTrace, NoBankConflict) {
    expect_banks(banks_pattern(0), 1, 1, 1);
    expect_banks(banks_pattern(1), 1, 1, 1);
    expect_banks(banks_pattern(31), 1, 1, 1);
}

// With 16 bytes per lane, 8 lanes are served at a time.
TEST_F(EmulatorTrace, SharedFloat4) {
    expect_banks(shared_float4_pattern(4), 1, 4, 4);
    expect_banks(shared_float4_pattern(8), 2, 8, 4);    // lanes t and t + 4: 128 bytes apart
    expect_banks(shared_float4_pattern(32), 8, 32, 4);  // 8 rows of 128 bytes
    expect_banks(shared_float4_pattern(0), 1, 4, 4);
}

TEST_F(EmulatorTrace, HasPlacesAddressesAndValues) {
    const Traced seen = traced(strided_pattern(3, 2));
    ASSERT_EQ(seen.requests.size(), 2u);
    EXPECT_EQ(seen.launch.kernel, "strided_kernel");
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
        const auto wanted = static_cast<float>(3 * lane + 2);
        EXPECT_EQ(seen.event(seen.requests[0], lane).address, seen.x + 4 * (3 * lane + 2));
        EXPECT_EQ(seen.value(seen.requests[0], lane), wanted);
        EXPECT_EQ(seen.event(seen.requests[1], lane).address, seen.y + 4 * lane);
        EXPECT_EQ(seen.value(seen.requests[1], lane), wanted);  // that of y was 0 before
    }
    const std::string line = "tests/emulator/emulator_trace_kernels.cu:" + std::to_string(strided_line());
    for (const Request& request : seen.requests) EXPECT_EQ(seen.launch.sites.at(request.site).place, line);
}

TEST_F(EmulatorTrace, KeepsTheOrderOfAWarpAndItsBarriers) {
    in_orders(reversed_pattern(), [](const Traced& seen) {
        const std::vector<Action> wanted = {Action::read, Action::write, Action::barrier, Action::read, Action::write};
        ASSERT_EQ(seen.requests.size(), 2 * wanted.size());
        for (std::size_t i = 0; i < seen.requests.size(); ++i) {
            EXPECT_EQ(seen.requests[i].action, wanted[i % wanted.size()]);
            EXPECT_EQ(seen.requests[i].warp, i / wanted.size());
            EXPECT_EQ(seen.requests[i].lanes, kAllLanes);
        }
        EXPECT_EQ(seen.launch.sites.at(seen.requests[2].site).what, "__syncthreads");
        EXPECT_EQ(seen.event(seen.requests[3], 1).address, 62 * 4u);
        EXPECT_EQ(seen.value(seen.requests[3], 1), 62.0f);
        const RequestTotals totals = totals_of(seen.launch, seen.requests);
        EXPECT_EQ(totals.barriers, 2u);
        EXPECT_EQ(totals.divergent, 0u);
        EXPECT_EQ(totals.needed, 2 * 64 * 4u);
        EXPECT_EQ(totals.sectors, 2 * 64 * 4u / 32);
    });
}

TEST_F(EmulatorTrace, ShowsAsynchronousCopies) {
    in_orders(copied_pattern(), [](const Traced& seen) {
        const std::vector<Action> wanted = {Action::copy_read, Action::copy_write, Action::commit, Action::copy_wait,
                                            Action::barrier,   Action::read,       Action::write};
        ASSERT_EQ(seen.requests.size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(seen.requests[i].action, wanted[i]) << i;
        expect_global(seen.requests[0], 512, 512, 16);
        EXPECT_EQ(seen.value(seen.requests[0], 3), 12.0f);
        expect_shared(seen.requests[1], 1, 4, 4);
        EXPECT_EQ(seen.event(seen.requests[1], 3).address, 512u + 48);  // without red zones
    });
}

// Lanes that waited once less continue together with the others after all have waited.
TEST_F(EmulatorTrace, LanesMeetAgain) {
    in_orders(half_shuffle_pattern(), [](const Traced& seen) {
        const std::vector<Action> wanted = {Action::collective, Action::collective, Action::read, Action::write};
        ASSERT_EQ(seen.requests.size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            EXPECT_EQ(seen.requests[i].action, wanted[i]) << i;
            EXPECT_EQ(seen.requests[i].lanes, i == 0 ? 0xffffu : kAllLanes);
        }
        EXPECT_EQ(seen.launch.sites.at(seen.requests[0].site).what, "__shfl_xor_sync");
        // Lane l gave l, and has its neighbour's number.
        ASSERT_EQ(seen.launch.exchanges.size(), 1u) << "the second meeting moves no values";
        ASSERT_EQ(seen.event(seen.requests[0], 0).address, 1u);
        EXPECT_EQ(seen.event(seen.requests[1], 0).address, 0u);
        const TracedExchange& moved = seen.launch.exchanges[0];
        for (std::size_t lane = 0; lane < 32; ++lane) {
            EXPECT_EQ(moved.from[lane], lane < 16 ? lane ^ 1 : TracedExchange::kNobody) << lane;
            if (lane >= 16) continue;
            float before = 0, after = 0;
            std::memcpy(&before, &moved.before[lane], sizeof before);
            std::memcpy(&after, &moved.after[lane], sizeof after);
            EXPECT_EQ(before, static_cast<float>(lane));
            EXPECT_EQ(after, static_cast<float>(lane ^ 1));
        }
    });
}

// Trace and traffic count of one kernel agree (the traffic count only sees vectors).
TEST_F(EmulatorTrace, AgreesWithTheCountOfTraffic) {
    begin_traffic();
    const Traced seen = traced(float4_pattern());
    const Traffic traffic = end_traffic();
    const RequestTotals totals = totals_of(seen.launch, seen.requests);
    EXPECT_EQ(totals.global_requests, traffic.accesses);
    EXPECT_EQ(totals.asked, traffic.bytes);
    EXPECT_EQ(totals.sectors, traffic.sectors);
}

TEST_F(EmulatorTrace, IsOffUnlessAsked) {
    const DeviceFloats x(true), y(false);
    strided_pattern(1, 0)(x.get(), y.get());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    begin_trace();
    EXPECT_TRUE(end_trace().empty());
}

TEST_F(EmulatorTrace, SaysWhenItIsFull) {
    const DeviceFloats x(true), y(false);
    begin_trace(63);
    strided_pattern(1, 0)(x.get(), y.get());  // 64 accesses
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    const std::string report = cudaGetErrorString(cudaErrorLaunchFailure);
    EXPECT_NE(report.find("makes more than the 63 accesses and waits that a trace holds: run a smaller shape"), std::string::npos)
        << report;
    ASSERT_EQ(end_trace().size(), 1u);
    begin_trace(64);
    strided_pattern(1, 0)(x.get(), y.get());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(end_trace().front().events.size(), 64u);
}

// The traced launches of a pattern that is reported with these words.
TracedLaunch traced_mistake(const Pattern& pattern, const DeviceFloats& x, const DeviceFloats& y, const std::string& words) {
    begin_trace();
    pattern(x.get(), y.get());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    const std::string report = cudaGetErrorString(cudaErrorLaunchFailure);
    EXPECT_NE(report.find(words), std::string::npos) << report;
    std::vector<TracedLaunch> launches = end_trace();
    EXPECT_EQ(launches.size(), 1u);
    if (launches.size() == 1 && launches.front().mistake < launches.front().events.size()) return std::move(launches.front());
    ADD_FAILURE() << "the trace has no mistake";
    TracedLaunch none;
    none.sites.resize(1);
    none.events.resize(1);
    none.mistake = none.earlier = 0;
    return none;
}

TEST_F(EmulatorTrace, HasBothAccessesOfARace) {
    for (std::uint64_t order = 0; order < 10; ++order) {
        SCOPED_TRACE("seed " + std::to_string(order));
        set_seed(order);
        const DeviceFloats x(true), y(false);
        const TracedLaunch launch = traced_mistake(racing_pattern(), x, y, "race: reads 4 bytes of shared memory");
        ASSERT_LT(launch.earlier, launch.mistake);
        EXPECT_EQ(launch.mistake + 1, launch.events.size()) << "it ended the launch";
        const TraceEvent &read = launch.events[launch.mistake], &write = launch.events[launch.earlier];
        EXPECT_EQ(read.action, Action::read);
        EXPECT_EQ(write.action, Action::write);
        EXPECT_EQ(read.thread + write.thread, 63) << "the thread that exchanges with it";
        EXPECT_TRUE(read.shared && write.shared);
        EXPECT_EQ(read.address, 4u * write.thread);
        EXPECT_EQ(write.address, read.address);
        for (const TraceEvent* event : {&read, &write})
            EXPECT_TRUE(launch.sites.at(event->site).place.ends_with(":" + std::to_string(racing_line())));
        const std::optional<ReportedAccess> reported = last_reported_access();
        ASSERT_TRUE(reported.has_value());
        EXPECT_EQ(reported->mistake, Mistake::race);
        EXPECT_EQ(reported->verb, "reads");
        EXPECT_EQ(reported->place, launch.sites.at(read.site).place);
        EXPECT_EQ(reported->earlier_verb, "wrote");
        EXPECT_EQ(reported->earlier_thread, "thread (" + std::to_string(write.thread) + ", 0, 0)");
        EXPECT_EQ(reported->earlier_place, launch.sites.at(write.site).place);
        EXPECT_EQ(reported->allocation, 0u) << "shared memory";
        EXPECT_FALSE(reported->both_write || reported->is_between_blocks);
        ASSERT_EQ(launch.pieces.size(), 1u);
        EXPECT_EQ(launch.pieces[0].start, 0u);
        EXPECT_EQ(launch.pieces[0].bytes, 64 * 4u);
    }
}

TEST_F(EmulatorTrace, HasTheCopyThatWasNotWaitedFor) {
    const DeviceFloats x(true), y(false);
    const TracedLaunch launch = traced_mistake(used_early_pattern(), x, y, "and has not waited for");
    ASSERT_LT(launch.earlier, launch.mistake);
    EXPECT_EQ(launch.events[launch.mistake].action, Action::read);
    EXPECT_EQ(launch.events[launch.earlier].action, Action::copy_write);
    EXPECT_EQ(launch.events[launch.earlier].thread, launch.events[launch.mistake].thread);
}

TEST_F(EmulatorTrace, HasAnAccessThatIsOutOfBounds) {
    const DeviceFloats x(true), y(false);
    const TracedLaunch global = traced_mistake(strided_pattern(1, kFloats), x, y, "past the end of");
    const TraceEvent& read = global.events[global.mistake];
    EXPECT_EQ(read.address, reinterpret_cast<std::uint64_t>(x.get()) + 4 * (kFloats + read.thread));
    EXPECT_FALSE(read.shared);
    EXPECT_EQ(global.earlier, kNoEvent);
    const std::optional<ReportedAccess> reported = last_reported_access();
    ASSERT_TRUE(reported.has_value());
    EXPECT_EQ(reported->mistake, Mistake::bounds);
    EXPECT_EQ(reported->allocation, reinterpret_cast<std::uint64_t>(x.get()));
    EXPECT_EQ(reported->address, read.address);
    EXPECT_NE(std::string(cudaGetErrorString(cudaErrorLaunchFailure)).find(reported->what), std::string::npos);

    const TracedLaunch shared = traced_mistake(banks_pattern(40), x, y, "past the end of a piece");
    const TraceEvent& behind = shared.events[shared.mistake];
    EXPECT_TRUE(behind.shared);
    EXPECT_EQ(behind.address, 4u * 40 * behind.thread);
    EXPECT_GE(behind.address, 4096u);
}

TEST_F(EmulatorTrace, StopsRecordingWhenToldTo) {
    const DeviceFloats x(true), y(false);
    begin_trace(63, WhenFull::stop_recording);
    strided_pattern(1, 0)(x.get(), y.get());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "the kernel ran to its end";
    const std::optional<std::vector<TracedLaunch>> so_far = trace_so_far();
    const std::vector<TracedLaunch> launches = end_trace();
    ASSERT_EQ(launches.size(), 1u);
    EXPECT_EQ(launches[0].events.size(), 63u);
    EXPECT_TRUE(launches[0].is_cut);
    EXPECT_FALSE(last_reported_access().has_value()) << "this launch had no mistake";
    ASSERT_TRUE(so_far.has_value());
    ASSERT_EQ(so_far->size(), 1u);
    EXPECT_EQ(so_far->front().events.size(), 63u);
    EXPECT_EQ(so_far->front().sites.size(), launches[0].sites.size());

    begin_trace(1, WhenFull::stop_recording);
    used_early_pattern()(x.get(), y.get());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    EXPECT_NE(end_trace().front().mistake, kNoEvent) << "there is room for a mistake";
}

TEST(EmulatorTraceOfUnwatchedKernels, IsRefused) {
    if (checker::kEnabled) GTEST_SKIP() << "these kernels are watched";
    EXPECT_THROW(begin_trace(), std::logic_error);
}

}  // namespace
}  // namespace heddle::emulator
