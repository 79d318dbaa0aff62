#include "tests/core/guarded_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "core/device.h"
#include "core/device_impl.h"

namespace heddle {
namespace {

constexpr std::int64_t kGuard = 256;  // before a tensor, which stays aligned, and after its last byte
constexpr int kPattern = 0xa5;

struct Block {
    std::byte* start;  // start of the guard before the tensor
    std::int64_t bytes;
    void* stream;
};
struct Blocks {
    std::mutex mutex;
    std::map<std::byte*, Block> live;
    std::vector<Block> dropped;  // freed once their guards have been checked, because work on them may still be pending
};
Blocks& blocks() {
    static auto& all = *new Blocks;  // static tensors may outlive it
    return all;
}

std::byte* take(std::int64_t bytes, void* stream) {
    std::byte* const start = device::detail::memory_policy().take(kGuard + bytes + kGuard, stream);
    if (start == nullptr) return nullptr;
    device::fill(start, kPattern, kGuard);
    device::fill(start + kGuard, 0xff, bytes);
    device::fill(start + kGuard + bytes, kPattern, kGuard);
    const std::lock_guard lock(blocks().mutex);
    blocks().live[start + kGuard] = {start, bytes, stream};
    return start + kGuard;
}

void give(std::byte* tensor, void*) {
    const std::lock_guard lock(blocks().mutex);
    blocks().dropped.push_back(blocks().live.at(tensor));
    blocks().live.erase(tensor);
}

std::string damage_of(const Block& block) {
    std::string text;
    for (const bool behind : {false, true}) {
        std::vector<unsigned char> guard(kGuard);
        std::byte* const there = block.start + (behind ? kGuard + block.bytes : 0);
        device::copy(guard.data(), Device::cpu, there, Device::cuda, kGuard);
        for (std::int64_t i = 0; i < kGuard; ++i) {
            if (guard[static_cast<std::size_t>(behind ? i : kGuard - 1 - i)] == kPattern) continue;
            text += std::to_string(i + 1) + (behind ? " bytes behind the end" : " bytes before the start") + " of a tensor of " +
                    std::to_string(block.bytes) + " bytes something was written\n";
            device::fill(there, kPattern, kGuard);  // reported once
            break;
        }
    }
    return text;
}

class LooksAtGuards : public testing::EmptyTestEventListener {
    void OnTestEnd(const testing::TestInfo&) override { EXPECT_EQ(damaged_guards(), ""); }
};

class OnAGpu : public testing::Environment {
    void SetUp() override {
        if (!device::available() || device::emulated() || std::getenv("HEDDLE_UNGUARDED_MEMORY") != nullptr) return;
        guard_device_memory();
        testing::UnitTest::GetInstance()->listeners().Append(new LooksAtGuards);
    }
};
[[maybe_unused]] testing::Environment* const on_a_gpu = testing::AddGlobalTestEnvironment(new OnAGpu);

}  // namespace

void guard_device_memory() { device::detail::take_memory_from(take, give); }

std::string damaged_guards() {
    device::synchronize();
    std::vector<Block> live, dropped;
    {
        const std::lock_guard lock(blocks().mutex);
        for (const auto& [tensor, block] : blocks().live) live.push_back(block);
        dropped.swap(blocks().dropped);
    }
    std::string text;
    for (const auto* const each : {&live, &dropped})
        for (const Block& block : *each) text += damage_of(block);
    for (const Block& block : dropped) device::detail::memory_policy().give(block.start, block.stream);
    return text;
}

}  // namespace heddle
