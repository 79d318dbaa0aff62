// Reads asm statements: their template string, their operands, and the instructions in it.
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

/// The template string, and for each character where it stands in the statement.
struct Template {
    std::string text;
    std::vector<std::size_t> at;
};

/// An operand of the statement.
struct AsmOperand {
    std::string constraint, expression;
    bool output = false;
};

/// Reads the statement's text, in which # lines are blank.
class Statement {
  public:
    explicit Statement(std::string_view text) : text_(text) {
        at_ = text_.find('(');
        if (at_ == std::string_view::npos) throw PtxRefusal{"an asm statement without parentheses"};
        ++at_;
        read_template();
        for (int section = 0; peek() == ':'; ++section) {
            ++at_;
            read_section(section);
        }
        simple_ = sections_ == 0;
    }

    const Template& code() const { return template_; }
    const std::vector<AsmOperand>& operands() const { return operands_; }
    /// Without operands and colons, a % stands for itself.
    bool simple() const { return simple_; }

  private:
    char peek() {
        while (at_ < text_.size() && kSpaces.find(text_[at_]) != std::string_view::npos) ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }

    void read_template() {
        while (peek() == '"' || (peek() == 'R' && text_.substr(at_, 2) == "R\"")) read_literal(template_);
        if (template_.text.empty() && peek() != ':' && peek() != ')')
            throw PtxRefusal{"an asm statement whose text is not a string literal"};
    }

    void read_literal(Template& to) {
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
            Template constraint;
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
    bool simple_ = false;
    Template template_;
    std::vector<AsmOperand> operands_;
};

std::string register_of(std::size_t operand) { return "heddle_" + std::to_string(operand); }

/// Reads the instructions and writes their C++.
class Code {
  public:
    Code(const Template& from, std::size_t operands, bool simple, unsigned number)
        : text_(from.text), from_(from.at), operands_(operands), simple_(simple), labels_("heddle_" + std::to_string(number) + "_") {
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
    /// What is added to an address: a number, or the value of a constant operand, which joins the base.
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
                operand.text = register_of(number);
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
class Lines {
  public:
    /// Blanks the # lines of the text.
    explicit Lines(std::string& text) {
        for (std::size_t i = text.find('\n'); i != std::string::npos; i = text.find('\n', i + 1)) {
            std::string piece = "\n";
            std::size_t first = text.find_first_not_of(" \t", i + 1);
            while (first != std::string::npos && text[first] == '#') {
                const std::size_t end = std::min(text.find('\n', first), text.size());
                piece += text.substr(first, end - first) + "\n";
                std::fill(text.begin() + static_cast<std::ptrdiff_t>(first), text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
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

char letter_of(const AsmOperand& operand) {
    const std::size_t at = operand.constraint.find_first_not_of("=+&%");
    return at == std::string::npos ? '?' : operand.constraint[at];
}

/// The declarations of the registers that stand for the statement's operands.
std::string operand_registers(const std::vector<AsmOperand>& operands) {
    std::string text;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const AsmOperand& operand = operands[i];
        const char letter = letter_of(operand);
        const std::string number = std::to_string(i), name = register_of(i);
        if (std::isdigit(static_cast<unsigned char>(letter)) != 0) {  // the register of an output, with this value before
            const std::string output(1, letter);
            text += "heddle_" + output + " = heddle_ptx::in<'" + std::string(1, letter_of(operands[static_cast<std::size_t>(letter - '0')])) +
                    "'>((" + operand.expression + ")); heddle_ptx::bits " + name + " = heddle_" + output + "; ";
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

std::string translate(std::string_view original, unsigned number, std::size_t& at) {
    std::string text(original);
    Lines lines(text);
    const Statement statement(text);
    Code code(statement.code(), statement.operands().size(), statement.simple(), number);
    std::string body;
    for (;;) {
        at = code.here();
        const std::optional<std::string> next = code.next(at);
        if (!next) break;
        if (next->empty()) continue;
        body += lines.before(at) + *next + " ";
    }
    std::string made = "do { namespace heddle_ptx = ::heddle::emulator::cuda::ptx; [[maybe_unused]] heddle_ptx::bits heddle_cc = 0, heddle_none = 0; ";
    made += operand_registers(statement.operands());
    for (const std::string& name : code.declared()) made += "heddle_ptx::bits " + name + " = 0; ";
    made += body;
    for (std::size_t i = 0; i < statement.operands().size(); ++i)
        if (statement.operands()[i].output) made += "heddle_ptx::out(heddle_o" + std::to_string(i) + ", " + register_of(i) + "); ";
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
