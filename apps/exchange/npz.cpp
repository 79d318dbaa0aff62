#include "apps/exchange/npz.h"

#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "core/format.h"

namespace heddle::app {
namespace {

constexpr std::string_view npy_magic = "\x93NUMPY", npy_ending = ".npy";

// Reads the dict of a header from the left; a function returns false or nothing where something else stands.
class NpyHeader {
  public:
    explicit NpyHeader(std::string_view text) : rest_(text) {}

    bool take(std::string_view wanted) {
        skip_space();
        if (!rest_.starts_with(wanted)) return false;
        rest_.remove_prefix(wanted.size());
        return true;
    }
    std::optional<std::string> text() {
        if (!take("'")) return {};
        const std::size_t end = rest_.find('\'');
        if (end == std::string_view::npos) return {};
        std::string found(rest_.substr(0, end));
        rest_.remove_prefix(end + 1);
        return found;
    }
    std::optional<bool> boolean() {
        if (take("False")) return false;
        if (take("True")) return true;
        return {};
    }
    std::optional<std::vector<std::int64_t>> shape() {
        if (!take("(")) return {};
        std::vector<std::int64_t> extents;
        while (!take(")")) {
            skip_space();
            std::int64_t extent = 0;
            const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
            if (error != std::errc() || extent < 0 || extents.size() == Shape::kMaxRank) return {};
            rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
            extents.push_back(extent);
            if (!take(",")) return take(")") ? std::optional(extents) : std::nullopt;
        }
        return extents;
    }
    bool at_end() {
        skip_space();
        return rest_.empty();
    }

  private:
    void skip_space() {
        while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
    }

