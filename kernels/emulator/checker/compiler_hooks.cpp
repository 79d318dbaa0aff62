// The callbacks that GCC inserts before each memory access in a file compiled with -fsanitize=thread. The program is linked with
// these functions instead of ThreadSanitizer's library. The README lists what GCC 12 instruments and what it does not.
#include "kernels/emulator/run/checker_hooks.h"

#if defined(HEDDLE_EMULATOR_CHECK)

#include <cstring>

#include "kernels/emulator/checker/state.h"

// The compiler prescribes the names and declares the functions itself.
#pragma GCC diagnostic ignored "-Wmissing-declarations"
#pragma GCC diagnostic ignored "-Wpedantic"

namespace {

using heddle::emulator::checker::Kind;
using heddle::emulator::checker::Origin;

/// Whether nothing is to be checked: host code in the same files, and a thread's own stack.
inline __attribute__((always_inline)) bool is_left_alone(const volatile void* address) {
    const heddle::emulator::checker::Running& running = heddle::emulator::checker::running;
    return running.thread < 0 ||
           reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(running.stack) < running.stack_bytes;
}

inline __attribute__((always_inline)) void access(const volatile void* address, std::size_t bytes, Kind kind,
                                                  bool reads = false) {
    namespace checker = heddle::emulator::checker;
    if (is_left_alone(address)) return;
    checker::check(const_cast<const void*>(address), bytes, kind, Origin::of_code(__builtin_return_address(0)), reads);
}
/// What g++ calls for a structure, too. A scalar of 2 to 8 bytes is an aligned access.
inline __attribute__((always_inline)) void structure_read(const void* address, std::size_t bytes) {
    namespace checker = heddle::emulator::checker;
    if (is_left_alone(address)) return;
    checker::check(address, bytes, Kind::read, Origin::of_code(__builtin_return_address(0)), false, true);
}
inline __attribute__((always_inline)) void aligned_access(const void* address, std::size_t bytes, Kind kind) {
    namespace checker = heddle::emulator::checker;
    if (__builtin_expect(checker::running.thread < 0, 0)) return;
    const Origin origin = Origin::of_code(__builtin_return_address(0));
    if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0)
        checker::report_misaligned({static_cast<const std::byte*>(address), bytes, kind, origin});
    checker::check(address, bytes, kind, origin);
}

inline __attribute__((always_inline)) void volatile_access(void* address, std::size_t bytes, bool writes) {
    namespace checker = heddle::emulator::checker;
    if (__builtin_expect(checker::running.thread < 0, 0)) return;
    checker::volatile_access(address, bytes, writes, __builtin_return_address(0));
}

}  // namespace

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

// 16 bytes may be two values of 8, so only the alignment to 8 is certain.
void __tsan_read1(void* p) { access(p, 1, Kind::read); }
void __tsan_read2(void* p) { aligned_access(p, 2, Kind::read); }
void __tsan_read4(void* p) { aligned_access(p, 4, Kind::read); }
void __tsan_read8(void* p) { aligned_access(p, 8, Kind::read); }
void __tsan_read16(void* p) { structure_read(p, 16); }
void __tsan_write1(void* p) { access(p, 1, Kind::write); }
void __tsan_write2(void* p) { aligned_access(p, 2, Kind::write); }
void __tsan_write4(void* p) { aligned_access(p, 4, Kind::write); }
void __tsan_write8(void* p) { aligned_access(p, 8, Kind::write); }
void __tsan_write16(void* p) { access(p, 16, Kind::write); }
void __tsan_unaligned_read2(void* p) { structure_read(p, 2); }
void __tsan_unaligned_read4(void* p) { structure_read(p, 4); }
void __tsan_unaligned_read8(void* p) { structure_read(p, 8); }
void __tsan_unaligned_read16(void* p) { structure_read(p, 16); }
void __tsan_unaligned_write2(void* p) { access(p, 2, Kind::write); }
void __tsan_unaligned_write4(void* p) { access(p, 4, Kind::write); }
void __tsan_unaligned_write8(void* p) { access(p, 8, Kind::write); }
void __tsan_unaligned_write16(void* p) { access(p, 16, Kind::write); }
void __tsan_read_range(void* p, std::size_t bytes) { structure_read(p, bytes); }
void __tsan_write_range(void* p, std::size_t bytes) { access(p, bytes, Kind::write); }
void __tsan_vptr_read(void** p) { access(p, sizeof *p, Kind::read); }
void __tsan_vptr_update(void** p, void*) { access(p, sizeof *p, Kind::write); }

