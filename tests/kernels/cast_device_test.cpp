// Conversion between all pairs of element types, and filling, against core's convert, on every device.
#include "kernels/cast/cast.h"

#include "core/dispatch.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

const DType kTypes[] = {DType::f64, DType::f32, DType::bf16, DType::i32, DType::u8};

// Edges of the types, halves between two bf16, and ordinary numbers up to `n`.
Tensor numbers_of(DType dtype, std::int64_t n) {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> values = {
        0,     -0.0,  1,     -1,           0.5,          -0.5,          254.9,         255,         255.5,      256,
        -0.99, 300,   -300,  2147483647.0, 2147483648.0, -2147483648.0, -2147483649.0, 1.00390625,  1.01171875, 3.4e38,
        1e39,  -1e39, 1e-46, inf,          -inf,         nan,           16777217,      -16777219.0, 1e300,      123456789.0};
    const std::vector<double> random = normal({n}, DType::f64, 3, 0, 100).to_vector();
    values.insert(values.end(), random.begin(), random.end());
    values.resize(static_cast<std::size_t>(n));
    return Tensor::from(values, {n}).to(dtype);
}

// core's convert, element by element, as double.
std::vector<double> converted(const Tensor& x, DType dtype) {
    std::vector<double> results;
    dispatch_any(x.dtype(), [&]<class From>(TypeTag<From>) {
        dispatch_any(dtype, [&]<class To>(TypeTag<To>) {
            for (const From& value : x.values<From>()) results.push_back(to_double(convert<To>(value)));
        });
    });
    return results;
}

void expect_numbers(const Tensor& got, const std::vector<double>& want, const std::string& what) {
    const std::vector<double> given = got.to(Device::cpu).to_vector();
    ASSERT_EQ(given.size(), want.size()) << what;
    for (std::size_t i = 0; i < want.size(); ++i) {
        if (std::isnan(want[i]) && std::isnan(given[i])) continue;
        ASSERT_EQ(given[i], want[i]) << what << ": element " << i;
        ASSERT_EQ(std::signbit(given[i]), std::signbit(want[i])) << what << ": element " << i;
    }
}

TEST(CastOnDevices, ConvertsEveryTypeToEveryOtherAsCoreDoes) {
    for (const Device device : all_devices())
        for (const DType from : kTypes)
            for (const DType to : kTypes)
                for (const std::int64_t n : {0, 1, 31, 127, 1025}) {
                    const std::string what = std::string(name(from)) + " to " + std::string(name(to)) + " on " +
                                             std::string(name(device)) + ", " + std::to_string(n) + " elements";
                    const Tensor x = numbers_of(from, n).to(device);
                    const std::vector<double> want = converted(x.to(Device::cpu), to);
                    const Tensor y = cast(x, to);
                    ASSERT_EQ(y.dtype(), to) << what;
                    ASSERT_EQ(y.device(), device) << what;
                    expect_numbers(y, want, what);
                    expect_numbers(cast(offset_by_one(x), to), want, what + ", offset by one");
                }
}

TEST(CastOnDevices, HandsTheSameTensorOnWhenNothingChanges) {
    const Tensor x = normal({3}, DType::f32, 1);
    EXPECT_TRUE(cast(x, DType::f32).shares_storage(x));
    EXPECT_EQ(error_of([] { cast(Tensor(), DType::f32); }), "cast: x is an undefined tensor");
}

TEST(CastOnDevices, FillsEveryTypeAndNothingBeside) {
    for (const Device device : all_devices())
        for (const DType dtype : kTypes)
            for (const double value : {0.0, 1.0, -2.7, 300.4})
                for (const std::int64_t begin : {0, 1, 16}) {
                    const Tensor whole = Tensor::full({70}, 7, dtype).to(device);
                    Tensor part = whole.slice(begin, 67);
                    fill(part, value);
                    const std::vector<double> all = whole.to(Device::cpu).to_vector();
                    const double want = converted(Tensor::full({1}, value, DType::f64), dtype).front();
                    for (std::int64_t i = 0; i < 70; ++i)
                        ASSERT_EQ(all[static_cast<std::size_t>(i)], i >= begin && i < 67 ? want : 7)
                            << name(dtype) << " on " << name(device) << ", element " << i << " of those from " << begin;
                }
}

}  // namespace
}  // namespace heddle::kernels
