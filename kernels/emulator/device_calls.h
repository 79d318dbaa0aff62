// Functions behind CUDA's wider set of device functions (kernels/emulator/cuda, kernels/emulator/include). interface.h declares
// the others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/emulator/float_formats.h"
#include "kernels/emulator/interface.h"

namespace heddle::emulator {

/// Whether a kernel's thread runs.
bool in_a_kernel();
/// The caller's place in the source, for operators, which take no further parameter: inlined functions call it.
[[gnu::noinline]] Place place_of_caller();

// ---- atomics ----

/// The type of an atomic's operand.
enum class Number { signed_integer, unsigned_integer, f16, bf16, f32, f64, f16_pair, bf16_pair };
/// A relaxed atomic on `bytes` bytes: 1, 2, 4 or 8. Returns the old value. In host code it is the CPU's atomic.
std::uint64_t atomic(Atomic kind, Number type, void* address, std::size_t bytes, std::uint64_t value, std::uint64_t compare,
                     Place place);
/// exchange or compare_exchange of 16 bytes.
void atomic_wide(Atomic kind, void* address, const void* value, const void* compare, void* old, Place place);

// ---- warps ----

/// __activemask(): the lanes of the warp that are at this call when no other lane of it can come there without their help. Waits
/// for them.
[[gnu::noinline]] unsigned active_lanes(Place place);
/// The lanes of the mask with the same value; `all`: the whole mask if they all have it, else none.
unsigned match(unsigned mask, std::uint64_t bits, bool all, Place place);
/// __reduce_*_sync.
enum class Reduction { add, minimum, maximum, bit_and, bit_or, bit_xor };
std::uint32_t reduce(Reduction kind, bool is_signed, unsigned mask, std::uint32_t value, Place place);
/// The value of the lane `source` of each lane's choice, which must be in the mask. Any size.
enum class Exchange { shuffle, up, down, exclusive_or, reduce, scan };
void exchange(Exchange kind, unsigned mask, const void* value, std::size_t bytes, int source, void* result, Place place);

// ---- groups of cooperative_groups.h (run/split_barriers.cpp) ----

/// A barrier of the threads first .. first + count - 1 of the block, whole warps.
void partial_barrier(unsigned first, unsigned count, Place place);
/// Shows the thread's value to the others of its block; read_shown() copies that of a thread. Barriers stand between them.
void show(const void* value);
void read_shown(unsigned thread, void* to, std::size_t bytes);
bool is_cooperative();
/// The number of blocks of a cluster, along x.
unsigned cluster_blocks();
/// The address in the shared memory of another block of the cluster.
void* cluster_shared(const void* address, unsigned block, Place place);

// ---- other ----

/// Lets other threads run first.
void step_aside(Place place);
/// Cycles of a clock that never goes back; nanoseconds here.
std::uint64_t clock_cycles();
/// Where a generic address points.
enum class Space { generic, global, shared, local, constant };
Space space_of(const void* address);
/// A shared address as the 32-bit number that PTX uses, and back.
std::uint32_t shared_offset(const void* address);
void* shared_address(std::uint32_t offset);

// ---- arithmetic (run/arithmetic.cpp) ----

/// One operation, rounded in any mode. Operands that it does not have are ignored.
enum class Arithmetic { add, multiply, divide, root, fused };
float rounded(Arithmetic operation, Rounding rounding, float a, float b = 0, float c = 0);
double rounded(Arithmetic operation, Rounding rounding, double a, double b = 0, double c = 0);

// Functions that the C library lacks.
double inverse_erf(double x);
double inverse_erfc(double x);
/// sqrt(x[0]^2 + ... + x[n - 1]^2), without overflow on the way.
double length(int n, const double* x);

// ---- barriers in memory: cuda::barrier and mbarrier (run/split_barriers.cpp) ----

/// The object takes 8 bytes in shared or global memory. Each phase ends with the `expected`-th arrival.
void split_barrier_init(void* barrier, std::uint32_t expected, Place place);
/// Arrives `count` times; what the thread did before happens before the end of the phase. `drop`: later phases expect fewer.
/// Returns the phase as a token.
std::uint64_t split_barrier_arrive(void* barrier, std::uint32_t count, bool drop, Place place);
/// Whether the token's phase is over.
bool split_barrier_test(void* barrier, std::uint64_t token, Place place);
/// Waits until it is.
void split_barrier_wait(void* barrier, std::uint64_t token, Place place);
/// The same for the last phase of a parity.
bool split_barrier_test_parity(void* barrier, std::uint32_t parity, Place place);
void split_barrier_wait_parity(void* barrier, std::uint32_t parity, Place place);
/// The thread's asynchronous copies since its last commit belong to barriers: they land before its next arrival at one.
void copies_belong_to_barriers();
void copies_of_barriers_land();

}  // namespace heddle::emulator
