#include "kernels/emulator/thrust/radix_sort.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/runtime/access.h"
#include "kernels/emulator/runtime/runtime.h"

namespace thrust::detail {
namespace {

using namespace heddle::emulator;

/// A key's bits as a number in whose order the keys are: 0.0 and -0.0 are equal, as in CUB.
std::uint64_t ordered(const SortRequest& r, const std::byte* at) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, at, r.key_bytes);
    const std::uint64_t top = std::uint64_t{1} << (8 * r.key_bytes - 1), all = top | (top - 1);
    if (r.kind == KeyKind::floating) {
        if (bits == top) bits = 0;
        bits = (bits & top) != 0 ? ~bits & all : bits | top;
    } else if (r.kind == KeyKind::signed_integer) {
        bits ^= top;
    }
    const int count = r.end_bit - r.begin_bit;
    return bits >> r.begin_bit & (count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1);
}

std::vector<std::byte> taken(const void* from, std::size_t bytes) {
    std::vector<std::byte> copy(bytes);
    std::memcpy(copy.data(), from, bytes);
    return copy;
}

void run_sort(const SortRequest& r) {
    const Rows keys = Rows::of(r.keys_in, r.n * r.key_bytes), values = Rows::of(r.values_in, r.n * r.value_bytes);
    const Rows keys_out = Rows::of(r.keys_out, r.n * r.key_bytes), values_out = Rows::of(r.values_out, r.n * r.value_bytes);
    check_device(keys, false);
    check_device(keys_out, true);
    const bool pairs = r.values_in != nullptr;
    if (pairs) check_device(values, false);
    if (pairs) check_device(values_out, true);
    const std::vector<std::byte> from = taken(r.keys_in, keys.width),
                                 with = pairs ? taken(r.values_in, values.width) : std::vector<std::byte>();
    struct Entry {
        std::uint64_t key;
        std::size_t index;
    };
    std::vector<Entry> order(r.n);
    for (std::size_t i = 0; i < r.n; ++i) order[i] = {ordered(r, from.data() + i * r.key_bytes), i};
    std::stable_sort(order.begin(), order.end(),
                     [&r](const Entry& a, const Entry& b) { return r.descending ? a.key > b.key : a.key < b.key; });
    auto* const to = static_cast<std::byte*>(r.keys_out);
    auto* const to_values = static_cast<std::byte*>(r.values_out);
    for (std::size_t i = 0; i < r.n; ++i) {
        std::memcpy(to + i * r.key_bytes, from.data() + order[i].index * r.key_bytes, r.key_bytes);
        if (pairs) std::memcpy(to_values + i * r.value_bytes, with.data() + order[i].index * r.value_bytes, r.value_bytes);
    }
    wrote(keys_out);
    if (pairs) wrote(values_out);
}

}  // namespace

cudaError_t sort_numbers(const SortRequest& r) {
    if (r.n == 0) return cudaSuccess;
    const int bits = static_cast<int>(8 * r.key_bytes);
    if (r.begin_bit < 0 || r.end_bit > bits || r.begin_bit > r.end_bit)
        return refuse(cudaErrorInvalidValue, std::string(r.name) + " at " + text_of(r.place) + ": the bits " +
                                                 std::to_string(r.begin_bit) + " to " + std::to_string(r.end_bit) +
                                                 " of a key of " + std::to_string(bits) + " bits");
    Operation operation;
    operation.what = r.name;
    operation.place = r.place;
    operation.reads = {Rows::of(r.keys_in, r.n * r.key_bytes)};
    operation.writes = {Rows::of(r.keys_out, r.n * r.key_bytes)};
    if (r.values_in != nullptr) {
        operation.reads.push_back(Rows::of(r.values_in, r.n * r.value_bytes));
        operation.writes.push_back(Rows::of(r.values_out, r.n * r.value_bytes));
    }
    for (const auto* rows : {&operation.reads, &operation.writes})
        for (const Rows& one : *rows)
            if (const std::string why = device_error(one, rows == &operation.reads ? "reads" : "writes"); !why.empty())
                return refuse(cudaErrorInvalidValue, std::string(r.name) + " at " + text_of(r.place) + ": " + why);
    operation.work = [r, name = title(operation)] {
        try {
            run_sort(r);
        } catch (const Violation& violation) {
            throw Violation(name + " " + violation.what());
        }
    };
    return submit(r.stream, std::move(operation));
}

}  // namespace thrust::detail
