// Follows NumPy's arrayprint.py: all shown values determine the width of the columns, then each value is written into its column.
#include "core/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace heddle {
namespace {

constexpr std::size_t kLineWidth = 75;     // characters
constexpr std::int64_t kThreshold = 1000;  // elements; of larger tensors only the edges are shown
constexpr std::int64_t kEdge = 3;

// True if the digits needed to restore a float suffice. Dual numbers print their value.
bool is_single(DType dtype) { return dtype != DType::f64 && dtype != DType::dual; }

// The digits before and after the decimal point, without the point, and the exponent: "e+05" or empty.
struct Number {
    std::string whole;
    std::string fraction;
    std::string exponent;
};

// `value` with the fewest digits that restore it (as float if `single`), or with exactly `digits` digits after the point.
std::string characters(double value, bool single, std::chars_format format, int digits = -1) {
    char buffer[512];  // the longest f64 in fixed notation has 309 digits before the point, or 325 after it
    std::to_chars_result end{};
    if (digits >= 0)
        end = std::to_chars(buffer, buffer + sizeof buffer, value, format, digits);
    else if (single)
        end = std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value), format);
    else
        end = std::to_chars(buffer, buffer + sizeof buffer, value, format);
    return {buffer, end.ptr};
}

Number split(const std::string& text) {
    Number number;
    const std::size_t exponent = std::min(text.find('e'), text.size());
    const std::size_t point = std::min(text.find('.'), exponent);
    number.whole = text.substr(0, point);
    number.fraction = point < exponent ? text.substr(point + 1, exponent - point - 1) : "";
    number.exponent = text.substr(exponent);
    return number;
}

// At most `digits` digits after the point, without trailing zeros, or exactly so many.
Number number_of(double value, bool single, std::chars_format format, const NumberFormat& wanted) {
    if (wanted.fixed) return split(characters(value, single, std::chars_format::fixed, wanted.digits));
    const auto digits = static_cast<std::size_t>(wanted.digits);
    Number number = split(characters(value, single, format));
    if (number.fraction.size() > digits) number = split(characters(value, single, format, wanted.digits));
    number.fraction.erase(number.fraction.find_last_not_of('0') + 1);
    return number;
}