// -fsanitize=alignment, which foreign files are compiled with: an access through a pointer that is not aligned for its type. It
// knows the types of 16 bytes, whose accesses may be two of 8 above.
struct HeddleTypeMismatch {
    const char* file;
    std::uint32_t line, column;
    const void* type;
    unsigned char log_alignment, kind;  // 0 a load, 1 a store, 3 a member's access; the rest accesses nothing yet
};
void __ubsan_handle_type_mismatch_v1(const HeddleTypeMismatch* what, std::uintptr_t address) {
    namespace checker = heddle::emulator::checker;
    if (checker::running.thread < 0 || (what->kind > 1 && what->kind != 3)) return;
    const std::size_t bytes = std::size_t{1} << what->log_alignment;
    if (address % bytes == 0) return;
    const Origin origin = Origin::of_code(__builtin_return_address(0));
    checker::report_misaligned(
        {reinterpret_cast<const std::byte*>(address), bytes, what->kind == 1 ? Kind::write : Kind::read, origin});
}

// Volatile accesses are how threads wait for each other. To global memory they count as atomic ones, as on a GPU, which makes
// them relaxed and strong; in shared memory as plain ones, because lanes of a warp that rely on volatile alone have been wrong
// since sm_70.
#define HEDDLE_VOLATILE(bytes)                                                                \
    void __tsan_volatile_read##bytes(void* p) { volatile_access(p, bytes, false); }           \
    void __tsan_volatile_write##bytes(void* p) { volatile_access(p, bytes, true); }           \
    void __tsan_unaligned_volatile_read##bytes(void* p) { volatile_access(p, bytes, false); } \
    void __tsan_unaligned_volatile_write##bytes(void* p) { volatile_access(p, bytes, true); }
HEDDLE_VOLATILE(1)
HEDDLE_VOLATILE(2)
HEDDLE_VOLATILE(4)
HEDDLE_VOLATILE(8)
HEDDLE_VOLATILE(16)

// g++ calls the C library for copies whose size is known only when they run; cuda/prelude.h renames these calls.
void* heddle_memcpy(void* to, const void* from, std::size_t bytes) {
    structure_read(from, bytes);
    access(to, bytes, Kind::write);
    return std::memcpy(to, from, bytes);
}
void* heddle_memmove(void* to, const void* from, std::size_t bytes) {
    structure_read(from, bytes);
    access(to, bytes, Kind::write);
    return std::memmove(to, from, bytes);
}
void* heddle_memset(void* to, int value, std::size_t bytes) {
    access(to, bytes, Kind::write);
    return std::memset(to, value, bytes);
}
int heddle_memcmp(const void* a, const void* b, std::size_t bytes) {
    access(a, bytes, Kind::read);
    access(b, bytes, Kind::read);
    return std::memcmp(a, b, bytes);
}

// clang calls these from version 15 on.
void* __tsan_memset(void* to, int value, std::size_t bytes) {
    access(to, bytes, Kind::write);
    return std::memset(to, value, bytes);
}
void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
    structure_read(from, bytes);
    access(to, bytes, Kind::write);
    return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
    structure_read(from, bytes);
    access(to, bytes, Kind::write);
    return std::memmove(to, from, bytes);
}

// Atomic operations of host code in these files (a shared_ptr's count, a static's guard) use the strongest memory order; kernels
// use CUDA's atomics, which call the checker themselves.
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

#define HEDDLE_FETCH(T, bits, name)                                     \
    T __tsan_atomic##bits##_fetch_##name(volatile T* p, T value, int) { \
        access(p, sizeof(T), Kind::atomic_write, true);                 \
        return __atomic_fetch_##name(p, value, __ATOMIC_SEQ_CST);       \
    }
#define HEDDLE_ATOMICS(T, bits)                                                                            \
    T __tsan_atomic##bits##_load(const volatile T* p, int) {                                               \
        access(p, sizeof(T), Kind::atomic_read);                                                           \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                       \
    }                                                                                                      \
    void __tsan_atomic##bits##_store(volatile T* p, T value, int) {                                        \
        access(p, sizeof(T), Kind::atomic_write);                                                          \
        __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                      \
    }                                                                                                      \
    T __tsan_atomic##bits##_exchange(volatile T* p, T value, int) {                                        \
        access(p, sizeof(T), Kind::atomic_write, true);                                                    \
        return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                            \
    }                                                                                                      \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* expected, T value, int, int) {     \
        access(p, sizeof(T), Kind::atomic_write, true);                                                    \
        return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }                                                                                                      \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* expected, T value, int, int) {       \
        access(p, sizeof(T), Kind::atomic_write, true);                                                    \
        return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }                                                                                                      \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected, T value, int, int) {           \
        access(p, sizeof(T), Kind::atomic_write, true);                                                    \
        __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
        return expected;                                                                                   \
    }                                                                                                      \
    HEDDLE_FETCH(T, bits, add)                                                                             \
    HEDDLE_FETCH(T, bits, sub)                                                                             \
    HEDDLE_FETCH(T, bits, and)                                                                             \
    HEDDLE_FETCH(T, bits, or)                                                                              \
    HEDDLE_FETCH(T, bits, xor)

HEDDLE_ATOMICS(unsigned char, 8)
HEDDLE_ATOMICS(unsigned short, 16)
HEDDLE_ATOMICS(unsigned int, 32)
HEDDLE_ATOMICS(unsigned long, 64)

}  // extern "C"

#endif
