// Reads the instructions in asm statements and puts their C++ together.
#include "kernels/emulator/frontend/ptx.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

namespace heddle::emulator::frontend {
namespace {

constexpr std::string_view kSpaces = " \t\r\n\v\f";

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

/// Reads the instructions and writes their C++.
class Code {
  public:
    Code(const AsmStatement& from, unsigned number)
        : text_(from.text),
          from_(from.at),
          operands_(from.operands.size()),
          simple_(from.simple),
          labels_("heddle_" + std::to_string(number) + "_") {
        blank_comments();
        scopes_.emplace_back();
    }

    /// The next statement, or nothing at the end. `at` is where it stands.
    std::optional<std::string> next(std::size_t& at) {
        const char c = peek();
        if (c == '\0') return std::nullopt;
        at = here();
        if (c == ';') return ++at_, std::string();
        if (c == '{') return ++at_, scopes_.emplace_back(), std::string();
        if (c == '}') {
            if (scopes_.size() > 1) scopes_.pop_back();
            return ++at_, std::string();
        }
        if (c == '.') return read_directive(), std::string();
        if (c == '@') return read_guarded();
        const std::size_t start = at_;
        std::string word = read_name();
        if (peek() == ':' && text_.substr(at_, 2) != "::") {
            ++at_;
            return labels_ + word + ":;";
        }
        at_ = start;
        return ptx_statement(read_instruction(), labels_);
    }

    /// The registers that the text declares.
    const std::vector<std::string>& declared() const { return declared_; }
    std::size_t here() const { return at_ < from_.size() ? from_[at_] : from_.empty() ? 0 : from_.back(); }

  private:
    void blank_comments() {
        for (std::size_t i = 0; i + 1 < text_.size(); ++i) {
            if (text_[i] != '/') continue;
            const bool line = text_[i + 1] == '/';
            if (!line && text_[i + 1] != '*') continue;
            std::size_t end = line ? text_.find('\n', i) : text_.find("*/", i + 2);
            end = end == std::string::npos ? text_.size() : line ? end : end + 2;
            std::fill(text_.begin() + static_cast<std::ptrdiff_t>(i), text_.begin() + static_cast<std::ptrdiff_t>(end), ' ');
        }
    }

