// Concatenation on CUDA; concat.h has the formula. y is seen as [outer, run]: a run is all of what the parts give one outer
// index, part i's share of it begins at begin_i. Backward is a slice (kernels/slice).
//
// Who owns what: a thread up to 16 bytes of y. It looks for the part that they come from among the few that a launch takes, so
// that y is written in order, whatever the parts' widths: neighbouring lanes write neighbouring bytes. More than kParts parts
// take more launches, each of which writes its own parts' share of the runs.
//
// Memory traffic: each part is read once, y written once.
#include <algorithm>

#include "kernels/concat/concat.h"
#include "kernels/device/division.h"
#include "kernels/device/launch.h"
#include "kernels/device/sweep.h"

namespace heddle::kernels {
namespace {

using namespace device;

constexpr int kParts = 8;

// Some of the parts, in pieces of the launch's width. After the last part `begin` is the end.
struct Share {
    const std::uint8_t* from[kParts];  // part i [outer, begin[i + 1] - begin[i]]
    std::int64_t begin[kParts + 1];    // of part i's share of a run of y
    int parts;
    Divisor width;  // of all of them
};

// y: runs `pitch` pieces of B bytes apart, of which this launch writes [begin[0], begin[parts]); n = outer times that many
// pieces.
template <int B>
__global__ void __launch_bounds__(kSweepBlock) concat_kernel(Share share, std::uint8_t* y, std::int64_t pitch, std::int64_t n) {
    const std::int64_t thread = std::int64_t{blockIdx.x} * kSweepBlock + threadIdx.x;
    if (thread >= n) return;
    const std::int64_t row = thread / share.width, at = share.begin[0] + (thread - row * share.width.number);
    const std::uint8_t* from = share.from[0];
    std::int64_t begin = share.begin[0], end = share.begin[1];
#pragma unroll
    for (int i = 1; i < kParts; ++i) {
        if (i >= share.parts || at < share.begin[i]) break;
        from = share.from[i];
        begin = share.begin[i];
        end = share.begin[i + 1];
    }
    store_vector(y + (row * pitch + at) * B, load_vector<B>(from + (row * (end - begin) + at - begin) * B));
}

// Parts [first, first + count) into their share of y's runs; `bytes` are those of one step of the axis, `begin` the first part's
// first byte in a run.
void concat_some(std::span<const Tensor> parts, int axis, std::int64_t bytes, std::int64_t begin, Tensor& y, std::int64_t outer) {
    const std::int64_t pitch = y.dim(axis) * bytes;
    Share share{};
    share.parts = static_cast<int>(parts.size());
    std::uint64_t all = address(y.bytes_data()) | static_cast<std::uint64_t>(pitch) | static_cast<std::uint64_t>(begin);
    std::int64_t end = begin;
    for (int i = 0; i < share.parts; ++i) {
        const Tensor& part = parts[static_cast<std::size_t>(i)];
        share.from[i] = reinterpret_cast<const std::uint8_t*>(part.bytes_data());
        share.begin[i] = end;
        end += part.dim(axis) * bytes;
        all |= address(part.bytes_data()) | static_cast<std::uint64_t>(end);
    }
    share.begin[share.parts] = end;
    // A width that divides every address, share and pitch divides their bitwise or.
    with_bytes({all}, [&]<int B>(Width<B>) {
        for (int i = 0; i <= share.parts; ++i) share.begin[i] /= B;
        share.width = (end - begin) / B;
        const std::int64_t pieces = outer * share.width.number;
        launch(sweep_config(pieces, 1), concat_kernel<B>, share, reinterpret_cast<std::uint8_t*>(y.mutable_bytes_data()),
               pitch / B, pieces);
    });
}

}  // namespace

void concat_forward_cuda(std::span<const Tensor> parts, int axis, Tensor& y) {
    std::int64_t outer = 1, bytes = size_of(y.dtype());
    for (int i = 0; i < axis; ++i) outer *= y.dim(i);
    for (int i = axis + 1; i < y.rank(); ++i) bytes *= y.dim(i);
    std::int64_t begin = 0;
    for (std::size_t first = 0; first < parts.size(); first += kParts) {
        const auto some = parts.subspan(first, std::min(static_cast<std::size_t>(kParts), parts.size() - first));
        concat_some(some, axis, bytes, begin, y, outer);
        for (const Tensor& part : some) begin += part.dim(axis) * bytes;
    }
}

}  // namespace heddle::kernels
