// Parses the parts of asm statements: their template string and operands, and the special registers and numbers of PTX.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "kernels/emulator/frontend/ptx.h"

namespace heddle::emulator::frontend {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

/// A string, and for each character where it stands in the statement.
struct Literal {
    std::string text;
    std::vector<std::size_t> at;
};

/// Reads an asm statement.
class AsmReader {
  public:
    explicit AsmReader(std::string_view text) : text_(text) {
        at_ = text_.find('(');
        if (at_ == std::string_view::npos) throw PtxRefusal{"an asm statement without parentheses"};
        ++at_;
        read_template();
        for (int section = 0; peek() == ':'; ++section) {
            ++at_;
            read_section(section);
        }
    }

    AsmStatement read() && { return {std::move(template_.text), std::move(template_.at), std::move(operands_), sections_ == 0}; }

  private:
    char peek() {
        while (at_ < text_.size() && kBlanks.find(text_[at_]) != std::string_view::npos) ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }

    void read_template() {
        while (peek() == '"' || (peek() == 'R' && text_.substr(at_, 2) == "R\"")) read_literal(template_);
        if (template_.text.empty() && peek() != ':' && peek() != ')')
            throw PtxRefusal{"an asm statement whose text is not a string literal"};
    }

    void read_literal(Literal& to) {
        const auto add = [&](char c, std::size_t at) {
            to.text += c;
            to.at.push_back(at);
        };
        if (text_[at_] == 'R') {
            const std::size_t open = text_.find('(', at_);
            const std::string end = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
            const std::size_t close = text_.find(end, open);
            if (open == std::string_view::npos || close == std::string_view::npos) throw PtxRefusal{"an unfinished string"};
            for (std::size_t i = open + 1; i < close; ++i) add(text_[i], i);
            at_ = close + end.size();
            return;
        }
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] != '\\') {
                add(text_[at_], at_);
                continue;
            }
            ++at_;
            const char c = at_ < text_.size() ? text_[at_] : ' ';
            add(c == 'n' || c == 'r' ? '\n' : c == 't' || c == 'v' || c == 'f' ? ' ' : c, at_);
        }
        ++at_;
    }

    void read_section(int section) {
        ++sections_;
        while (peek() != ':' && peek() != ')' && peek() != '\0') {
            if (text_[at_] == ',') {
                ++at_;
                continue;
            }
            if (text_[at_] == '[') throw PtxRefusal{"an asm operand with a name: nvcc knows numbered ones only"};
            Literal constraint;
            if (text_[at_] != '"') throw PtxRefusal{"an asm operand without a constraint"};
            while (peek() == '"') read_literal(constraint);
            if (peek() != '(') continue;  // a clobber
            const std::size_t open = at_;
            skip_brackets();
            std::string expression(text_.substr(open + 1, at_ - open - 2));
            std::replace(expression.begin(), expression.end(), '\n', ' ');
            operands_.push_back({constraint.text, std::move(expression), section == 0});
        }
    }

    /// From an opening bracket to behind the closing one.
    void skip_brackets() {
        int depth = 0;
        for (; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (c == '"' || c == '\'') {
                for (++at_; at_ < text_.size() && text_[at_] != c; ++at_)
                    if (text_[at_] == '\\') ++at_;
            } else if (c == '(' || c == '[' || c == '{') {
                ++depth;
            } else if ((c == ')' || c == ']' || c == '}') && --depth == 0) {
                ++at_;
                return;
            }
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int sections_ = 0;
    Literal template_;
    std::vector<AsmOperand> operands_;
};

char letter_of(const AsmOperand& operand) {
    const std::size_t at = operand.constraint.find_first_not_of("=+&%");
    return at == std::string::npos ? '?' : operand.constraint[at];
}

struct SpecialRegister {
    const char *name, *expression;
};
constexpr SpecialRegister kSpecialRegisters[] = {
    {"laneid", "heddle_ptx::lane()"},
    {"warpid", "heddle_ptx::warp()"},
    {"nwarpid", "heddle_ptx::warps()"},
    {"smid", "heddle_ptx::multiprocessor()"},
    {"nsmid", "heddle_ptx::multiprocessors()"},
    {"clock", "heddle_ptx::u32(heddle_ptx::clock_cycles())"},
    {"clock_hi", "heddle_ptx::u32(heddle_ptx::clock_cycles() >> 32)"},
    {"clock64", "heddle_ptx::clock_cycles()"},
    {"globaltimer", "heddle_ptx::clock_cycles()"},
    {"globaltimer_lo", "heddle_ptx::u32(heddle_ptx::clock_cycles())"},
    {"globaltimer_hi", "heddle_ptx::u32(heddle_ptx::clock_cycles() >> 32)"},
    {"lanemask_eq", "heddle_ptx::u32(1u << heddle_ptx::lane())"},
    {"lanemask_lt", "heddle_ptx::u32((1u << heddle_ptx::lane()) - 1)"},
    {"lanemask_le", "heddle_ptx::u32((2ull << heddle_ptx::lane()) - 1)"},
    {"lanemask_gt", "heddle_ptx::u32(~((2ull << heddle_ptx::lane()) - 1))"},
    {"lanemask_ge", "heddle_ptx::u32(~((1u << heddle_ptx::lane()) - 1))"},
    {"gridid", "heddle_ptx::bits(0)"},
};

}  // namespace

