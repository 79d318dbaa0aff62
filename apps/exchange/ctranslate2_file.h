// The file model.bin of CTranslate2: named variables.
//
// Source: https://github.com/OpenNMT/CTranslate2, the serialization in python/ctranslate2/specs/model_spec.py. Numbers are little
// endian: u32 version, text specification, u32 revision, u32 count, then for each variable, sorted by name, text name, u8 rank,
// u32 extents, u8 type, u32 bytes, the elements; then u32 count and for each alias text alias, text name. A text is its length
// with its NUL, u16, and the bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/exchange/elements.h"
#include "core/tensor.h"
#include "nn/transformer_options.h"

namespace heddle::app {

/// Heddle's activations by their numbers in a file.
inline constexpr ops::Activation ctranslate2_activations[] = {ops::Activation::relu, ops::Activation::gelu_tanh,
                                                              ops::Activation::silu, ops::Activation::gelu};

/// A variable of a file: weights, or a number without extents.
struct CTranslate2Variable {
    std::string_view type;  ///< "F32", "I8", "I16", "I32", "F16" or "BF16"
    Shape shape;
    std::span<const std::byte> bytes;
};

/// The variables of a file, as a view of its bytes; two names of one variable have the same bytes. Reads the version (6) and the
/// specification ("TransformerSpec" revision 7) that CTranslate2 4 writes. The bytes are treated as untrusted: any defect is an
/// Error without the file's name.
std::map<std::string, CTranslate2Variable> read_ctranslate2_variables(std::span<const std::byte> file);

/// The variables of a new file.
class CTranslate2Writer {
  public:
    void add(const std::string& name, const Tensor& weights, ExportDType dtype);
    void add_i8(const std::string& name, std::int8_t value);
    void add_i16(const std::string& name, std::int16_t value);
    void add_f32(const std::string& name, float value);
    /// Another name of a variable.
    void add_alias(const std::string& alias, const std::string& name);
    /// The bytes of the file. Error when a variable has 4 GiB or more.
    std::string file() const;

  private:
    struct Variable {
        std::uint8_t type = 0;
        Shape shape;
        std::vector<std::byte> bytes;
    };

    std::map<std::string, Variable> variables_;
    std::map<std::string, std::string> aliases_;
};

}  // namespace heddle::app
