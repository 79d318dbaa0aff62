// rotary.h for f32, a vector of columns at a time. The sines and cosines of a row are computed once and serve all of its heads.
#include <algorithm>
#include <vector>

#include "kernels/rotary/rotary.h"
#include "kernels/simd_functions.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {
using namespace ::heddle::HEDDLE_LEVEL;

namespace {

// The cosines and sines of one position, in the lanes where the row needs them.
class Angles {
  public:
    explicit Angles(const RotaryArrays<float>& a)
        : a_(a),
          half_(a.head_dim / 2),
          heads_in_vector_(a.head_dim <= kFloats && kFloats % a.head_dim == 0),
          cosines_(padded(half_)),
          sines_(padded(half_)),
          turns_(padded(half_)) {}

    /// Whether vectors hold whole heads, and their partners stand half a head further.
    bool heads_in_vector() const { return heads_in_vector_; }
    VecF cosine(std::int64_t i) const { return load(cosines_.data() + i); }
    VecF sine(std::int64_t i) const { return load(sines_.data() + i); }

    void set(std::int32_t position) {
        // The upper half of an angle is enough for f32: 2^-32 of a turn.
        for (std::int64_t i = 0; i < half_; ++i) {
            const std::uint64_t turns = static_cast<std::uint64_t>(position) * a_.frequencies[i];
            turns_[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>((a_.inverse ? 0 - turns : turns) >> 32);
        }
        for (std::int64_t i = 0; i < half_; i += kFloats) set_vector(i);
        if (heads_in_vector_) spread();
    }

  private:
    static std::size_t padded(std::int64_t n) { return static_cast<std::size_t>((n + kFloats - 1) / kFloats * kFloats); }

    // An angle is a number of quarter turns and what is left, at most half of one.
    void set_vector(std::int64_t i) {
        const VecU turns = load(turns_.data() + i);
        const VecU quarters = (turns + 0x20000000u) >> 30;
        const VecI left = __builtin_convertvector(turns - (quarters << 30), VecI);
        const SinCos at = sin_cos_near_zero(__builtin_convertvector(left, VecF) * 1.46291808e-9f);  // pi / 2 / 2^30
        const VecI odd = __builtin_convertvector(quarters & 1u, VecI) != 0;
        const VecI sine = bits_of(odd ? at.cos : at.sin) ^ __builtin_convertvector((quarters & 2u) << 30, VecI);
        const VecI cosine = bits_of(odd ? at.sin : at.cos) ^ __builtin_convertvector(((quarters + 1u) & 2u) << 30, VecI);
        store(sines_.data() + i, float_of(sine));
        store(cosines_.data() + i, float_of(cosine));
    }

    // cos a_0 .. and -sin a_0 .. sin a_0 .. of one head, over and over.
    void spread() {
        float cosines[kFloats], sines[kFloats];
        for (std::int64_t lane = 0; lane < kFloats; ++lane) {
            const auto pair = static_cast<std::size_t>(lane % half_);
            cosines[lane] = cosines_[pair];
            sines[lane] = lane % a_.head_dim < half_ ? -sines_[pair] : sines_[pair];
        }
        std::copy_n(cosines, kFloats, cosines_.data());
        std::copy_n(sines, kFloats, sines_.data());
    }

    const RotaryArrays<float>& a_;
    std::int64_t half_;
    bool heads_in_vector_;
    std::vector<float> cosines_, sines_;
    std::vector<std::uint32_t> turns_;
};

// Vectors of whole heads: each lane's partner comes from the same vector.
template <int half>
void turn_within_vectors(const float* x, float* y, std::int64_t columns, const Angles& at) {
    const VecF cosine = at.cosine(0), sine = at.sine(0);
    for (std::int64_t j = 0; j < columns; j += kFloats) {
        const VecF own = load_at(x, j, columns);
        store_at(y, j, columns, own * cosine + rounded(exchange<half>(own) * sine));
    }
}

// Vectors of the first and of the second half of each head.
void turn_halves(const float* x, float* y, std::int64_t columns, std::int64_t half, const Angles& at) {
    for (std::int64_t head = 0; head < columns; head += 2 * half)
        for (std::int64_t i = 0; i < half; i += kFloats) {
            const VecF first = load_at(x + head, i, half), second = load_at(x + head + half, i, half);
            const VecF cosine = at.cosine(i), sine = at.sine(i);
            store_at(y + head, i, half, first * cosine - rounded(second * sine));
            store_at(y + head + half, i, half, second * cosine + rounded(first * sine));
        }
}

void turn(const RotaryArrays<float>& a, const float* x, float* y, const Angles& at) {
    const std::int64_t half = a.head_dim / 2;
    if (!at.heads_in_vector()) return turn_halves(x, y, a.columns, half, at);
    if (half == 1) return turn_within_vectors<1>(x, y, a.columns, at);
    if (half == 2) return turn_within_vectors<2>(x, y, a.columns, at);
    if constexpr (kFloats >= 8)
        if (half == 4) return turn_within_vectors<4>(x, y, a.columns, at);
    if constexpr (kFloats >= 16) return turn_within_vectors<8>(x, y, a.columns, at);
}

}  // namespace

void rotary_rows(const RotaryArrays<float>& a, std::int64_t begin, std::int64_t end) {
    Angles angles(a);
    for (std::int64_t row = begin; row < end; ++row) {
        const float* x = a.x + row * a.cols;
        float* y = a.y + row * a.cols;
        if (a.positions[row] < 0) {
            std::fill_n(y, a.cols, 0.0f);
            continue;
        }
        angles.set(a.positions[row]);
        turn(a, x, y, angles);
        std::copy_n(x + a.columns, a.cols - a.columns, y + a.columns);
    }
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
