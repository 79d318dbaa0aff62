// What every op promises on the CPU: the same bits for every number of threads, and for a row alone and among others; an error
// that names an input which does not fit.
#include <cctype>
#include <filesystem>
#include <set>
#include <utility>

#include "tests/kernels/every_op.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

Tensors converted(const KernelCase& one, DType dtype) {
    Tensors all;
    for (const Tensor& input : one.inputs) all.push_back(in({Device::cpu, dtype}, input));
    return clones(all);
}

void expect_same_bits_for_any_threads(const KernelCase& one, DType dtype) {
    const auto run = [&](int count) {
        const WithThreads with(count);
        return one.run(converted(one, dtype));
    };
    const Tensors wanted = run(1);
    for (const int count : {2, 7}) {
        const Tensors given = run(count);
        ASSERT_EQ(given.size(), wanted.size());
        for (std::size_t i = 0; i < given.size(); ++i)
            if (wanted[i].defined()) {
                EXPECT_TRUE(same_bits(given[i], wanted[i]))
                    << one.what << ", result " << i << " in " << name(dtype) << ", " << count << " threads";
            }
    }
}

void expect_same_bits_alone(const KernelCase& one, DType dtype) {
    const Tensors all = one.run(converted(one, dtype));
    const std::int64_t rows = one.inputs[0].dim(0);
    for (const std::int64_t row : {std::int64_t{0}, std::int64_t{1}, rows / 2, rows - 1}) {
        if (row < 0 || row >= rows) continue;
        Tensors alone = converted(one, dtype);
        for (std::size_t i = 0; i < static_cast<std::size_t>(one.by_row); ++i)
            if (alone[i].defined()) alone[i] = alone[i].slice(row, row + 1);
        const Tensors given = one.run(alone);
        for (std::size_t i = 0; i < given.size(); ++i)
            EXPECT_TRUE(same_bits(given[i], all[i].slice(row, row + 1)))
                << one.what << ", result " << i << " in " << name(dtype) << ", row " << row << " of " << rows;
    }
}

TEST(EveryOp, HasTheSameBitsForAnyNumberOfThreads) {
    for (const OpCases& op : every_op()) {
        SCOPED_TRACE(op.name);
        for (const KernelCase& one : op.kernels())
            for (const DType dtype : {DType::f32, DType::f64}) expect_same_bits_for_any_threads(one, dtype);
    }
}

TEST(EveryOp, GivesARowTheSameBitsAloneAndAmongOthers) {
    std::size_t tried = 0;
    for (const OpCases& op : every_op()) {
        SCOPED_TRACE(op.name);
        for (const KernelCase& one : op.kernels())
            for (const DType dtype : {DType::f32, DType::f64})
                if (one.by_row > 0) {
                    expect_same_bits_alone(one, dtype);
                    ++tried;
                }
    }
    EXPECT_GT(tried, 150u);
}

// The error of a case whose input `i` is another tensor; "" when it takes that one, too.
std::string error_with(const KernelCase& one, std::size_t i, const Tensor& other) {
    Tensors inputs = converted(one, DType::f32);
    inputs[i] = other;
    try {
        one.run(inputs);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

// Each input in turn is missing, has another dtype, or has a column more. Optional inputs may be missing, inputs of moving and
// broadcasting ops may have another shape: so the errors are counted, too.
TEST(EveryOp, NamesAnInputThatDoesNotFit) {
    std::size_t refused = 0;
    const auto expect_parts = [&](const std::string& message, std::initializer_list<std::string_view> parts) {
        refused += message.empty() ? 0 : 1;
        for (const std::string_view part : parts)
            EXPECT_TRUE(message.empty() || message.find(part) != std::string::npos) << message << " does not say " << part;
    };
    for (const OpCases& op : every_op()) {
        SCOPED_TRACE(op.name);
        std::set<std::pair<std::size_t, std::string>> seen;  // calls with one number of inputs and one first word are of one kind
        for (const KernelCase& one : op.kernels()) {
            if (one.inputs[0].numel() == 0 || one.inputs[0].numel() > 5000) continue;
            const bool word = std::isalpha(static_cast<unsigned char>(one.what[0])) != 0;
            if (!seen.emplace(one.inputs.size(), word ? one.what.substr(0, one.what.find(' ')) : "").second) continue;
            for (std::size_t i = 0; i < one.inputs.size(); ++i) {
                const Tensor given = in({Device::cpu, DType::f32}, one.inputs[i]);
                if (!given.defined()) continue;
                SCOPED_TRACE(one.what + ", input " + std::to_string(i));
                expect_parts(error_with(one, i, {}), {" is an undefined tensor"});
                const DType other = given.dtype() == DType::f32 ? DType::f64 : DType::f32;
                expect_parts(error_with(one, i, given.to(other)), {"f32", name(other == DType::f32 ? given.dtype() : other)});
                Shape wide = given.shape();
                if (wide.rank() == 0)
                    wide.append(2);
                else
                    wide.set(wide.rank() - 1, wide[-1] + 1);
                expect_parts(error_with(one, i, Tensor::zeros(wide, given.dtype())), {std::to_string(wide[-1])});
            }
        }
    }
    EXPECT_GE(refused, 300u);
}

// A new op cannot be forgotten: its folder has a table with calls of its kernels or, when it has tests of its own kind, is named
// here.
TEST(EveryOp, IsOneOfThese) {
    std::set<std::string> known = {"attention", "beam_step", "cache_table",
                                   "cast",      "few_rows",  "update_tally",  // tests of their own kind
                                   "device",    "emulator"};                  // no ops
    for (const OpCases& op : every_op()) {
        if (op.name == "rms_norm") continue;  // in layer_norm
        EXPECT_TRUE(known.emplace(op.name).second) << op.name << " stands there twice";
    }
    std::set<std::string> folders;
    for (const auto& entry : std::filesystem::directory_iterator(HEDDLE_SOURCE_DIR "/kernels"))
        if (entry.is_directory()) folders.insert(entry.path().filename().string());
    EXPECT_EQ(folders, known) << "autograd/ops/<op>_cases.cpp has the calls of its kernels";
}

}  // namespace
}  // namespace heddle::kernels