    std::string_view rest_;
};

struct NpyDescription {
    std::optional<std::string> dtype;
    std::optional<bool> fortran;
    std::optional<std::vector<std::int64_t>> shape;
};

// Nothing for what is no such dict, with each key once.
std::optional<NpyDescription> described(std::string_view text) {
    NpyHeader header(text);
    NpyDescription found;
    if (!header.take("{")) return {};
    for (bool more = true; more && !header.take("}");) {
        const std::optional<std::string> key = header.text();
        if (!key || !header.take(":")) return {};
        if (*key == "descr" && !found.dtype)
            found.dtype = header.text();
        else if (*key == "fortran_order" && !found.fortran)
            found.fortran = header.boolean();
        else if (*key == "shape" && !found.shape)
            found.shape = header.shape();
        else
            return {};
        more = header.take(",");
        if (!more && !header.take("}")) return {};
    }
    if (!header.at_end() || !found.dtype || !found.fortran || !found.shape) return {};
    return found;
}

// The bytes of an element; 0 for what is no plain little-endian number.
std::int64_t element_size(std::string_view dtype) {
    if (dtype.size() != 3 || std::string_view("<|").find(dtype[0]) == std::string_view::npos ||
        std::string_view("fiu").find(dtype[1]) == std::string_view::npos)
        return 0;
    const int size = dtype[2] - '0';
    return size == 1 || size == 2 || size == 4 || size == 8 ? size : 0;
}

// The bytes of an array, or nothing when their number does not fit into 63 bits.
std::optional<std::int64_t> npy_bytes(const std::vector<std::int64_t>& shape, std::int64_t size) {
    std::int64_t bytes = size;
    for (const std::int64_t extent : shape)
        if (__builtin_mul_overflow(bytes, extent, &bytes)) return {};
    return bytes;
}

}  // namespace

NpzFile::NpzFile(const std::filesystem::path& path) : zip_(path) {
    for (const std::string& name : zip_.names()) {
        check(name.ends_with(npy_ending), "{}: the entry {} is no array of NumPy (NAME.npy); is this an npz file?", this->path(),
              name);
        names_.push_back(name.substr(0, name.size() - npy_ending.size()));
    }
}

NpyArray NpzFile::array(std::string_view name) const {
    const std::span<const std::byte> bytes = zip_.bytes(std::string(name) + std::string(npy_ending));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto damaged = [&](std::string_view what) {
        fail_with("{}: the array {} is damaged: {}; get the file once more", path(), name, what);
    };
    const std::size_t version = npy_magic.size(), length = version + 2;
    if (!text.starts_with(npy_magic) || text.size() < length + 4) damaged("it does not begin as an array of NumPy");
    const auto byte_at = [&](std::size_t at) { return std::to_integer<std::size_t>(bytes[at]); };
    const std::size_t digits = byte_at(version) == 1 ? 2 : 4;
    if (byte_at(version) < 1 || byte_at(version) > 3) damaged("its version is unknown");
    std::size_t header = 0;
    for (std::size_t i = digits; i-- > 0;) header = header << 8 | byte_at(length + i);
    const std::size_t begin = length + digits;
    if (header > bytes.size() - begin) damaged("its header reaches too far");
    std::optional<NpyDescription> found = described(text.substr(begin, header));
    if (!found) damaged("its header is not a dict with descr, fortran_order and shape");
    const std::int64_t size = element_size(*found->dtype);
    check(size > 0, "{}: the array {} has the dtype {}, wanted a little-endian number such as <f4", path(), name, *found->dtype);
    check(!*found->fortran || found->shape->size() < 2,
          "{}: the array {} is in Fortran's order; save it again with numpy.ascontiguousarray", path(), name);
    const std::size_t rest = bytes.size() - begin - header;
    const std::optional<std::int64_t> wanted = npy_bytes(*found->shape, size);
    if (!wanted || static_cast<std::uint64_t>(*wanted) != rest)
        damaged(fmt::format("{} bytes of elements do not fit its shape [{}] of {}", rest, fmt::join(*found->shape, ", "),
                            *found->dtype));
    return {.dtype = *found->dtype, .shape = *std::move(found->shape), .bytes = bytes.subspan(begin + header)};
}

Tensor NpzFile::load_f32(std::string_view name) const {
    const NpyArray found = array(name);
    check(found.dtype == "<f4", "{}: the array {} has the dtype {}, wanted <f4 (f32); convert it with NumPy: array.astype('<f4')",
          path(), name, found.dtype);
    Tensor tensor = Tensor::empty(Shape(found.shape));
    if (!found.bytes.empty()) std::memcpy(tensor.mutable_bytes_data(), found.bytes.data(), found.bytes.size());
    for (const float value : tensor.values<float>())
        check(std::isfinite(value), "{}: the array {} holds NaN or infinity; get the file once more", path(), name);
    return tensor;
}

namespace {

// Padded with spaces so that the elements begin at a multiple of 64 bytes, as NumPy does it.
std::string npy_header(std::string_view dtype, std::span<const std::int64_t> shape) {
    std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", dtype, fmt::join(shape, ", "),
                                   shape.size() == 1 ? "," : "");
    const std::size_t front = npy_magic.size() + 4;
    while ((front + text.size() + 1) % 64 != 0) text += ' ';
    text += '\n';
    std::string header(npy_magic);
    header += {1, 0, static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
    return header + text;
}

std::span<const std::byte> npy_text(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

void NpzWriter::add(const std::string& name, const Tensor& tensor) {
    std::vector<std::int64_t> shape;
    for (int axis = 0; axis < tensor.rank(); ++axis) shape.push_back(tensor.dim(axis));
    const std::string header = npy_header("<f4", shape);
    const std::array parts = {npy_text(header), std::as_bytes(tensor.values<float>())};
    zip_.add(name + std::string(npy_ending), parts);
}

void NpzWriter::add(const std::string& name, std::string_view bytes) {
    const std::string header = npy_header("<i1", std::array{static_cast<std::int64_t>(bytes.size())});
    const std::array parts = {npy_text(header), npy_text(bytes)};
    zip_.add(name + std::string(npy_ending), parts);
}

}  // namespace heddle::app
