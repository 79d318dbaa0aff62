// Counter-based random numbers: Philox4x32-10.
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), section 3.3.
// The numbers are a pure function of (key, counter), so a dropout mask depends only on the element's logical position, not on
// tiles or threads; backward recomputes it instead of storing it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/tensor.h"

namespace heddle {

using Counter = std::array<std::uint32_t, 4>;

/// Ten rounds of Philox4x32: 128 random bits for a 64-bit key and a 128-bit counter.
constexpr Counter philox4x32(std::uint64_t key, Counter counter) {
    auto k0 = static_cast<std::uint32_t>(key);
    auto k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter[0];
        const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter[2];
        counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(p1),
                   static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(p0)};
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return counter;
}

/// One dropout decision per element. An element is dropped when its 16-bit random integer lies below `threshold`; one Philox
/// call serves 8 neighbours: element j of a group of 8 takes bits [16 (j % 2), +16) of word j / 2.
/// Rows of a matrix: counter (column / 8, row, row >> 32, 0). Attention weights: counter (key / 8, query, head, sentence),
/// where key and query count from the start of their sentence. The kept ones are scaled by 65536 / (65536 - threshold).
struct DropoutMask {
    std::uint64_t key = 0;
    std::uint32_t threshold = 0;  ///< 0: dropout is off
    /// On CUDA: null, or the address of the step's part of the key on the device; `key` is then the rest of it (Generator). A
    /// replayed launch draws the numbers of the step whose key is there.
    const std::uint64_t* step_key = nullptr;

    DropoutMask() = default;
    /// Error unless 0 <= probability < 1.
    DropoutMask(double probability, std::uint64_t random_key, const std::uint64_t* step_key = nullptr);

    bool active() const { return threshold != 0; }
    double scale() const { return 65536.0 / (65536.0 - threshold); }
    /// Whether element `column` of the group-of-8 row addressed by (c1, c2, c3) is kept.
    bool keeps(std::int64_t column, std::uint32_t c1, std::uint32_t c2, std::uint32_t c3) const {
        if (threshold == 0) return true;
        const Counter bits = philox4x32(key, {static_cast<std::uint32_t>(column >> 3), c1, c2, c3});
        const auto j = static_cast<std::uint32_t>(column & 7);
        return ((bits[j >> 1] >> (16 * (j & 1))) & 0xffffu) >= threshold;
    }
    bool keeps_row(std::int64_t row, std::int64_t column) const {
        return keeps(column, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32), 0);
    }
};

namespace kernels {
using Dropout = DropoutMask;  ///< its name where no module has it (nn/dropout.h)
}

/// The source of a training run's random keys:
///     key = hash(seed, update, micro-batch, dotted module name, number of the call)
///     key of a dropout = hash(seed, dotted module name, number of the call) xor hash(seed, "step", update, micro-batch)
/// A run that resumes at an update draws what the uninterrupted run drew. The second part of a dropout's key, the step's, is one
/// number for all calls: a captured step reads it from device memory, where the next replay finds another one. Two generators
/// with the same seed draw the same keys, as torch.Generator's do; new generators all have the seed 1.
struct Generator {
    std::uint64_t seed = 1;
    std::uint64_t update = 0;
    std::uint64_t micro_batch = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> calls = {};  ///< per name, within this micro-batch
    const std::uint64_t* step_key_on_device = nullptr;  ///< where kernels read step_key(); null: it is passed as an argument

    /// The key of the next call with this name.
    std::uint64_t next_key(std::string_view name);
    /// The dropout of the next call with this name. Error as DropoutMask.
    DropoutMask next_dropout(std::string_view name, double probability);
    /// The step's part of a dropout's key.
    std::uint64_t step_key() const;
    /// Moves to another step and forgets the call numbers.
    void start(std::uint64_t new_update, std::uint64_t new_micro_batch);
};

/// The thread's default generator. Each thread has its own; it starts with seed 1.
Generator& generator();
/// Starts the thread's generator anew with this seed: dropout and random tensors that name no source follow from it, on this
/// thread alone. Two threads with the same seed draw the same numbers. Inside a RandomState it sets the seed of that state only,
/// and the end of the state restores what was before. The second run of a checkpoint (autograd/checkpoint.h) starts from the
/// state of the first, so its draws are the same whatever seed is set between them. Returns the generator.
Generator& manual_seed(std::uint64_t seed);

/// While one exists, the thread's default generator continues from `state`; afterwards the previous one is restored. So code
/// that draws keys can be rerun with the same keys.
class RandomState {
  public:
    explicit RandomState(Generator state) : before_(std::exchange(generator(), std::move(state))) {}
    ~RandomState() { generator() = std::move(before_); }
    RandomState(const RandomState&) = delete;
    RandomState& operator=(const RandomState&) = delete;

  private:
    Generator before_;
};

/// A well-mixed 64-bit hash of a text; stable across machines and versions.
std::uint64_t stable_hash(std::string_view text);

/// Fills with uniform numbers in [low, high); element i depends on (key, i) only. f32 and f64. Error when low > high.
void fill_uniform(Tensor& tensor, double low, double high, std::uint64_t key);
/// Fills with normal numbers (Box-Muller); element i depends on (key, i) only. f32 and f64.
void fill_normal(Tensor& tensor, double mean, double deviation, std::uint64_t key);

/// A small sequential generator on Philox for shuffling and sampling; state is (key, position).
class Sequence {
  public:
    explicit Sequence(std::uint64_t key) : key_(key) {}
    std::uint64_t next();
    /// Uniform in [0, bound), without bias. Error when bound is 0.
    std::uint64_t below(std::uint64_t bound);
    /// Uniform in [0, 1) with 53 random bits.
    double uniform();
    template <class Vector>
    void shuffle(Vector& values) {
        for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
    }

  private:
    std::uint64_t key_;
    std::uint64_t position_ = 0;
};

}  // namespace heddle
