// Atomics: real atomic operations, because blocks run on several CPU threads. Relaxed, as in CUDA: they order nothing.
#include <cmath>
#include <cstring>
#include <mutex>

#include "kernels/emulator/device_calls.h"
#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/verdict.h"

namespace heddle::emulator {
namespace {

template <class T>
T combine(Atomic kind, T old, T value, T compare) {
    switch (kind) {
        case Atomic::add: return static_cast<T>(old + value);
        case Atomic::subtract: return static_cast<T>(old - value);
        case Atomic::minimum: return value < old ? value : old;
        case Atomic::maximum: return old < value ? value : old;
        case Atomic::exchange:
        case Atomic::store: return value;
        case Atomic::compare_exchange: return old == compare ? value : old;
        case Atomic::bit_or: return static_cast<T>(old | value);
        case Atomic::bit_and: return static_cast<T>(old & value);
        case Atomic::bit_xor: return static_cast<T>(old ^ value);
        case Atomic::increment: return old >= value ? T{0} : static_cast<T>(old + 1);
        case Atomic::decrement: return old == 0 || old > value ? value : static_cast<T>(old - 1);
        case Atomic::load: return old;
    }
    return old;
}

std::uint16_t sum_of_halves(std::uint64_t a, std::uint64_t b) {
    return float_to_half(half_to_float(static_cast<std::uint16_t>(a)) + half_to_float(static_cast<std::uint16_t>(b)));
}
std::uint16_t sum_of_bfloats(std::uint64_t a, std::uint64_t b) {  // in f64, so that it is rounded once
    const double left = bfloat16_to_float(static_cast<std::uint16_t>(a)),
                 right = bfloat16_to_float(static_cast<std::uint16_t>(b));
    return static_cast<std::uint16_t>(encode<8, 7>(left + right, Rounding::nearest));
}

/// Sums, minima and maxima of floating-point numbers. Those of other kinds do not look at the type.
std::uint64_t combine_floats(Atomic kind, Number type, std::uint64_t old, std::uint64_t value) {
    const auto combined = [kind](auto a, auto b) {
        return kind == Atomic::add        ? a + b
               : kind == Atomic::subtract ? a - b
               : kind == Atomic::minimum  ? std::fmin(a, b)
                                          : std::fmax(a, b);
    };
    switch (type) {
        case Number::f16: return sum_of_halves(old, value);
        case Number::bf16: return sum_of_bfloats(old, value);
        case Number::f16_pair:
            return sum_of_halves(old, value) | static_cast<std::uint64_t>(sum_of_halves(old >> 16, value >> 16)) << 16;
        case Number::bf16_pair:
            return sum_of_bfloats(old, value) | static_cast<std::uint64_t>(sum_of_bfloats(old >> 16, value >> 16)) << 16;
        case Number::f32: return to_bits(combined(from_bits<float>(old), from_bits<float>(value)));
        default: return to_bits(combined(from_bits<double>(old), from_bits<double>(value)));
    }
}

bool looks_at_the_type(Atomic kind) {
    return kind == Atomic::add || kind == Atomic::subtract || kind == Atomic::minimum || kind == Atomic::maximum;
}

// Another thread may have waited for it.
void note_change() {
    if (in_a_kernel() && scheduler->launch->request->is_foreign) scheduler->spins = 0;
}

template <class Unsigned, class Signed>
std::uint64_t apply(Atomic kind, Number type, void* address, std::uint64_t value, std::uint64_t compare) {
    auto* const cell = static_cast<Unsigned*>(address);
    Unsigned old = __atomic_load_n(cell, __ATOMIC_RELAXED), wanted;
    if (kind == Atomic::load) return old;
    do {
        const auto v = static_cast<Unsigned>(value), c = static_cast<Unsigned>(compare);
        if (type > Number::unsigned_integer && looks_at_the_type(kind))
            wanted = static_cast<Unsigned>(combine_floats(kind, type, old, v));
        else if (type == Number::signed_integer && looks_at_the_type(kind) && kind != Atomic::add && kind != Atomic::subtract)
            wanted =
                static_cast<Unsigned>(combine(kind, static_cast<Signed>(old), static_cast<Signed>(v), static_cast<Signed>(c)));
        else
            wanted = combine(kind, old, v, c);
    } while (!__atomic_compare_exchange_n(cell, &old, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    if (wanted != old) note_change();
    return old;
}

/// Checks before each atomic of a kernel.
void before_atomic(Atomic kind, const void* address, std::size_t bytes, Place place) {
    Scheduler& self = in_kernel("an atomic");
    if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0)
        violate(mistake(
            "misaligned", place,
            "an atomic on " + std::to_string(bytes) + " bytes at " + text_of(place) + ": the address is not a multiple of that"));
    self.spin(nullptr, place);
    if constexpr (checker::kEnabled) checker::atomic_access(address, bytes, kind != Atomic::store, kind != Atomic::load, place);
}

}  // namespace

std::uint64_t atomic(Atomic kind, Number type, void* address, std::size_t bytes, std::uint64_t value, std::uint64_t compare,
                     Place place) {
    if (in_a_kernel()) before_atomic(kind, address, bytes, place);
    switch (bytes) {
        case 1: return apply<std::uint8_t, std::int8_t>(kind, type, address, value, compare);
        case 2: return apply<std::uint16_t, std::int16_t>(kind, type, address, value, compare);
        case 4: return apply<std::uint32_t, std::int32_t>(kind, type, address, value, compare);
        case 8: return apply<std::uint64_t, std::int64_t>(kind, type, address, value, compare);
        default:
            violate(mistake("fault", place,
                            "an atomic on " + std::to_string(bytes) + " bytes at " + text_of(place) + ": wanted 1, 2, 4 or 8"));
    }
}

std::uint64_t atomic(Atomic kind, void* address, std::size_t bytes, bool is_signed, std::uint64_t value, std::uint64_t compare,
                     Place place) {
    in_kernel("an atomic");
    if (bytes != 4 && bytes != 8)
        violate(
            mistake("fault", place, "an atomic on " + std::to_string(bytes) + " bytes at " + text_of(place) + ": wanted 4 or 8"));
    return atomic(kind, is_signed ? Number::signed_integer : Number::unsigned_integer, address, bytes, value, compare, place);
}

void atomic_wide(Atomic kind, void* address, const void* value, const void* compare, void* old, Place place) {
    before_atomic(kind, address, 16, place);
    static std::mutex one_at_a_time;  // no other atomic takes 16 bytes
    const std::lock_guard lock(one_at_a_time);
    unsigned char before[16];
    std::memcpy(before, address, 16);
    if (kind != Atomic::compare_exchange || std::memcmp(before, compare, 16) == 0) {
        std::memcpy(address, value, 16);
        note_change();
    }
    std::memcpy(old, before, 16);
}

}  // namespace heddle::emulator
