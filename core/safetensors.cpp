#include "core/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <unordered_set>

#include "core/format.h"
#include "core/half.h"
#include "core/safetensors_header.h"

namespace heddle {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are little endian and are copied as they are");

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the limit of the format's own library

/// The format's dtypes with a whole number of bytes. Those that cannot be loaded are included because their sizes are checked,
/// too.
struct FileDType {
    std::string_view name;
    std::int64_t size;
};
constexpr std::array<FileDType, 17> kFileDTypes{{{"F64", 8},
                                                 {"F32", 4},
                                                 {"F16", 2},
                                                 {"BF16", 2},
                                                 {"I64", 8},
                                                 {"I32", 4},
                                                 {"I16", 2},
                                                 {"I8", 1},
                                                 {"U64", 8},
                                                 {"U32", 4},
                                                 {"U16", 2},
                                                 {"U8", 1},
                                                 {"BOOL", 1},
                                                 {"F8_E5M2", 1},
                                                 {"F8_E4M3", 1},
                                                 {"F8_E8M0", 1},
                                                 {"C64", 8}}};

std::string_view file_dtype(DType dtype) {
    switch (dtype) {
        case DType::f64: return "F64";
        case DType::f32: return "F32";
        case DType::bf16: return "BF16";
        case DType::i32: return "I32";
        case DType::u8: return "U8";
        case DType::dual: fail("safetensors: files hold no dual numbers; take their values with to(DType::f64)");
    }
    fail("safetensors: no such element type");
}

/// The size in bytes of a tensor of this dtype and shape. Error if the dtype is unknown or the size overflows 64 bits.
std::uint64_t wanted_bytes(const SafetensorsEntry& tensor) {
    const auto* known = std::ranges::find(kFileDTypes, tensor.dtype, &FileDType::name);
    check(known != kFileDTypes.end(), "tensor {} has the unknown dtype {}", shown(tensor.name), shown(tensor.dtype));
    std::int64_t bytes = known->size;
    // Zero extents first: [2^40, 2^40, 0] is empty, whatever the order of multiplication.
    for (int axis = 0; axis < tensor.shape.rank(); ++axis)
        if (tensor.shape[axis] == 0) return 0;
    for (int axis = 0; axis < tensor.shape.rank(); ++axis)
        check(!__builtin_mul_overflow(bytes, tensor.shape[axis], &bytes), "tensor {} has the absurd shape {}", shown(tensor.name),
              tensor.shape);
    return static_cast<std::uint64_t>(bytes);
}

/// Error unless the tensors, sorted by offset, cover [0, size) without overlaps, gaps or remaining bytes.
void check_places(const std::vector<SafetensorsEntry>& tensors, std::uint64_t size) {
    std::vector<const SafetensorsEntry*> sorted;
    sorted.reserve(tensors.size());
    for (const SafetensorsEntry& tensor : tensors) {
        check(tensor.begin <= tensor.end, "tensor {} ends at {}, before it begins at {}", shown(tensor.name), tensor.end,
              tensor.begin);
        check(tensor.end <= size, "tensor {} ends at {}, but the file holds {} bytes of data; it may be cut off",
              shown(tensor.name), tensor.end, size);
        const std::uint64_t wanted = wanted_bytes(tensor);
        check(tensor.end - tensor.begin == wanted, "tensor {}, {} {}, has {} bytes, wanted {}", shown(tensor.name), tensor.dtype,
              tensor.shape, tensor.end - tensor.begin, wanted);
        sorted.push_back(&tensor);
    }
    std::ranges::sort(sorted,
                      [](const auto* a, const auto* b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
    std::uint64_t end = 0;
    for (const SafetensorsEntry* tensor : sorted) {
        check(tensor->begin >= end, "tensor {} overlaps another one", shown(tensor->name));
        check(tensor->begin == end, "there is a hole of {} bytes before tensor {}", tensor->begin - end, shown(tensor->name));
        end = tensor->end;
    }
    check(end == size, "{} bytes at the end belong to no tensor", size - end);
}

/// The header of a file; `start` is the offset of its data.
SafetensorsHeader read_header(std::span<const std::byte> file, std::size_t& start) {
    check(file.size() >= kLengthBytes, "it has {} bytes, too few for a header", file.size());
    std::uint64_t length;
    std::memcpy(&length, file.data(), kLengthBytes);
    check(length <= kLongestHeader, "its header claims {} bytes, more than the {} allowed", length, kLongestHeader);
    check(length <= file.size() - kLengthBytes, "its header claims {} bytes, but only {} follow", length,
          file.size() - kLengthBytes);
    start = kLengthBytes + static_cast<std::size_t>(length);
    SafetensorsHeader header =
        parse_safetensors_header({reinterpret_cast<const char*>(file.data()) + kLengthBytes, static_cast<std::size_t>(length)});
    check_places(header.tensors, file.size() - start);
    return header;
}

/// Converts each element of the file; the file's elements need not be aligned.
template <class From, class To, class Convert>
Tensor converted(std::span<const std::byte> from, const Shape& shape, Convert convert) {
    Tensor result = Tensor::empty(shape, dtype_of<To>());
    for (To& to : result.mutable_values<To>()) {
        From value;
        std::memcpy(&value, from.data(), sizeof value);
        from = from.subspan(sizeof value);
        to = convert(value);
    }
    return result;
}

std::int32_t narrowed(std::int64_t value) {
    check(value >= INT32_MIN && value <= INT32_MAX, "the I64 number {} does not fit into i32", value);
    return static_cast<std::int32_t>(value);
}

Tensor load_elements(std::string_view dtype, const Shape& shape, std::span<const std::byte> from) {
    if (dtype == "F16") return converted<std::uint16_t, float>(from, shape, half_to_float);
    if (dtype == "I64") return converted<std::int64_t, std::int32_t>(from, shape, narrowed);
    if (dtype == "BOOL")
        return converted<std::uint8_t, std::uint8_t>(from, shape, [](std::uint8_t b) { return std::uint8_t{b != 0}; });
    for (const DType own : {DType::f64, DType::f32, DType::bf16, DType::i32, DType::u8}) {
        if (dtype != file_dtype(own)) continue;
        Tensor result = Tensor::empty(shape, own);
        if (!from.empty()) std::memcpy(result.mutable_bytes_data(), from.data(), from.size());
        return result;
    }
    fail_with("{} tensors cannot be loaded; convert it to F32 or I32 where the file was made", dtype);
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : path_(path.string()), map_(path) {
    try {
        std::size_t start = 0;
        SafetensorsHeader header = read_header(map_.bytes(), start);
        metadata_ = std::move(header.metadata);
        for (SafetensorsEntry& tensor : header.tensors) {
            names_.push_back(tensor.name);
            entries_.emplace(std::move(tensor.name),
                             Entry{std::move(tensor.dtype), tensor.shape, start + tensor.begin, start + tensor.end});
        }
    } catch (const Error& error) {
        fail_with("safetensors: '{}' is not a valid file: {}", path_, error.what());
    }
}

bool SafetensorsFile::contains(std::string_view name) const { return entries_.find(name) != entries_.end(); }

const SafetensorsFile::Entry& SafetensorsFile::entry(std::string_view name) const {
    const auto found = entries_.find(name);
    check(found != entries_.end(), "safetensors: '{}' has no tensor {}; it has {} others, the first is {}", path_, shown(name),
          names_.size(), names_.empty() ? "none" : shown(names_.front()));
    return found->second;
}

const Shape& SafetensorsFile::shape(std::string_view name) const { return entry(name).shape; }

std::string_view SafetensorsFile::dtype(std::string_view name) const { return entry(name).dtype; }

Tensor SafetensorsFile::load(std::string_view name) const {
    const Entry& from = entry(name);
    try {
        return load_elements(from.dtype, from.shape, bytes(name));
    } catch (const Error& error) {
        fail_with("safetensors: tensor {} of '{}': {}", shown(name), path_, error.what());
    }
}

Tensor SafetensorsFile::load(std::string_view name, DType wanted) const { return load(name).to(wanted); }

void SafetensorsFile::load_into(std::string_view name, Tensor& into, Where where) const {
    if (shape(name) == into.shape() && dtype(name) == file_dtype(into.dtype()) && into.device() == Device::cpu) {
        const std::span<const std::byte> from = bytes(name);
        if (!from.empty()) std::memcpy(into.mutable_bytes_data(), from.data(), from.size());
        into.bump_version(where);
    } else {
        into.copy_(load(name, into.dtype()), where);
    }
}

std::span<const std::byte> SafetensorsFile::bytes(std::string_view name) const {
    const Entry& from = entry(name);
    return map_.bytes().subspan(from.begin, from.end - from.begin);
}

void save_safetensors(const std::filesystem::path& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                      const std::map<std::string, std::string>& metadata) {
    SafetensorsHeader header{{}, metadata};
    std::unordered_set<std::string_view> names{"__metadata__"};
    for (const auto& [name, tensor] : tensors) {
        check(tensor.defined(), "safetensors: tensor {} for '{}' is undefined", shown(name), path.string());
        check(names.insert(name).second, "safetensors: the name {} for '{}' is taken", shown(name), path.string());
        header.tensors.push_back({name, std::string(file_dtype(tensor.dtype())), tensor.shape(), 0, 0});
    }
    // Wider elements first: PyTorch rejects unaligned tensors in a mapped file.
    std::vector<std::size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return size_of(tensors[i].second.dtype()); });
    std::uint64_t end = 0;
    for (const std::size_t i : order) {
        header.tensors[i].begin = end;
        end += static_cast<std::uint64_t>(tensors[i].second.bytes());
        header.tensors[i].end = end;
    }
    const std::string text = safetensors_header_text(header);
    check(text.size() <= kLongestHeader, "safetensors: '{}' would have a header of {} bytes, more than the {} allowed",
          path.string(), text.size(), kLongestHeader);
    const std::uint64_t length = text.size();
    AtomicFile file(path);
    file.write(std::as_bytes(std::span(&length, 1)));
    file.write(text);
    for (const std::size_t i : order)
        file.write({tensors[i].second.bytes_data(), static_cast<std::size_t>(tensors[i].second.bytes())});
    file.commit();
}

}  // namespace heddle
