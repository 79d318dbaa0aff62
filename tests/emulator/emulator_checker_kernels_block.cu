// Races within a block: a barrier, a __syncwarp or a lane of its mask is missing.
#include "kernels/device/mma.h"
#include "kernels/device/reduce.h"
#include "kernels/device/vector.h"
#include "tests/emulator/emulator_bugs.h"

namespace heddle::bugs {
namespace {

using device::lane;
using device::thread_in_block;

// Every thread reads its neighbour's value, which may not be written yet without the barrier.
template <bool Broken>
__global__ void barrier_before_read_kernel(float* out) {  // out [128]
    float* const s = device::shared<float>(128);
    const int t = thread_in_block();
    s[t] = static_cast<float>(t);  // BUG missing barrier before a read
    if constexpr (!Broken) __syncthreads();
    out[t] = s[(t + 33) % 128];  // BUG missing barrier before a read
}

template <bool Broken>
__global__ void barrier_before_overwrite_kernel(float* out) {  // out [128]
    float* const s = device::shared<float>(128);
    const int t = thread_in_block();
    s[t] = static_cast<float>(t);
    __syncthreads();
    const float value = s[(t + 33) % 128];  // BUG missing barrier before an overwrite
    if constexpr (!Broken) __syncthreads();
    s[t] = value;  // BUG missing barrier before an overwrite
    __syncthreads();
    out[t] = s[127 - t];
}

template <bool Broken>
__global__ void barrier_in_loop_kernel(float* out) {  // out [128]
    float* const s = device::shared<float>(128);
    const int t = thread_in_block();
    float sum = 0;
    for (int i = 0; i < 3; ++i) {
        s[t] = static_cast<float>(i + t);  // BUG loop without a barrier at its end
        __syncthreads();
        sum += s[(t + 64) % 128];  // BUG loop without a barrier at its end
        if constexpr (!Broken) __syncthreads();
    }
    out[t] = sum;
}

template <bool Broken>
__global__ void warp_exchange_kernel(float* out) {  // out [64]
    float* const s = device::shared<float>(64);
    const int t = thread_in_block();
    s[t] = static_cast<float>(t);  // BUG missing __syncwarp between lanes
    if constexpr (!Broken) __syncwarp();
    out[t] = s[t ^ 1];  // BUG missing __syncwarp between lanes
}

// The upper lanes meet, too, but not with the lower ones, whose values they read.
template <bool Broken>
__global__ void warp_mask_kernel(float* out) {  // out [32]
    float* const s = device::shared<float>(32);
    const int t = thread_in_block();
    s[t] = static_cast<float>(t);  // BUG __syncwarp with too small a mask
    if constexpr (!Broken) {
        __syncwarp();
    } else {
        if (t < 16)
            __syncwarp(0x0000ffffu);
        else
            __syncwarp(0xffff0000u);
    }
    out[t] = s[31 - t];  // BUG __syncwarp with too small a mask
}

template <bool Broken>
__global__ void shuffle_kernel(float* out) {  // out [32]
    float* const s = device::shared<float>(32);
    const int t = thread_in_block();
    s[t] = static_cast<float>(t);  // BUG shuffle taken for a barrier
    const float sum = device::warp_sum(static_cast<float>(t));
    if constexpr (!Broken) __syncwarp();
    out[t] = s[t ^ 16] + sum;  // BUG shuffle taken for a barrier
}

template <bool Broken>
__global__ void vote_kernel(float* out) {  // out [32]
    float* const s = device::shared<float>(32);
    const int t = thread_in_block();
    s[t] = static_cast<float>(t);  // BUG vote taken for a barrier
    const bool all = __all_sync(device::kAllLanes, t >= 0) != 0;
    if constexpr (!Broken) __syncwarp();
    if (all) out[t] = s[t ^ 16];  // BUG vote taken for a barrier
}

template <bool Broken>
__global__ void product_kernel(float* out) {  // out [32]
    float* const s = device::shared<float>(32);
    const int t = thread_in_block();
    s[t] = static_cast<float>(t);  // BUG mma taken for a barrier
    device::Accumulator16x8 d;
    device::mma(d, device::FragmentA{}, device::FragmentB{});
    if constexpr (!Broken) __syncwarp();
    out[t] = s[t ^ 16] + d[0];  // BUG mma taken for a barrier
}

// A block of two warps with only a __syncwarp between write and read.
template <bool Broken>
__global__ void warp_for_block_kernel(float* out) {  // out [64]
    float* const s = device::shared<float>(64);
    const int t = thread_in_block();
    s[t] = static_cast<float>(t);  // BUG __syncwarp in place of a barrier
    if constexpr (Broken)
        __syncwarp();
    else
        __syncthreads();
    out[t] = s[63 - t];  // BUG __syncwarp in place of a barrier
}

template <bool Broken>
__global__ void two_writers_kernel(int* out) {  // out [64]
    const int t = thread_in_block();
    out[Broken ? t / 2 : t] = t;  // BUG two threads write the same place
}

// Warps 0 and 1 pass values to warp 2 through a named barrier, in which warp 3 takes no part.
template <bool Broken>
__global__ void named_barrier_kernel(float* out) {  // out [64]
    float* const s = device::shared<float>(64);
    const int t = thread_in_block();
    if (t < 64) {
        s[t] = static_cast<float>(t);  // BUG missing named barrier
        if constexpr (!Broken) emulator::named_barrier(1, 96);
    } else if (t < 96) {
        if constexpr (!Broken) emulator::named_barrier(1, 96);
        out[t - 64] = s[t - 64] + s[t - 32];  // BUG missing named barrier
    }
}

// The same, but the reading warp was not at the barrier.
template <bool Broken>
__global__ void named_outsider_kernel(float* out) {  // out [32]
    float* const s = device::shared<float>(32);
    const int t = thread_in_block(), warp = device::warp();
    if (warp == 0) s[t] = static_cast<float>(t);  // BUG named barrier of other warps
    if (warp == 0 || warp == (Broken ? 1 : 2)) emulator::named_barrier(2, 64);
    if (warp == 2) out[lane()] = s[lane()];  // BUG named barrier of other warps
}

// Neighbours share a word: only accesses to the same bytes conflict.
template <bool Broken>
__global__ void bytes_kernel(unsigned char* out) {  // out [64]
    unsigned char* const s = device::shared<unsigned char>(64);
    const int t = thread_in_block();
    s[t] = static_cast<unsigned char>(t);  // BUG race on a byte
    if constexpr (!Broken) __syncthreads();
    out[t] = s[(t + 32) % 64];  // BUG race on a byte
}

// A part of a word is written whose readers were noted for the whole.
template <bool Broken>
__global__ void half_kernel(unsigned* out) {  // out [64]
    unsigned* const s = device::shared<unsigned>(1);
    const int t = thread_in_block();
    if (t == 0) s[0] = 7;
    __syncthreads();
    out[t] = s[0];  // BUG half of a word that a block reads
    if constexpr (!Broken) __syncthreads();
    if (t == 40) reinterpret_cast<unsigned short*>(s)[1] = 1;  // BUG half of a word that a block reads
}

template <bool Broken>
__global__ void vector_kernel(float* out) {  // out [128]
    float* const s = device::shared<float>(128);
    const int t = thread_in_block();
    device::store_vector(s + 4 * t, device::Vector<float, 4>{{1, 2, 3, 4}});  // BUG race on a vector
    if constexpr (!Broken) __syncwarp();
    out[t] = s[t];  // BUG race on a vector
}

template <bool Broken>
__global__ void ldmatrix_kernel(float* out) {  // out [32]
    bf16* const s = device::shared<bf16>(256);
    const int t = thread_in_block();
    for (int i = t; i < 256; i += 32) s[i] = bf16(static_cast<float>(i));  // BUG race with ldmatrix
    if constexpr (!Broken) __syncwarp();
    device::FragmentA a;
    device::load_a(a, s + t % 16 * 16 + t / 16 * 8);  // BUG race with ldmatrix
    out[t] = static_cast<float>(a.a[0]);
}

// After so many reads the checker only keeps the first one, but a later write must still be found to race with them.
template <bool Broken>
__global__ void everybody_reads_kernel(float* out) {  // out [256]
    float* const s = device::shared<float>(1);
    const int t = thread_in_block();
    if (t == 0) s[0] = 3;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 3; ++i) sum += *static_cast<const volatile float*>(s);  // BUG overwrite of what a whole block reads
    if constexpr (!Broken) __syncthreads();
    if (t == 77) s[0] = sum;  // BUG overwrite of what a whole block reads
    out[t] = sum;
}

template <bool Broken>
__global__ void warp_reads_kernel(float* out) {  // out [64]
    float* const s = device::shared<float>(2);
    const int t = thread_in_block();
    if (lane() == 0) s[t / 32] = 3;
    __syncwarp();
    float sum = 0;
    for (int i = 0; i < 3; ++i) sum += static_cast<const volatile float*>(s)[t / 32];  // BUG overwrite of what a warp reads
    if constexpr (!Broken) __syncwarp();
    if (lane() == 9) s[t / 32] = sum;  // BUG overwrite of what a warp reads
    out[t] = sum;
}

// Lane 31 reads what the others read, but has not met the writer.
template <bool Broken>
__global__ void left_out_reader_kernel(float* out) {  // out [32]
    float* const s = device::shared<float>(1);
    const int t = thread_in_block();
    if (t == 0) s[0] = 3;  // BUG reader outside of the mask
    if constexpr (!Broken)
        __syncwarp();
    else if (t < 31)
        __syncwarp(0x7fffffffu);
    out[t] = s[0];  // BUG reader outside of the mask
}

constexpr const char* kFile = "tests/emulator/emulator_checker_kernels_block.cu";

template <class T>
std::function<void()> with_output(void (*kernel)(T*), int threads, std::size_t shared) {
    return [=] {
        const Buffer<T> out(256);
        run({.block = static_cast<unsigned>(threads), .shared = shared}, kernel, out.data());
    };
}
template <class T>
Bug bug(const char* name, void (*broken)(T*), void (*correct)(T*), int threads, std::size_t shared,
        std::vector<std::string> words) {
    return {
        name, "checker", kFile, with_output(broken, threads, shared), with_output(correct, threads, shared), std::move(words)};
}

}  // namespace

