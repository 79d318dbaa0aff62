// Accesses to memory that does not exist, belongs to others, or was never written.
#include <memory>

#include "kernels/device/shared.h"
#include "kernels/device/vector.h"
#include "tests/emulator/emulator_bugs.h"

namespace heddle::bugs {
namespace {

using device::thread_in_block;

template <bool Broken>
__global__ void unwritten_shared_kernel(float* out) {  // out [32]
    float* const s = device::shared<float>(32);
    const int t = thread_in_block();
    if (!Broken || t != 7) s[t] = 1;
    __syncwarp();
    out[t] = s[t ^ 1];  // BUG shared memory never written
}

// Only the first block writes; the others read its leftovers, as on a GPU.
template <bool Broken>
__global__ void stale_shared_kernel(float* out) {  // out [32]
    float* const s = device::shared<float>(32);
    const int t = thread_in_block();
    if (!Broken || blockIdx.x == 0) s[t] = 1;
    __syncwarp();
    if (s[t] != 1) out[t] = 1;  // BUG stale shared memory of another block
}

// y = x
__global__ void copy_kernel(const float* x, float* y) {  // x [32], y [32]
    const int t = thread_in_block();
    y[t] = x[t];  // BUG global memory never written
}

// Rows of 25 floats, accessed one element too far or too early.
template <int Shift>
__global__ void shifted_kernel(float* x) {  // x [100]
    const int t = thread_in_block();
    if (t < 100) x[t + Shift] = 1;  // BUG out of bounds
}

// A read must be checked at its place, even if only guarded code uses its value: a compiler may not move it there first.
template <bool Broken>
__global__ void early_read_kernel(float* x) {  // x [100]
    const int t = thread_in_block();
    const float value = x[Broken ? t : t % 100];  // BUG read before the guard
    if (t < 100) x[t] = value + 1;
}

template <bool Broken>
__global__ void shifted_vector_kernel(float* x) {  // x [98] in the broken one, [100] else
    const int t = thread_in_block();
    device::store_vector(x + 4 * t, device::Vector<float, 4>{});  // BUG vector half out of bounds
}

template <bool Broken>
__global__ void between_pieces_kernel(float* out) {  // out [32]
    device::SharedArena arena;
    float* const a = arena.take<float>(32);
    float* const b = arena.take<float>(32);
    const int t = thread_in_block();
    a[t] = b[t] = 1;
    a[t + (Broken ? 1 : 0)] = 2;  // BUG shared memory between two pieces
    out[t] = b[t];
}

template <bool Broken>
__global__ void before_pieces_kernel(float* out) {  // out [32]
    float* const a = device::shared<float>(32);
    const int t = thread_in_block();
    a[t - (Broken ? 1 : 0)] = 1;  // BUG before the shared memory
    out[t] = 1;
}

template <bool Broken>
__global__ void behind_pieces_kernel(float* out) {  // out [32]
    float* const a = device::shared<float>(32);
    const int t = thread_in_block();
    a[t] = 1;
    out[t] = a[Broken && t == 31 ? 32 : t];  // BUG behind the shared memory
}

__global__ void add_one_kernel(float* x) {  // x [32]
    x[thread_in_block()] += 1;              // BUG freed memory
}
__global__ void read_host_kernel(const float* x, float* y) {
    y[thread_in_block()] = *x;  // BUG host memory
}
__global__ void write_host_kernel(float* x) {
    if (thread_in_block() == 0) *x = 1;  // BUG write to host memory
}

// A lane accesses another lane's local variable.
template <bool Broken>
__global__ void local_kernel(float* out) {  // out [32]
    float local[4] = {1, 2, 3, static_cast<float>(blockIdx.x)};
    const auto address = reinterpret_cast<std::uintptr_t>(&local[thread_in_block() % 4]);
    const auto other = __shfl_xor_sync(device::kAllLanes, static_cast<unsigned long long>(address), Broken ? 1 : 0);
    out[thread_in_block()] = *reinterpret_cast<const float*>(other);  // BUG another thread's local variable
    __syncwarp();
}

template <bool Broken>
__global__ void misaligned_kernel(const unsigned char* x, int* y) {  // x [64], y [4]
    const int t = thread_in_block();
    const auto address = reinterpret_cast<std::uintptr_t>(x) + 4 * static_cast<unsigned>(t) + (Broken ? 2 : 0);
    y[t] = *reinterpret_cast<const int*>(address);  // BUG misaligned access
}
template <bool Broken>
__global__ void misaligned_vector_kernel(const float* x, float* y) {  // x [64], y [4]
    const int t = thread_in_block();
    y[t] = device::load_vector<4>(x + 4 * t + (Broken ? 2 : 0))[0];  // BUG misaligned vector
}

constexpr BugsOf bug{"tests/emulator/emulator_checker_kernels_memory.cu"};
float program_variable = 1;

template <class Kernel>
std::function<void()> with_output(Kernel kernel, unsigned blocks = 1) {
    return [=] {
        const Buffer<float> out(32);
        run({.grid = blocks, .block = 32, .shared = 512}, kernel, out.data());
    };
}
template <class Kernel>
std::function<void()> on_hundred(Kernel kernel, std::size_t count = 100, unsigned threads = 128) {
    return [=] {
        const Buffer<float> x(count);
        run({.block = threads}, kernel, x.data());
    };
}
template <class Kernel>
std::function<void()> on_hundred_ones(Kernel kernel, unsigned threads = 128) {
    return [=] {
        const Buffer<float> x(100, 1.0f);
        run({.block = threads}, kernel, x.data());
    };
}
void read_from(const float* x) {
    const Buffer<float> y(32);
    run({.block = 32}, read_host_kernel, x, y.data());
}
void read_from_device() {
    const Buffer<float> x(1, 1.0f);
    read_from(x.data());
}
void write_to_device() {
    const Buffer<float> x(1, 1.0f);
    run({.block = 32}, write_host_kernel, x.data());
}

}  // namespace

std::vector<Bug> memory_bugs() {
    const std::string host = "host memory, which a GPU cannot reach";
    return {
        bug("shared memory never written", with_output(unwritten_shared_kernel<true>),
            with_output(unwritten_shared_kernel<false>), {"that no thread of this block has written"}),
        bug("stale shared memory of another block", with_output(stale_shared_kernel<true>, 3),
            with_output(stale_shared_kernel<false>, 3), {"that no thread of this block has written"}),
        bug(
            "global memory never written",
            [] {
                const Buffer<float> x(32), y(32);
                run({.block = 32}, copy_kernel, x.data(), y.data());
            },
            [] {
                const Buffer<float> x(32, 1.0f), y(32);
                run({.block = 32}, copy_kernel, x.data(), y.data());
            },
            {"global memory at"}),
        bug("one element past the end", on_hundred(shifted_kernel<1>), on_hundred(shifted_kernel<0>),
            {"4 bytes past the end of the 400 bytes allocated at"}, "out of bounds"),
        bug("read before the guard", on_hundred_ones(early_read_kernel<true>), on_hundred_ones(early_read_kernel<false>, 100),
            {"past the end of the 400 bytes allocated at"}),
        bug("one element before the start", on_hundred(shifted_kernel<-1>), on_hundred(shifted_kernel<0>),
            {"4 bytes before the 400 bytes allocated at"}, "out of bounds"),
        bug("far past the end", on_hundred(shifted_kernel<1'000'000>), on_hundred(shifted_kernel<0>),
            {"past the end of the 400 bytes allocated at"}, "out of bounds"),
        bug("vector half out of bounds", on_hundred(shifted_vector_kernel<true>, 98, 25),
            on_hundred(shifted_vector_kernel<false>, 100, 25), {"8 bytes past the end of the 392 bytes allocated at"}),
        bug("shared memory between two pieces", with_output(between_pieces_kernel<true>),
            with_output(between_pieces_kernel<false>), {"4 bytes past the end of a piece of 128 bytes", "without a __syncwarp"}),
        bug("before the shared memory", with_output(before_pieces_kernel<true>), with_output(before_pieces_kernel<false>),
            {"4 bytes before a piece of 128 bytes"}),
        bug("behind the shared memory", with_output(behind_pieces_kernel<true>), with_output(behind_pieces_kernel<false>),
            {"4 bytes past the end of a piece of 128 bytes"}),
        bug(
            "use after free",
            [] {
                float* x = nullptr;
                {
                    const Buffer<float> gone(32, 1.0f);
                    x = gone.data();
                }
                run({.block = 32}, add_one_kernel, x);
            },
            [] {
                const Buffer<float> x(32, 1.0f);
                run({.block = 32}, add_one_kernel, x.data());
            },
            {"after it was freed"}, "freed memory"),
        bug(
            "pointer to the host's stack",
            [] {
                const volatile float local = 1;
                read_from(const_cast<const float*>(&local));
            },
            read_from_device, {host}, "host memory"),
        bug(
            "pointer to the host's heap",
            [] {
                const auto x = std::make_unique<float>(1.0f);
                read_from(x.get());
            },
            read_from_device, {host}, "host memory"),
        bug(
            "pointer to a variable of the program", [] { read_from(&program_variable); }, read_from_device,
            {"a variable of the program, which a GPU cannot reach"}, "host memory"),
        bug("write to host memory",
            [] {
                const auto x = std::make_unique<float>(1.0f);
                run({.block = 32}, write_host_kernel, x.get());
            },
            write_to_device, {host}),
        bug("another thread's local variable", with_output(local_kernel<true>), with_output(local_kernel<false>),
            {"a local variable of thread"}),
        bug(
            "misaligned access",
            [] {
                const Buffer<unsigned char> x(64, 1);
                const Buffer<int> y(4);
                run({.block = 4}, misaligned_kernel<true>, x.data(), y.data());
            },
            [] {
                const Buffer<unsigned char> x(64, 1);
                const Buffer<int> y(4);
                run({.block = 4}, misaligned_kernel<false>, x.data(), y.data());
            },
            {"is not a multiple of 4"}),
        bug(
            "misaligned vector",
            [] {
                const Buffer<float> x(64, 1.0f), y(4);
                run({.block = 4}, misaligned_vector_kernel<true>, x.data(), y.data());
            },
            [] {
                const Buffer<float> x(64, 1.0f), y(4);
                run({.block = 4}, misaligned_vector_kernel<false>, x.data(), y.data());
            },
            {"not a multiple"}, nullptr, "scheduler"),
    };
}

}  // namespace heddle::bugs