    char peek() {
        while (at_ < text_.size() && kSpaces.find(text_[at_]) != std::string_view::npos) ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    bool take(char c) {
        if (peek() != c) return false;
        ++at_;
        return true;
    }
    void expect(char c) {
        if (!take(c)) throw PtxRefusal{std::string("`") + c + "` is missing near `" + text_.substr(at_, 20) + "`"};
    }
    std::string read_name() {
        peek();
        const std::size_t start = at_;
        while (at_ < text_.size() && is_name(text_[at_])) ++at_;
        if (at_ == start) throw PtxRefusal{"cannot read `" + text_.substr(start, 20) + "`"};
        return text_.substr(start, at_ - start);
    }

    /// `.reg .b32 a, b<4>;` and directives that say nothing here.
    void read_directive() {
        expect('.');
        const std::string directive = read_name();
        if (directive == "pragma" || directive == "loc") {
            at_ = std::min(text_.size(), text_.find(';', at_));
            return;
        }
        if (directive != "reg") throw PtxRefusal{"inline PTX: the directive `." + directive + "` is not emulated"};
        expect('.');
        read_name();
        do {
            std::string name = read_register_name();
            if (!take('<')) {
                declare(name);
                continue;
            }
            const int count = std::atoi(read_name().c_str());
            expect('>');
            for (int i = 0; i < count; ++i) declare(name + std::to_string(i));
        } while (take(','));
        expect(';');
    }
    std::string read_register_name() {
        std::string sign;
        if (peek() == '%') {
            sign = "%";
            at_ += text_.substr(at_, 2) == "%%" ? 2 : 1;
        }
        return sign + read_name();
    }
    void declare(const std::string& name) {
        declared_.push_back("heddle_r" + std::to_string(declared_.size()));
        scopes_.back()[name] = declared_.back();
    }

    std::string read_guarded() {
        expect('@');
        const PtxOperand guard = read_operand();
        if (guard.kind != PtxOperand::Kind::value) throw PtxRefusal{"a guard that is no predicate"};
        const std::string statement = ptx_statement(read_instruction(), labels_);
        return "if (" + std::string(guard.negated ? "!" : "") + "heddle_ptx::on(" + guard.text + ")) { " + statement + " }";
    }

    PtxInstruction read_instruction() {
        PtxInstruction instruction;
        instruction.words.push_back(read_name());
        while (at_ < text_.size() && text_[at_] == '.') {
            ++at_;
            std::string word = read_name();
            while (text_.substr(at_, 2) == "::") {
                at_ += 2;
                word += "::" + read_name();
            }
            instruction.words.push_back(std::move(word));
        }
        if (peek() != ';' && peek() != '\0') {
            do {
                PtxOperand operand = read_operand();
                if (take('|')) {
                    PtxOperand pair;
                    pair.kind = PtxOperand::Kind::vector;
                    pair.parts = {std::move(operand), read_operand()};
                    operand = std::move(pair);
                }
                instruction.operands.push_back(std::move(operand));
            } while (take(','));
        }
        if (peek() != '\0' && peek() != '}') expect(';');
        return instruction;
    }

    PtxOperand read_operand() {
        PtxOperand operand;
        const char c = peek();
        if (c == '!') {
            ++at_;
            operand = read_operand();
            operand.negated = !operand.negated;
        } else if (c == '{') {
            ++at_;
            operand.kind = PtxOperand::Kind::vector;
            do operand.parts.push_back(read_operand());
            while (take(','));
            expect('}');
        } else if (c == '[') {
            ++at_;
            operand = read_operand();
            if (operand.kind == PtxOperand::Kind::number) operand.text = ptx_number(operand.text, "u64");
            if (operand.kind != PtxOperand::Kind::value && operand.kind != PtxOperand::Kind::number)
                throw PtxRefusal{"inline PTX: an address that begins with `" + operand.text + "` is not emulated"};
            operand.kind = PtxOperand::Kind::address;
            while (peek() == '+' || peek() == '-') operand.offset += read_offset(operand);
            if (peek() == ',') throw PtxRefusal{"inline PTX: an address of a tensor is not emulated"};
            expect(']');
        } else if (c == '-' || c == '+' || std::isdigit(static_cast<unsigned char>(c)) != 0) {
            operand.kind = PtxOperand::Kind::number;
            operand.text = c;
            for (++at_; at_ < text_.size() && (is_name(text_[at_]) || text_[at_] == '.' || is_exponent_sign()); ++at_)
                operand.text += text_[at_];
        } else {
            read_word(operand);
        }
        return operand;
    }
    /// The sign in 1e-5; not that of [0x1e + 4], where a space or hexadecimal digits stand before it.
    bool is_exponent_sign() const {
        return (text_[at_] == '-' || text_[at_] == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E') && at_ > 1 &&
               text_.find_last_of("xX", at_) == std::string::npos;
    }
    /// The offset of an address: a number; the value of a constant operand is added to the base instead.
    long long read_offset(PtxOperand& address) {
        const bool minus = text_[at_++] == '-';
        const PtxOperand offset = read_operand();
        if (offset.kind == PtxOperand::Kind::value) {
            address.text = "(" + address.text + (minus ? " - " : " + ") + offset.text + ")";
            return 0;
        }
        const auto value = static_cast<long long>(std::strtoull(offset.text.c_str(), nullptr, 0));
        return minus ? -value : value;
    }

    void read_word(PtxOperand& operand) {
        if (peek() == '%' && !simple_) {
            ++at_;
            if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
                std::size_t number = 0;
                while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0)
                    number = number * 10 + static_cast<std::size_t>(text_[at_++] - '0');
                if (number >= operands_) throw PtxRefusal{"inline PTX: there is no operand %" + std::to_string(number)};
                operand.kind = PtxOperand::Kind::value;
                operand.text = asm_register(number);
                return;
            }
        }
        std::string name;
        if (peek() == '%') {
            name = "%";
            ++at_;
        } else if (at_ > 0 && text_[at_ - 1] == '%') {  // the first of %% was taken above
            name = "%";
        }
        name += read_name();
        while (name[0] == '%' && at_ + 1 < text_.size() && text_[at_] == '.' && is_name(text_[at_ + 1])) {
            ++at_;
            name += "." + read_name();
        }
        operand.kind = PtxOperand::Kind::value;
        for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
            if (const auto found = scope->find(name); found != scope->end()) {
                operand.text = found->second;
                return;
            }
        operand.text = name == "_" ? "heddle_none" : ptx_special_register(name);
        if (!operand.text.empty()) return;
        if (name[0] == '%') throw PtxRefusal{"inline PTX: the register `" + name + "` is not emulated"};
        operand.kind = PtxOperand::Kind::name;
        operand.text = name;
    }