std::vector<Bug> block_bugs() {
    const std::string no_barrier = "without a barrier between", no_syncwarp = "without a __syncwarp";
    const std::string unwritten = "that no thread of this block has written";
    return {
        bug("missing barrier before a read", barrier_before_read_kernel<true>, barrier_before_read_kernel<false>, 128, 512,
            {no_barrier, unwritten}),
        bug("missing barrier before an overwrite", barrier_before_overwrite_kernel<true>, barrier_before_overwrite_kernel<false>,
            128, 512, {no_barrier}),
        bug("loop without a barrier at its end", barrier_in_loop_kernel<true>, barrier_in_loop_kernel<false>, 128, 512,
            {no_barrier}),
        bug("missing __syncwarp between lanes", warp_exchange_kernel<true>, warp_exchange_kernel<false>, 64, 256,
            {no_syncwarp, unwritten}),
        bug("__syncwarp with too small a mask", warp_mask_kernel<true>, warp_mask_kernel<false>, 32, 128,
            {no_syncwarp, unwritten}),
        bug("__syncwarp in place of a barrier", warp_for_block_kernel<true>, warp_for_block_kernel<false>, 64, 256,
            {no_barrier, unwritten}),
        bug("shuffle taken for a barrier", shuffle_kernel<true>, shuffle_kernel<false>, 32, 128, {no_syncwarp}),
        bug("vote taken for a barrier", vote_kernel<true>, vote_kernel<false>, 32, 128, {no_syncwarp}),
        bug("mma taken for a barrier", product_kernel<true>, product_kernel<false>, 32, 128, {no_syncwarp}),
        bug("two threads write the same place", two_writers_kernel<true>, two_writers_kernel<false>, 64, 0, {no_syncwarp}),
        bug("missing named barrier", named_barrier_kernel<true>, named_barrier_kernel<false>, 128, 256, {no_barrier, unwritten}),
        bug("named barrier of other warps", named_outsider_kernel<true>, named_outsider_kernel<false>, 96, 128,
            {no_barrier, unwritten}),
        bug("race on a byte", bytes_kernel<true>, bytes_kernel<false>, 64, 64, {no_barrier, unwritten}),
        bug("half of a word that a block reads", half_kernel<true>, half_kernel<false>, 64, 4, {no_barrier, no_syncwarp}),
        bug("race on a vector", vector_kernel<true>, vector_kernel<false>, 32, 512, {no_syncwarp, unwritten}),
        bug("race with ldmatrix", ldmatrix_kernel<true>, ldmatrix_kernel<false>, 32, 512, {no_syncwarp, unwritten}),
        bug("overwrite of what a whole block reads", everybody_reads_kernel<true>, everybody_reads_kernel<false>, 256, 4,
            {no_barrier, no_syncwarp}),
        bug("overwrite of what a warp reads", warp_reads_kernel<true>, warp_reads_kernel<false>, 64, 8, {no_syncwarp}),
        bug("reader outside of the mask", left_out_reader_kernel<true>, left_out_reader_kernel<false>, 32, 4,
            {no_syncwarp, unwritten}),
    };
}

}  // namespace heddle::bugs
