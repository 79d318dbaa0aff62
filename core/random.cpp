#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numbers>
#include <numeric>
#include <vector>

#include "core/check.h"
#include "core/dispatch.h"
#include "core/format.h"

namespace heddle {
namespace {

// The finaliser of MurmurHash3 (Austin Appleby, public domain): every input bit affects every output bit.
std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
}

// Each part is combined unmixed with the well-mixed key of the parts before it, so the order of the parts matters.
std::uint64_t hash(std::initializer_list<std::uint64_t> parts) {
    std::uint64_t key = 0;
    for (const std::uint64_t part : parts) key = mix((key ^ part) + 0x9e3779b97f4a7c15ULL);
    return key;
}

std::uint64_t word(const Counter& bits, std::size_t half) {
    return (static_cast<std::uint64_t>(bits[2 * half + 1]) << 32) | bits[2 * half];
}

// 53 random bits in [0, 1).
double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

Counter counter_of(std::uint64_t index) {
    return {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), 0, 0};
}

}  // namespace

DropoutMask::DropoutMask(double probability, std::uint64_t random_key, const std::uint64_t* step_key_on_device)
    : key(random_key), step_key(step_key_on_device) {
    check(probability >= 0 && probability < 1, "dropout: probability {}, wanted at least 0 and below 1", probability);
    threshold = static_cast<std::uint32_t>(std::lround(probability * 65536));
    check(threshold < 65536, "dropout: probability {} leaves nothing", probability);
}

std::uint64_t stable_hash(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return mix(hash);
}

std::uint64_t Generator::next_key(std::string_view name) {
    const std::uint64_t module = stable_hash(name);
    return hash({seed, update, micro_batch, module, calls[module]++});
}

// The second part distinguishes it from a call's key: a module's hash equals it only by chance.
std::uint64_t Generator::step_key() const { return hash({seed, 0x73746570 /* "step" */, update, micro_batch}); }

DropoutMask Generator::next_dropout(std::string_view name, double probability) {
    const std::uint64_t module = stable_hash(name);
    const std::uint64_t key = hash({seed, module, calls[module]++});
    return step_key_on_device == nullptr ? DropoutMask(probability, key ^ step_key())
                                         : DropoutMask(probability, key, step_key_on_device);
}

void Generator::start(std::uint64_t new_update, std::uint64_t new_micro_batch) {
    update = new_update;
    micro_batch = new_micro_batch;
    calls.clear();
}

Generator& generator() {
    thread_local Generator instance;
    return instance;
}

Generator& manual_seed(std::uint64_t seed) {
    generator() = Generator{.seed = seed};
    return generator();
}

RandomSource::RandomSource() : RandomSource(generator()) {}
RandomSource::RandomSource(Generator& generator) : key_(generator.next_key("random tensor")) {}

void fill_uniform(Tensor& tensor, double low, double high, std::uint64_t key) {
    check(low <= high, "fill_uniform: numbers from {} to {}", low, high);
    dispatch_float("fill_uniform", tensor, [&]<class T>(TypeTag<T>) {
        T* out = tensor.mutable_data<T>();
        // Values just below `high` would round up to it.
        const T largest = std::nextafter(static_cast<T>(high), static_cast<T>(low));
        for (std::int64_t i = 0; i < tensor.numel(); ++i) {
            const double u = unit(word(philox4x32(key, counter_of(static_cast<std::uint64_t>(i))), 0));
            out[i] = std::min(largest, static_cast<T>(low + (high - low) * u));
        }
    });
    tensor.bump_version();
}

void fill_normal(Tensor& tensor, double mean, double deviation, std::uint64_t key) {
    dispatch_float("fill_normal", tensor, [&]<class T>(TypeTag<T>) {
        T* out = tensor.mutable_data<T>();
        for (std::int64_t i = 0; i < tensor.numel(); ++i) {
            const Counter bits = philox4x32(key, counter_of(static_cast<std::uint64_t>(i)));
            const double radius = std::sqrt(-2 * std::log(1 - unit(word(bits, 0))));
            out[i] = static_cast<T>(mean + deviation * radius * std::cos(2 * std::numbers::pi * unit(word(bits, 1))));
        }
    });
    tensor.bump_version();
}

namespace {

// The values of `fill` in f32 or f64, converted to `dtype`.
template <class Fill>
Tensor drawn(const char* name, const Shape& shape, DType dtype, Device device, const Fill& fill) {
    check(dtype != DType::i32 && dtype != DType::u8,
          "{}: the numbers are no integers, but the dtype is {}; Tensor::randint draws integers", name, dtype);
    Tensor numbers = Tensor::empty(shape, dtype == DType::f64 ? DType::f64 : DType::f32);
    fill(numbers);
    return numbers.to(dtype).to(device);
}

}  // namespace

Tensor Tensor::randn(const Shape& shape, const RandomSource& source, DType dtype, Device device) {
    return drawn("randn", shape, dtype, device, [&](Tensor& numbers) { fill_normal(numbers, 0, 1, source.key()); });
}

Tensor Tensor::rand(const Shape& shape, const RandomSource& source, DType dtype, Device device) {
    return drawn("rand", shape, dtype, device, [&](Tensor& numbers) {
        fill_uniform(numbers, 0, 1, source.key());
        if (dtype != DType::bf16) return;
        for (float& number : numbers.mutable_values<float>()) number = std::min(number, 0x1.fep-1f);  // the next ones round to 1
    });
}

Tensor Tensor::randint(std::int64_t low, std::int64_t high, const Shape& shape, const RandomSource& source, Device device) {
    check(low < high && low >= INT32_MIN && high - 1 <= INT32_MAX, "randint: numbers from {} to below {}, wanted some of i32",
          low, high);
    Tensor result = empty(shape, DType::i32);
    Sequence sequence(source.key());
    std::int32_t* out = result.mutable_data<std::int32_t>();
    for (std::int64_t i = 0; i < result.numel(); ++i)
        out[i] =
            static_cast<std::int32_t>(low + static_cast<std::int64_t>(sequence.below(static_cast<std::uint64_t>(high - low))));
    return result.to(device);
}

Tensor Tensor::randperm(std::int64_t n, const RandomSource& source, Device device) {
    check(n >= 0 && n <= INT32_MAX, "randperm: {} numbers, wanted 0 to {}", n, INT32_MAX);
    std::vector<std::int32_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    Sequence(source.key()).shuffle(order);
    return from(order).to(device);
}

Tensor Tensor::bernoulli(const Tensor& probabilities, const RandomSource& source) {
    const std::vector<double> wanted = probabilities.to_vector();
    const std::vector<double> numbers = rand({probabilities.numel()}, source, DType::f64).to_vector();
    std::vector<std::uint8_t> drawn;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        check(wanted[i] >= 0 && wanted[i] <= 1, "bernoulli: a probability is {}, wanted 0 to 1", wanted[i]);
        drawn.push_back(numbers[i] < wanted[i]);
    }
    return from(drawn, probabilities.shape()).to(probabilities.dtype()).to(probabilities.device());
}

std::uint64_t Sequence::next() { return word(philox4x32(key_, counter_of(position_++)), 0); }

std::uint64_t Sequence::below(std::uint64_t bound) {
    check(bound > 0, "random: a number below 0 was asked for");
    // Values beyond the last multiple of `bound` would favour small results: draw again.
    const std::uint64_t limit = ~std::uint64_t{0} - ~std::uint64_t{0} % bound;
    std::uint64_t value = next();
    while (value >= limit) value = next();
    return value % bound;
}

double Sequence::uniform() { return unit(next()); }

}  // namespace heddle