    std::string text_;
    std::vector<std::size_t> from_;
    std::size_t at_ = 0, operands_;
    bool simple_;
    std::string labels_;
    std::vector<std::map<std::string, std::string>> scopes_;
    std::vector<std::string> declared_;
};

/// The line ends and # lines of a statement, to be put out where they stood.
class LineEnds {
  public:
    /// Blanks the # lines of the text.
    explicit LineEnds(std::string& text) {
        for (std::size_t i = text.find('\n'); i != std::string::npos; i = text.find('\n', i + 1)) {
            std::string piece = "\n";
            std::size_t first = text.find_first_not_of(" \t", i + 1);
            while (first != std::string::npos && text[first] == '#') {
                const std::size_t end = std::min(text.find('\n', first), text.size());
                piece += text.substr(first, end - first) + "\n";
                std::fill(text.begin() + static_cast<std::ptrdiff_t>(first), text.begin() + static_cast<std::ptrdiff_t>(end),
                          ' ');
                if (end == text.size()) break;
                text[end] = ' ';
                first = text.find_first_not_of(" \t", end + 1);
            }
            pieces_.emplace_back(i, std::move(piece));
        }
    }
    /// Those before this place that have not been put out.
    std::string before(std::size_t at) {
        std::string text;
        for (; next_ < pieces_.size() && pieces_[next_].first < at; ++next_) text += pieces_[next_].second;
        return text;
    }

  private:
    std::vector<std::pair<std::size_t, std::string>> pieces_;
    std::size_t next_ = 0;
};

std::string translate(std::string_view original, unsigned number, std::size_t& at) {
    std::string text(original);
    LineEnds lines(text);
    const AsmStatement statement = read_asm(text);
    Code code(statement, number);
    std::string body;
    for (;;) {
        at = code.here();
        const std::optional<std::string> next = code.next(at);
        if (!next) break;
        if (next->empty()) continue;
        body += lines.before(at) + *next + " ";
    }
    std::string made =
        "do { namespace heddle_ptx = ::heddle::emulator::cuda::ptx; [[maybe_unused]] heddle_ptx::bits heddle_cc = 0, heddle_none "
        "= 0; ";
    made += asm_registers(statement.operands);
    for (const std::string& name : code.declared()) made += "heddle_ptx::bits " + name + " = 0; ";
    made += body;
    for (std::size_t i = 0; i < statement.operands.size(); ++i)
        if (statement.operands[i].output) made += "heddle_ptx::out(heddle_o" + std::to_string(i) + ", " + asm_register(i) + "); ";
    return made + lines.before(original.size()) + "} while (false)";
}

}  // namespace

PtxText translate_asm(std::string_view statement, unsigned number) {
    PtxText made;
    try {
        made.text = translate(statement, number, made.at);
    } catch (const PtxRefusal& refusal) {
        made.error = refusal.why;
    }
    return made;
}

}  // namespace heddle::emulator::frontend
