// Every op in memory as a GPU's allocator gives it: blocks larger than what was asked for, used again and again. The emulated
// device otherwise gives each tensor a block of its own, of exactly its bytes, in which nothing is left from before. Here an op
// runs in fresh blocks and then in blocks full of NaN, which must change no bit.
#include <map>

#include "core/device_impl.h"
#include "core/graph.h"
#include "kernels/emulator/run/memory.h"
#include "tests/kernels/attention_device_cases.h"
#include "tests/kernels/every_op.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

// How many blocks of which size the pool has asked for.
std::map<std::int64_t, int>& sizes() {
    static std::map<std::int64_t, int> all;
    return all;
}
std::byte* take(std::int64_t bytes, void* stream) {
    ++sizes()[bytes];
    return device::detail::memory_policy().take_for_capture(bytes, stream);  // in no stream's order, as a GPU's
}
int given_while_capturing = 0;
void give(std::byte* block, void* stream) {
    if (device::detail::capturing()) ++given_while_capturing;
    device::detail::memory_policy().give(block, stream);
}

// Fills every kept block with NaN of any floating-point dtype. The largest sizes first: a request takes the smallest block that
// is large enough.
void poison_kept_memory() {
    std::vector<Tensor> held;
    const std::map<std::int64_t, int> known = sizes();
    for (auto at = known.rbegin(); at != known.rend(); ++at)
        for (int i = 0; i < at->second; ++i) {
            const std::int64_t kept = memory_statistics(Device::cuda).kept;
            held.push_back(Tensor::empty({at->first}, DType::u8, Device::cuda));
            device::fill(held.back().mutable_bytes_data(), 0xff, at->first);
            if (memory_statistics(Device::cuda).kept == kept) break;  // a new one: all others of this size are in use
        }
    EXPECT_EQ(memory_statistics(Device::cuda).kept, 0);
}

// Results of `run`, in blocks that come from the device and again in blocks full of NaN.
void expect_same_in_kept_memory(const std::function<Tensors()>& run, const std::string& what) {
    const auto results = [&] {
        Tensors all = run();
        for (Tensor& tensor : all)
            if (tensor.defined()) tensor = tensor.to(Device::cpu);
        return all;
    };
    device::synchronize();
    release_kept_memory(Device::cuda);
    sizes().clear();
    const auto blocks = [] { return memory_statistics(Device::cuda).from_system; };
    const std::int64_t start = blocks();
    const Tensors fresh = results();
    const std::int64_t first = blocks() - start;
    poison_kept_memory();
    const std::int64_t poisoned = blocks();
    const Tensors again = results();
    // A small request may take the block that a larger one then misses.
    if (first > 0) {
        EXPECT_LT(blocks() - poisoned, first) << what << ": no block was used again";
    }
    ASSERT_EQ(fresh.size(), again.size()) << what;
    for (std::size_t i = 0; i < fresh.size(); ++i)
        if (fresh[i].defined()) {
            ASSERT_TRUE(same_bits(fresh[i], again[i])) << what << ": result " << i;
        }
}

class EveryOpInKeptMemory : public testing::TestWithParam<OpCases> {
  protected:
    static void SetUpTestSuite() { begin(); }
    void SetUp() override { skip_elsewhere(); }

  public:
    static void begin() {
        [[maybe_unused]] static const bool once = [] {
            if (device::available() && device::emulated()) device::detail::take_memory_from(take, give, false);
            return true;
        }();
    }
    static void skip_elsewhere() {
        if (!device::available()) GTEST_SKIP() << device::why_unavailable();
        if (!device::emulated()) GTEST_SKIP() << "a GPU's memory is always kept, and guarded here";
    }
};