std::string not_finite(double value) { return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"; }

// The format of a tensor's elements, determined by all shown values.
class Column {
  public:
    Column(const std::vector<double>& shown, DType dtype, const NumberFormat& wanted)
        : wanted_(wanted), whole_numbers_(dtype == DType::i32 || dtype == DType::u8), single_(is_single(dtype)) {
        if (whole_numbers_) {
            for (const double value : shown) left_ = std::max(left_, integer(value).size());
            return;
        }
        if (!wanted_.fixed) choose_notation(shown);
        for (const double value : shown)
            if (std::isfinite(value)) make_room(number_of(value, single_, format_, wanted_));
        for (const double value : shown)
            if (!std::isfinite(value)) {
                const std::size_t right = right_ + exponent_ + 1;
                const std::size_t size = not_finite(value).size();
                if (size > left_ + right) left_ = size - right;
            }
    }

    std::string write(double value) const {
        if (whole_numbers_) return fmt::format("{:>{}}", integer(value), left_);
        if (!std::isfinite(value)) return fmt::format("{:>{}}", not_finite(value), left_ + right_ + exponent_ + 1);
        Number number = number_of(value, single_, format_, wanted_);
        if (scientific()) {
            number.fraction.append(right_ - number.fraction.size(), '0');
            number.exponent.insert(2, exponent_ - number.exponent.size(), '0');
        }
        return fmt::format("{:>{}}.{:<{}}{}", number.whole, left_, number.fraction, right_, number.exponent);
    }

  private:
    bool scientific() const { return format_ == std::chars_format::scientific; }
    static std::string integer(double value) { return fmt::format("{}", static_cast<std::int64_t>(value)); }

    void choose_notation(const std::vector<double>& shown) {
        double largest = 0, smallest = 0;
        for (const double value : shown) {
            const double size = std::abs(value);
            if (!std::isfinite(value) || size == 0) continue;
            largest = std::max(largest, size);
            smallest = smallest == 0 ? size : std::min(smallest, size);
        }
        // Like NumPy, which compares and divides in the array's own type.
        const double least = single_ ? 1e-4f : 1e-4;
        const double ratio = single_ ? static_cast<float>(largest) / static_cast<float>(smallest) : largest / smallest;
        if (largest >= 1e8 || (largest > 0 && (smallest < least || ratio > 1000))) format_ = std::chars_format::scientific;
    }

    void make_room(const Number& number) {
        left_ = std::max(left_, number.whole.size());
        right_ = std::max(right_, number.fraction.size());
        exponent_ = std::max(exponent_, number.exponent.size());
    }

    NumberFormat wanted_;
    bool whole_numbers_;
    bool single_;
    std::chars_format format_ = std::chars_format::fixed;
    std::size_t left_ = 0;
    std::size_t right_ = 0;
    std::size_t exponent_ = 0;
};

class Printer {
  public:
    Printer(const Tensor& tensor, const NumberFormat& wanted)
        : shape_(tensor.shape()),
          values_(tensor.to_vector()),
          edges_only_(tensor.numel() > kThreshold),
          column_(shown(), tensor.dtype(), wanted) {}

    std::string text() const { return axis(0, 0, 1); }

  private:
    // The indices of `axis` that are shown; -1 stands for "...".
    std::vector<std::int64_t> indices(int axis) const {
        const std::int64_t extent = shape_[axis];
        std::vector<std::int64_t> all;
        for (std::int64_t i = 0; i < extent; ++i) {
            const bool inside = edges_only_ && extent > 2 * kEdge && i >= kEdge && i < extent - kEdge;
            if (!inside) all.push_back(i);
            if (inside && i == kEdge) all.push_back(-1);
        }
        return all;
    }

    std::vector<double> shown() const {
        std::vector<std::int64_t> offsets{0};
        for (int axis = 0; axis < shape_.rank(); ++axis) {
            std::vector<std::int64_t> next;
            for (const std::int64_t offset : offsets)
                for (const std::int64_t i : indices(axis))
                    if (i >= 0) next.push_back(offset * shape_[axis] + i);
            offsets = std::move(next);
        }
        std::vector<double> values;
        for (const std::int64_t offset : offsets) values.push_back(values_[static_cast<std::size_t>(offset)]);
        return values;
    }

    // The part at `offset` of the outer axes, in brackets. Lines after the first are indented by `depth`, the number of open
    // brackets, which the caller closes.
    std::string axis(int axis, std::int64_t offset, std::size_t depth) const {
        const bool innermost = axis + 1 == shape_.rank();
        return "[" + (innermost ? row(offset, depth) : blocks(axis, offset, depth)) + "]";
    }

    std::string row(std::int64_t offset, std::size_t depth) const {
        const std::size_t width = kLineWidth - depth;
        std::string text, line(depth, ' ');
        bool first = true;
        for (const std::int64_t i : indices(shape_.rank() - 1)) {
            const std::string word = i < 0 ? "..." : column_.write(values_[static_cast<std::size_t>(offset * shape_.cols() + i)]);
            if (!first) line += ' ';
            if (line.size() + word.size() > width && line.size() > depth) {
                line.erase(line.find_last_not_of(' ') + 1);
                text += line + "\n";
                line.assign(depth, ' ');
            }
            line += word;
            first = false;
        }
        return (text + line).substr(depth);
    }

    std::string blocks(int axis, std::int64_t offset, std::size_t depth) const {
        const std::string separator(static_cast<std::size_t>(shape_.rank() - axis - 1), '\n');
        std::string text;
        for (const std::int64_t i : indices(axis)) {
            if (!text.empty()) text += separator + std::string(depth, ' ');
            text += i < 0 ? "..." : this->axis(axis + 1, offset * shape_[axis] + i, depth + 1);
        }
        return text;
    }

    Shape shape_;
    std::vector<double> values_;
    bool edges_only_;
    Column column_;
};

// A scalar is written like a Python float, with all its digits.
std::string scalar(double value, DType dtype, const NumberFormat& wanted) {
    if (dtype == DType::i32 || dtype == DType::u8) return fmt::format("{}", static_cast<std::int64_t>(value));
    if (!std::isfinite(value)) return not_finite(value);
    if (wanted.fixed) return fmt::format("{:.{}f}", value, wanted.digits);
    const double size = std::abs(value);
    if (wanted.digits != NumberFormat().digits) {  // the notation and the digits of a tensor
        const bool plain = size == 0 || (size >= 1e-4 && size < 1e8);
        const Number number =
            number_of(value, is_single(dtype), plain ? std::chars_format::fixed : std::chars_format::scientific, wanted);
        return number.whole + "." + (number.fraction.empty() ? "0" : number.fraction) + number.exponent;
    }
    const double end = is_single(dtype) ? 1e6 : 1e16;  // like NumPy 2.4
    const bool fixed = size == 0 || (size >= 1e-4 && size < end);
    const std::string text =
        characters(value, is_single(dtype), fixed ? std::chars_format::fixed : std::chars_format::scientific);
    return fixed && text.find('.') == std::string::npos ? text + ".0" : text;
}

}  // namespace

std::string to_text(const Tensor& tensor) { return to_text(tensor, {}); }

std::string to_text(const Tensor& tensor, const NumberFormat& format) {
    if (!tensor.defined()) return "undefined";
    if (tensor.numel() == 0) return "[]";
    if (tensor.rank() == 0) return scalar(tensor.item(), tensor.dtype(), format);
    return Printer(tensor, format).text();
}

std::ostream& operator<<(std::ostream& stream, const Tensor& tensor) { return stream << to_text(tensor); }

}  // namespace heddle
