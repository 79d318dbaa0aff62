// Slices along one axis on CUDA; slice.h has the formulas. Both tensors are [outer, run], the part's runs lying at `offset` in
// the whole's.
//
// Who owns what: a thread up to 16 bytes of the part, and the same bytes of the whole. Taking out and placing are one kernel with
// two pitches: it moves bytes and does not ask what they are.
//
// Memory traffic: the part is read once and written once; backward reads both and writes the whole's runs, three times the part.
#include "kernels/device/dispatch.h"
#include "kernels/device/division.h"
#include "kernels/device/sweep.h"
#include "kernels/slice/slice.h"

namespace heddle::kernels {
namespace {

using namespace device;

// from, to: runs of `run` pieces of B bytes, from_pitch and to_pitch pieces apart; n = outer * run.
template <int B>
__global__ void __launch_bounds__(kSweepBlock)
    copy_runs_kernel(const std::uint8_t* from, std::int64_t from_pitch, std::uint8_t* to, std::int64_t to_pitch, Divisor run,
                     std::int64_t n) {
    const std::int64_t thread = std::int64_t{blockIdx.x} * kSweepBlock + threadIdx.x;
    if (thread >= n) return;
    const std::int64_t row = thread / run, column = thread - row * run.number;
    store_vector(to + (row * to_pitch + column) * B, load_vector<B>(from + (row * from_pitch + column) * B));
}

// part [outer, run]; whole: its first run, the runs `pitch` elements apart; n = outer * run. N divides run.
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock)
    add_runs_kernel(const T* part, T* whole, std::int64_t pitch, Divisor run, std::int64_t n) {
    const std::int64_t first = (std::int64_t{blockIdx.x} * kSweepBlock + threadIdx.x) * N;
    if (first >= n) return;
    const std::int64_t row = first / run, at = row * pitch + (first - row * run.number);
    Vector<T, N> values = load_vector<N>(whole + at);
    const Vector<T, N> more = load_vector<N>(part + first);
#pragma unroll
    for (int j = 0; j < N; ++j) values[j] = store<T>(load(values[j]) + load(more[j]));
    store_vector(whole + at, values);
}

// Runs of `run` bytes that lie `from_pitch` and `to_pitch` bytes apart.
void copy_runs(const std::byte* from, std::int64_t from_pitch, std::byte* to, std::int64_t to_pitch, std::int64_t run,
               std::int64_t outer) {
    with_bytes({address(from), address(to), static_cast<std::uint64_t>(from_pitch), static_cast<std::uint64_t>(to_pitch),
                static_cast<std::uint64_t>(run)},
               [&]<int B>(Width<B>) {
                   const std::int64_t pieces = outer * (run / B);
                   launch(sweep_config(pieces, 1), copy_runs_kernel<B>, reinterpret_cast<const std::uint8_t*>(from),
                          from_pitch / B, reinterpret_cast<std::uint8_t*>(to), to_pitch / B, run / B, pieces);
               });
}

}  // namespace

void take_runs_cuda(const Tensor& whole, const SliceRuns& runs, Tensor& part) {
    const std::int64_t size = size_of(whole.dtype());
    copy_runs(whole.bytes_data() + runs.offset * size, runs.whole * size, part.mutable_bytes_data(), runs.part * size,
              runs.part * size, runs.outer);
}

void place_runs_cuda(const Tensor& part, const SliceRuns& runs, Tensor& whole) {
    const std::int64_t size = size_of(whole.dtype());
    copy_runs(part.bytes_data(), runs.part * size, whole.mutable_bytes_data() + runs.offset * size, runs.whole * size,
              runs.part * size, runs.outer);
}

void add_runs_cuda(const Tensor& part, const SliceRuns& runs, Tensor& whole) {
    dispatch("slice_backward", whole.dtype(), [&]<class T>(TypeTag<T>) {
        const T* from = part.data<T>();
        T* to = whole.mutable_data<T>() + runs.offset;
        const std::int64_t n = runs.outer * runs.part;
        constexpr int N = kVector<T>;
        const bool fits = vectors_fit(from, runs.part, N) && vectors_fit(to, runs.whole, N);
        launch(sweep_config(n, fits ? N : 1), fits ? add_runs_kernel<T, N> : add_runs_kernel<T, 1>, from, to, runs.whole,
               runs.part, n);
    });
}

}  // namespace heddle::kernels