AsmStatement read_asm(std::string_view statement) { return AsmReader(statement).read(); }

std::string asm_register(std::size_t operand) { return "heddle_" + std::to_string(operand); }

std::string asm_registers(const std::vector<AsmOperand>& operands) {
    std::string text;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const AsmOperand& operand = operands[i];
        const char letter = letter_of(operand);
        const std::string number = std::to_string(i), name = asm_register(i);
        if (std::isdigit(static_cast<unsigned char>(letter)) != 0) {  // the register of an output, with this value before
            const std::string output(1, letter);
            text += "heddle_" + output + " = heddle_ptx::in<'" +
                    std::string(1, letter_of(operands[static_cast<std::size_t>(letter - '0')])) + "'>((" + operand.expression +
                    ")); heddle_ptx::bits " + name + " = heddle_" + output + "; ";
            continue;
        }
        if (std::string_view("hrlfdn").find(letter) == std::string_view::npos)
            throw PtxRefusal{"inline PTX: the constraint \"" + operand.constraint + "\" is not emulated"};
        const std::string read = "heddle_ptx::in<'" + std::string(1, letter) + "'>(";
        if (operand.output) {
            text += "auto&& heddle_o" + number + " = (" + operand.expression + "); heddle_ptx::bits " + name + " = ";
            text += operand.constraint.find('+') != std::string::npos ? read + "heddle_o" + number + "); " : "0; ";
        } else {
            text += "heddle_ptx::bits " + name + " = " + read + "(" + operand.expression + ")); ";
        }
    }
    return text;
}

bool PtxInstruction::has(std::string_view word) const { return std::find(words.begin() + 1, words.end(), word) != words.end(); }
std::string PtxInstruction::name() const {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ".") + word;
    return text;
}

std::string ptx_special_register(std::string_view name) {
    if (name == "WARP_SZ") return "heddle_ptx::bits(32)";
    if (name.empty() || name[0] != '%') return "";
    name.remove_prefix(1);
    for (const SpecialRegister& known : kSpecialRegisters)
        if (name == known.name) return known.expression;
    const std::pair<std::string_view, const char*> vectors[] = {
        {"tid.", "thread_index()"}, {"ntid.", "block_size()"}, {"ctaid.", "block_index()"}, {"nctaid.", "grid_size()"}};
    for (const auto& [start, function] : vectors)
        if (name.substr(0, start.size()) == start && name.size() == start.size() + 1 &&
            std::strchr("xyz", name.back()) != nullptr)
            return "heddle_ptx::bits(heddle_ptx::" + std::string(function) + "." + name.back() + ")";
    return "";
}

std::string ptx_number(std::string_view text, std::string_view type) {
    std::string number(text);
    const bool minus = !number.empty() && number[0] == '-';
    const std::string digits = minus || number[0] == '+' ? number.substr(1) : number;
    const bool hexadecimal = digits.size() > 1 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    std::uint64_t bits = 0;
    const auto from_double = [&](double value) {
        if (type == "f32") {
            const auto single = static_cast<float>(value);
            std::uint32_t word;
            std::memcpy(&word, &single, sizeof word);
            bits = word;
        } else {
            std::memcpy(&bits, &value, sizeof bits);
        }
    };
    if (digits.size() == 10 && digits[0] == '0' && (digits[1] == 'f' || digits[1] == 'F')) {
        const auto word = static_cast<std::uint32_t>(std::strtoull(digits.c_str() + 2, nullptr, 16)) ^ (minus ? 0x80000000u : 0u);
        bits = word;
        float single;
        std::memcpy(&single, &word, sizeof single);
        if (type == "f64") from_double(single);
    } else if (digits.size() == 18 && digits[0] == '0' && (digits[1] == 'd' || digits[1] == 'D')) {
        bits = std::strtoull(digits.c_str() + 2, nullptr, 16) ^ (minus ? std::uint64_t{1} << 63 : 0);
    } else if (!hexadecimal && digits.find_first_of(".eE") != std::string::npos) {
        from_double(std::strtod(number.c_str(), nullptr));
    } else if (type == "f32" || type == "f64") {
        from_double(std::strtod(number.c_str(), nullptr));
    } else {
        bits = std::strtoull(digits.c_str(), nullptr,
                             digits.size() > 1 && (digits[1] == 'b' || digits[1] == 'B') && digits[0] == '0' ? 2 : 0);
        if (digits.size() > 2 && (digits[1] == 'b' || digits[1] == 'B') && digits[0] == '0')
            bits = std::strtoull(digits.c_str() + 2, nullptr, 2);
        if (minus) bits = ~bits + 1;
    }
    char literal[24];
    std::snprintf(literal, sizeof literal, "0x%llxull", static_cast<unsigned long long>(bits));
    return literal;
}

}  // namespace heddle::emulator::frontend
