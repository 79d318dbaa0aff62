// Integer atomics: real atomic operations, because blocks run on several CPU threads. Relaxed, as in CUDA: they order nothing.
#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/scheduler.h"

namespace heddle::emulator {
namespace {

constexpr std::uint64_t kMostSpins = 1'000'000'000;

template <class T>
T combine(Atomic kind, T old, T value, T compare) {
    switch (kind) {
        case Atomic::add: return static_cast<T>(old + value);
        case Atomic::minimum: return value < old ? value : old;
        case Atomic::maximum: return old < value ? value : old;
        case Atomic::exchange: return value;
        case Atomic::compare_exchange: return old == compare ? value : old;
        case Atomic::bit_or: return static_cast<T>(old | value);
        case Atomic::bit_and: return static_cast<T>(old & value);
    }
    return old;
}

template <class Unsigned, class Signed>
std::uint64_t apply(Atomic kind, void* address, bool is_signed, std::uint64_t value, std::uint64_t compare) {
    auto* const cell = static_cast<Unsigned*>(address);
    Unsigned old = __atomic_load_n(cell, __ATOMIC_RELAXED), wanted;
    do {
        const auto v = static_cast<Unsigned>(value), c = static_cast<Unsigned>(compare);
        wanted =
            is_signed && (kind == Atomic::minimum || kind == Atomic::maximum)
                ? static_cast<Unsigned>(combine(kind, static_cast<Signed>(old), static_cast<Signed>(v), static_cast<Signed>(c)))
                : combine(kind, old, v, c);
    } while (!__atomic_compare_exchange_n(cell, &old, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

}  // namespace

std::uint64_t atomic(Atomic kind, void* address, std::size_t bytes, bool is_signed, std::uint64_t value, std::uint64_t compare,
                     Place place) {
    Scheduler& self = in_kernel("an atomic");
    if (bytes != 4 && bytes != 8)
        violate("an atomic on " + std::to_string(bytes) + " bytes at " + text_of(place) + ": wanted 4 or 8");
    if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0)
        violate("an atomic on " + std::to_string(bytes) + " bytes at " + text_of(place) +
                ": the address is not a multiple of that");
    if (++self.spins > kMostSpins)
        violate("spins at " + text_of(place) + ": a billion atomics, and no thread of the block came any further");
    // Other threads must run between two atomics, or a thread that spins on another's write would spin forever.
    if ((self.random.next() & 7u) == 0) self.step_aside();
    if constexpr (checker::kEnabled) checker::atomic_access(address, bytes, true, true, place);
    return bytes == 4 ? apply<std::uint32_t, std::int32_t>(kind, address, is_signed, value, compare)
                      : apply<std::uint64_t, std::int64_t>(kind, address, is_signed, value, compare);
}

}  // namespace heddle::emulator