TEST_P(EveryOpInKeptMemory, GivesTheSameResults) {
    for (const KernelCase& one : GetParam().kernels())
        for (const DType dtype : {DType::f32, DType::bf16}) {
            if (one.runs != RunsOn::everywhere || (dtype == DType::bf16 && !one.in_bf16)) continue;
            const Numbers numbers{Device::cuda, dtype};
            expect_same_in_kept_memory(
                [&] {
                    Tensors inputs;
                    for (const Tensor& input : one.inputs) inputs.push_back(input.defined() ? in(numbers, input).clone() : input);
                    return one.run(inputs);
                },
                one.what + " on " + to_string(numbers));
            if (HasFatalFailure()) return;
        }
}

std::string name_of(const testing::TestParamInfo<OpCases>& op) { return std::string(op.param.name); }
INSTANTIATE_TEST_SUITE_P(Of, EveryOpInKeptMemory, testing::ValuesIn(every_op()), name_of);

// A capture that runs out of memory ends before the kept blocks are given back, and a second one finds the room.
TEST(CaptureInKeptMemory, EndsBeforeMemoryIsGivenBack) {
    EveryOpInKeptMemory::skip_elsewhere();
    if (testing::Test::IsSkipped()) return;
    EveryOpInKeptMemory::begin();
    device::synchronize();
    release_kept_memory(Device::cuda);
    given_while_capturing = 0;
    const auto most = static_cast<std::int64_t>(emulator::memory_use().total / 8 * 5);  // two have no room
    const auto take_most = [&](std::int64_t bytes) { Tensor::empty({bytes}, DType::u8, Device::cuda); };
    take_most(most);
    ASSERT_GE(memory_statistics(Device::cuda).kept, most);
    device::Graph graph;
    const std::int64_t more = most + most / 8;  // no kept block is as large
    Tensor x = Tensor::full({1}, 1, DType::f32, Device::cuda);
    const auto body = [&] {
        take_most(more);
        x.fill_(0);
    };
    EXPECT_THROW(graph.capture(body), OutOfMemory);
    EXPECT_EQ(given_while_capturing, 0);
    EXPECT_EQ(memory_statistics(Device::cuda).kept, 0);
    EXPECT_EQ(x.item(), 1) << "the stream works";
    graph.capture(body);
    graph.launch();
    EXPECT_EQ(x.item(), 0);
    release_kept_memory(Device::cuda);
}

class AttentionInKeptMemory : public testing::Test {
  protected:
    static void SetUpTestSuite() { EveryOpInKeptMemory::begin(); }
    void SetUp() override { EveryOpInKeptMemory::skip_elsewhere(); }
};

TEST_F(AttentionInKeptMemory, IsUsedAgainAndFullOfNaN) {
    device::synchronize();
    release_kept_memory(Device::cuda);
    sizes().clear();
    const std::byte* block = nullptr;
    {
        const Tensor x = Tensor::full({1000}, 1, DType::f32, Device::cuda);
        block = x.bytes_data();
    }
    poison_kept_memory();
    const Tensor again = Tensor::empty({900}, DType::f32, Device::cuda);  // of the size that the pool rounds to the same
    EXPECT_EQ(again.bytes_data(), block);
    for (const double value : again.to_vector()) ASSERT_TRUE(std::isnan(value));
}

// Short sentences, and one that is too long for their kernels.
TEST_F(AttentionInKeptMemory, GivesTheSameResults) {
    for (const std::int64_t longest : {33, 70})
        for (const DType dtype : {DType::f32, DType::bf16}) {
            const Numbers numbers{Device::cuda, dtype};
            AttentionRules rules = self_rules(Spans::packed(std::vector<std::int64_t>{5, longest}), 2);
            rules.causal = true;
            rules.dropout = Dropout(0.2, 3);
            const AttentionCase at = make_case(rules, 32, 32, true);
            expect_same_in_kept_memory(
                [&] {
                    const AttentionCase here = on(numbers, at);
                    const AttentionResult result = here.forward();
                    const Gradients g = backward_of(here, result);
                    return Tensors{result.output, result.log_sum, g.query, g.key, g.value};
                },
                "attention on " + to_string(numbers));
        }
}

}  // namespace
}  // namespace heddle::kernels
