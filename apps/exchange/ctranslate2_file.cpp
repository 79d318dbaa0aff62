#include "apps/exchange/ctranslate2_file.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "core/format.h"
#include "core/safetensors_header.h"

namespace heddle::app {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little endian and is copied as it is");

constexpr std::uint32_t version = 6, revision = 7;
constexpr std::string_view specification = "TransformerSpec";

struct ElementType {
    std::string_view name;
    std::size_t size;
};
constexpr std::array<ElementType, 6> types = {{{"F32", 4}, {"I8", 1}, {"I16", 2}, {"I32", 4}, {"F16", 2}, {"BF16", 2}}};
constexpr std::uint8_t f32_type = 0, i8_type = 1, i16_type = 2, f16_type = 4;

class CTranslate2Bytes {
  public:
    explicit CTranslate2Bytes(std::span<const std::byte> bytes) : rest_(bytes) {}

    template <class Number>
    Number number() {
        Number value;
        std::memcpy(&value, take(sizeof value).data(), sizeof value);
        return value;
    }
    std::string_view text() {
        const auto length = number<std::uint16_t>();
        const std::span<const std::byte> bytes = take(length);
        const std::string_view text(reinterpret_cast<const char*>(bytes.data()), length);
        check(text.find('\0') + 1 == length && length > 0, "it has a name without an end");
        return text.substr(0, length - 1U);
    }
    std::span<const std::byte> take(std::size_t count) {
        check(count <= rest_.size(), "it is cut off: {} bytes are missing", count - rest_.size());
        const std::span<const std::byte> taken = rest_.first(count);
        rest_ = rest_.subspan(count);
        return taken;
    }
    std::size_t left() const { return rest_.size(); }

  private:
    std::span<const std::byte> rest_;
};

CTranslate2Variable read_variable(CTranslate2Bytes& from, std::string_view name) {
    CTranslate2Variable variable;
    const auto rank = from.number<std::uint8_t>();
    check(rank <= Shape::kMaxRank, "variable {} has {} axes", shown(name), rank);
    std::size_t size = 1;
    for (int axis = 0; axis < rank; ++axis) {
        const auto extent = from.number<std::uint32_t>();
        variable.shape.append(extent);
        check(!__builtin_mul_overflow(size, std::size_t{extent}, &size), "variable {} has an absurd shape", shown(name));
    }
    const auto type = from.number<std::uint8_t>();
    check(type < types.size(), "variable {} has the unknown type {}", shown(name), type);
    variable.type = types[type].name;
    check(!__builtin_mul_overflow(size, types[type].size, &size), "variable {} has an absurd shape", shown(name));
    const auto bytes = from.number<std::uint32_t>();
    check(bytes == size, "variable {}, {} {}, has {} bytes, wanted {}", shown(name), variable.type, variable.shape, bytes, size);
    variable.bytes = from.take(bytes);
    return variable;
}

template <class Number>
void put(std::string& out, Number value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof value);
}

void put_text(std::string& out, const std::string& text) {
    check(text.size() < std::numeric_limits<std::uint16_t>::max(), "ctranslate2: the name {} is too long", shown(text));
    put(out, static_cast<std::uint16_t>(text.size() + 1));
    out.append(text.c_str(), text.size() + 1);
}

template <class Number>
std::vector<std::byte> scalar_bytes(Number value) {
    std::vector<std::byte> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

}  // namespace

std::map<std::string, CTranslate2Variable> read_ctranslate2_variables(std::span<const std::byte> file) {
    CTranslate2Bytes from(file);
    const auto its_version = from.number<std::uint32_t>();
    check(its_version == version, "it has version {} of the format; wanted {}: convert the model again with CTranslate2 4",
          its_version, version);
    const std::string_view kind = from.text();
    check(kind == specification, "it is a {}; only translation models, {}, can be read", shown(kind), specification);
    const auto its_revision = from.number<std::uint32_t>();
    check(its_revision == revision, "it has revision {} of {}; wanted {}: convert the model again with CTranslate2 4",
          its_revision, kind, revision);
    std::map<std::string, CTranslate2Variable> variables;
    // An alias has a few bytes in the file and a hundred in memory; models have far more weights than names.
    const auto read_count = [&] {
        constexpr std::size_t bytes_a_name = 64;
        const auto count = from.number<std::uint32_t>();
        check(variables.size() + count <= file.size() / bytes_a_name, "it has {} variables and aliases in {} bytes",
              variables.size() + count, file.size());
        return count;
    };
    for (auto count = read_count(); count > 0; --count) {
        const std::string_view name = from.text();
        const bool fresh = variables.emplace(name, read_variable(from, name)).second;
        check(fresh, "it has two variables {}", shown(name));
    }
    for (auto count = read_count(); count > 0; --count) {
        const std::string_view alias = from.text();
        const std::string_view name = from.text();
        const auto found = variables.find(std::string(name));
        check(found != variables.end(), "its alias {} is for the variable {}, which it lacks", shown(alias), shown(name));
        check(variables.emplace(alias, found->second).second, "it has two variables {}", shown(alias));
    }
    check(from.left() == 0, "{} bytes follow its last alias", from.left());
    return variables;
}

void CTranslate2Writer::add(const std::string& name, const Tensor& weights, ExportDType dtype) {
    variables_[name] = {dtype == ExportDType::f16 ? f16_type : f32_type, weights.shape(), bytes_of(weights, dtype)};
}
void CTranslate2Writer::add_i8(const std::string& name, std::int8_t value) {
    variables_[name] = {i8_type, {}, scalar_bytes(value)};
}
void CTranslate2Writer::add_i16(const std::string& name, std::int16_t value) {
    variables_[name] = {i16_type, {}, scalar_bytes(value)};
}
void CTranslate2Writer::add_f32(const std::string& name, float value) { variables_[name] = {f32_type, {}, scalar_bytes(value)}; }
void CTranslate2Writer::add_alias(const std::string& alias, const std::string& name) { aliases_[alias] = name; }

std::string CTranslate2Writer::file() const {
    std::string out;
    put(out, version);
    put_text(out, std::string(specification));
    put(out, revision);
    put(out, static_cast<std::uint32_t>(variables_.size()));
    for (const auto& [name, variable] : variables_) {
        check(variable.bytes.size() <= std::numeric_limits<std::uint32_t>::max(),
              "ctranslate2: {} has {} bytes; the format holds at most 4 GiB", name, variable.bytes.size());
        put_text(out, name);
        put(out, static_cast<std::uint8_t>(variable.shape.rank()));
        for (int axis = 0; axis < variable.shape.rank(); ++axis) put(out, static_cast<std::uint32_t>(variable.shape[axis]));
        put(out, variable.type);
        put(out, static_cast<std::uint32_t>(variable.bytes.size()));
        out.append(reinterpret_cast<const char*>(variable.bytes.data()), variable.bytes.size());
    }
    put(out, static_cast<std::uint32_t>(aliases_.size()));
    for (const auto& [alias, name] : aliases_) {
        put_text(out, alias);
        put_text(out, name);
    }
    return out;
}

}  // namespace heddle::app
