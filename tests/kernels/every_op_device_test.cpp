// Every op on every device and in every dtype: each of its cases against a formula or the f64 reference, at every alignment;
// again with the same bits; with a NaN.
#include "tests/kernels/every_op.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

constexpr int kNone = -1, kAll = -2;

// Copies of a case's inputs. `sums`: the dtype of the inputs that are sums. `offset`: the input that lies one element behind the
// start of its memory, kNone or kAll.
Tensors placed(const KernelCase& one, const Numbers& numbers, DType sums, int offset) {
    Tensors all;
    for (std::size_t i = 0; i < one.inputs.size(); ++i) {
        const bool sum = i + static_cast<std::size_t>(one.sums) >= one.inputs.size();
        const Tensor given = in({numbers.device, sum ? sums : numbers.dtype}, one.inputs[i]);
        const bool moved = offset == kAll || offset == static_cast<int>(i);
        all.push_back(!given.defined() ? given : moved ? offset_by_one(given) : given.clone());
    }
    return all;
}

// The inputs after rounding, in `dtype` on the CPU.
Tensors rounded_inputs(const KernelCase& one, const Numbers& numbers, DType sums, DType dtype) {
    Tensors all = placed(one, {Device::cpu, numbers.dtype}, sums, kNone);
    for (Tensor& tensor : all) tensor = in({Device::cpu, dtype}, tensor);
    return all;
}

std::vector<int> offsets_of(const KernelCase& one) {
    std::vector<int> all = {kNone};
    std::int64_t numbers = 0;
    for (const Tensor& input : one.inputs) numbers += input.defined() ? input.numel() : 0;
    if (one.offset == KernelCase::all_offset) all.push_back(kAll);
    // A kernel may look at the alignment of one input and forget another's: each alone, where that is cheap.
    const bool small = one.offset == KernelCase::all_offset && numbers < 4000;
    if (one.offset == KernelCase::each_offset || small)
        for (std::size_t i = 0; i < one.inputs.size(); ++i)
            if (one.inputs[i].defined()) all.push_back(static_cast<int>(i));
    return all;
}

// Integers stay what they are; numbers have the dtype that the case names, or the inputs', or are f32 beside bf16.
bool has_right_dtype(const KernelCase& one, const Tensor& got, const Tensor& want, const Numbers& inputs) {
    if (want.dtype() == DType::i32 || want.dtype() == DType::u8) return got.dtype() == want.dtype();
    if (one.results.has_value()) return got.dtype() == *one.results;
    return got.dtype() == inputs.dtype || (inputs.dtype == DType::bf16 && got.dtype() == DType::f32);
}

// A result counts in its own dtype where it is wider than the inputs; f64 statistics of other inputs count as f32.
Numbers numbers_of(const KernelCase& one, const Tensor& result, const Numbers& inputs) {
    const bool narrower = inputs.dtype == DType::bf16 && result.dtype() != DType::bf16 && !one.rounds_within;
    return {inputs.device, narrower ? DType::f32 : inputs.dtype};
}

void expect_results(const KernelCase& one, const Tensors& got, const Tensors& want, const Tensors& plain, const Numbers& numbers,
                    const std::string& what) {
    ASSERT_EQ(got.size(), want.size()) << what;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const std::string which = what + ", result " + std::to_string(i);
        ASSERT_EQ(got[i].defined(), want[i].defined()) << which;
        if (!got[i].defined()) continue;
        EXPECT_TRUE(has_right_dtype(one, got[i], want[i], numbers))
            << which << " is " << name(got[i].dtype()) << " on " << to_string(numbers);
        const Allowed allowed = numbers.device == Device::cpu ? one.on_cpu.value_or(one.allowed) : one.allowed;
        const Numbers judged = numbers_of(one, got[i], numbers);
        expect_close(got[i], want[i], judged, which, allowed, plain.empty() ? Tensor() : plain[i]);
        if (!one.same_zeros && !one.exact && got[i].dtype() != DType::i32 && got[i].dtype() != DType::u8) continue;
        const std::vector<double> given = got[i].to(Device::cpu).to_vector(), wanted = want[i].to_vector();
        for (std::size_t j = 0; j < given.size(); ++j) {
            if (one.same_zeros) {
                ASSERT_EQ(given[j] == 0.0, wanted[j] == 0.0) << which << ", element " << j << " on " << to_string(numbers);
            } else {
                ASSERT_TRUE(given[j] == wanted[j] || (std::isnan(given[j]) && std::isnan(wanted[j])))
                    << which << ", element " << j << " on " << to_string(numbers) << " is " << given[j] << ", wanted "
                    << wanted[j];
            }
        }
    }
}

void expect_case(const KernelCase& one, const Numbers& numbers, DType sums) {
    const Tensors exact = rounded_inputs(one, numbers, sums, DType::f64);
    const Tensors want = one.formula ? one.formula(exact) : one.run(exact);
    const bool bf16 = numbers.dtype == DType::bf16;
    const Tensors plain = bf16 && one.plain ? one.plain(rounded_inputs(one, numbers, sums, DType::f32)) : Tensors();
    for (const int offset : offsets_of(one)) {
        const std::string what = one.what + (offset == kNone ? "" : ", offset " + std::to_string(offset));
        expect_results(one, one.run(placed(one, numbers, sums, offset)), want, plain, numbers, what);
        if (testing::Test::HasFatalFailure()) return;
    }
}

enum class Runs { cpu, device };

