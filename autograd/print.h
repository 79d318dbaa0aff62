// Variables as text.
#pragma once

#include <ostream>

#include "autograd/variable.h"
#include "core/print.h"

namespace heddle {

/// The value, as core/print.h writes tensors; "undefined" for an undefined Variable.
inline std::string to_text(const Variable& variable) { return to_text(variable.defined() ? variable.value() : Tensor()); }

inline std::ostream& operator<<(std::ostream& stream, const Variable& variable) { return stream << to_text(variable); }

}  // namespace heddle

/// fmt::print("{}", variable): to_text.
template <>
struct fmt::formatter<heddle::Variable> : heddle::TextFormatter {
    auto format(const heddle::Variable& variable, format_context& context) const {
        return write(heddle::to_text(variable), context);
    }
};