void expect_cases(const OpCases& op, bool large, Runs runs) {
    std::vector<KernelCase> cases = op.kernels();
    const auto others = std::erase_if(cases, [large](const KernelCase& one) { return (one.runs == RunsOn::unwatched) != large; });
    ASSERT_FALSE(cases.empty());
    EXPECT_EQ(op.large, large || others > 0) << "its table says the opposite";
    for (const Numbers& numbers : all_numbers())
        for (const KernelCase& one : cases) {
            const bool bf16 = numbers.dtype == DType::bf16, cpu = numbers.device == Device::cpu;
            if (cpu != (runs == Runs::cpu) || (bf16 && !one.in_bf16) || (!cpu && one.runs == RunsOn::on_the_cpu)) continue;
            expect_case(one, numbers, numbers.dtype);
            if (testing::Test::HasFatalFailure()) return;
            if (one.sums > 0 && bf16) expect_case(one, numbers, DType::f32);
            if (testing::Test::HasFatalFailure()) return;
        }
}

class EveryOpCpu : public testing::TestWithParam<OpCases> {};
class LargeOpCpu : public testing::TestWithParam<OpCases> {};
class EveryOpDevice : public testing::TestWithParam<OpCases> {};
class LargeOpDevice : public testing::TestWithParam<OpCases> {};

// Also at the lowest CPU level (tests/CMakeLists.txt); cpu_levels_test compares the upper two.
TEST_P(EveryOpCpu, FollowsItsReference) { expect_cases(GetParam(), false, Runs::cpu); }
TEST_P(LargeOpCpu, FollowsItsReference) { expect_cases(GetParam(), true, Runs::cpu); }
TEST_P(EveryOpDevice, FollowsItsReference) { expect_cases(GetParam(), false, Runs::device); }
TEST_P(LargeOpDevice, FollowsItsReference) { expect_cases(GetParam(), true, Runs::device); }

// On a device; every_op_test has what the CPU promises.
TEST_P(EveryOpDevice, GivesTheSameBitsAgain) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    for (const KernelCase& one : GetParam().kernels())
        for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
            if (one.runs != RunsOn::everywhere || (dtype == DType::bf16 && !one.in_bf16)) continue;
            const Numbers numbers{Device::cuda, dtype};
            expect_same_bits_again([&] { return one.run(placed(one, numbers, dtype, kNone)); },
                                   one.what + " on " + to_string(numbers));
        }
}

std::vector<OpCases> large_ops() {
    std::vector<OpCases> ops = every_op();
    std::erase_if(ops, [](const OpCases& op) { return !op.large; });
    return ops;
}
std::string name_of(const testing::TestParamInfo<OpCases>& op) { return std::string(op.param.name); }

INSTANTIATE_TEST_SUITE_P(Of, EveryOpCpu, testing::ValuesIn(every_op()), name_of);
INSTANTIATE_TEST_SUITE_P(Of, LargeOpCpu, testing::ValuesIn(large_ops()), name_of);
INSTANTIATE_TEST_SUITE_P(Of, EveryOpDevice, testing::ValuesIn(every_op()), name_of);
INSTANTIATE_TEST_SUITE_P(Of, LargeOpDevice, testing::ValuesIn(large_ops()), name_of);

// The NaN in the middle row of the first input.
void expect_nan(KernelCase one, const Numbers& numbers) {
    const Tensor& x = one.inputs[0];
    const std::int64_t rows = x.rows(), row = rows / 2, place = row * x.cols() + x.cols() / 3;
    one.inputs[0] = x.clone();
    one.inputs[0].mutable_data<double>()[place] = std::nan("");
    for (const Tensor& result : one.run(placed(one, numbers, numbers.dtype, kNone))) {
        const std::vector<double> values = result.to(Device::cpu).to_vector();
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto at = static_cast<std::int64_t>(i);
            const bool wanted = one.nan == NanSpreads::nowhere ? at == place : at / (result.numel() / rows) == row;
            ASSERT_EQ(std::isnan(values[i]), wanted) << one.what << " on " << to_string(numbers) << ", element " << i;
        }
    }
}

TEST(EveryOpWithANaNDevice, KeepsANaNWhereItBelongs) {
    std::size_t tried = 0;
    for (const OpCases& op : every_op()) {
        SCOPED_TRACE(op.name);
        for (const KernelCase& one : op.kernels())
            if (one.nan != NanSpreads::unknown && one.runs == RunsOn::everywhere && one.inputs[0].numel() > 0)
                for (const Numbers& numbers : all_numbers()) {
                    expect_nan(one, numbers);
                    ++tried;
                }
    }
    EXPECT_GT(tried, 200u);
}

TEST(EveryOpApartDevice, NamesTheInputThatLiesElsewhere) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    for (const OpCases& op : every_op()) {
        const KernelCase one = op.kernels()[0];
        for (std::size_t i = 1; i < one.inputs.size(); ++i) {
            // linear_cross_entropy looks at targets on the host first; permute's case calls it once for each input.
            const bool apart = (op.name == "linear_cross_entropy" && i == 3) || op.name == "permute";
            if (!one.inputs[i].defined() || apart) continue;
            Tensors inputs = placed(one, {Device::cuda, DType::f32}, DType::f32, kNone);
            inputs[i] = inputs[i].to(Device::cpu);
            SCOPED_TRACE(std::string(op.name) + ", input " + std::to_string(i));
            const std::string message = error_of([&] { one.run(inputs); });
            for (const char* part : {" lies on ", " on cpu", " on cuda", "; move it with to()"})
                EXPECT_NE(message.find(part), std::string::npos) << message;
        }
    }
}

}  // namespace
}  // namespace heddle::kernels
