// Inline PTX: an asm statement of device code becomes C++ that calls kernels/emulator/cuda/ptx.h, one call an instruction.
//
//     asm volatile("ld.global.v2.f32 {%0, %1}, [%2];" : "=f"(a), "=f"(b) : "l"(p))
// becomes
//     do { auto&& heddle_o0 = (a); ... heddle_ptx::bits heddle_2 = heddle_ptx::in<'l'>((p));
//          { heddle_ptx::bits v[2]; heddle_ptx::load<heddle_ptx::f32, 2>(heddle_2, v); heddle_0 = v[0]; heddle_1 = v[1]; }
//          heddle_ptx::out(heddle_o0, heddle_0); ... } while (false)
//
// Registers are numbers of 64 bits, whose lower bits an instruction reads as its type says. Labels become labels of C++, and
// branches goto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::emulator::frontend {

/// The C++ that replaces an asm statement.
struct PtxText {
    std::string text;    ///< one statement without its semicolon; it has the line ends and # lines of the original
    std::string error;   ///< or why it is refused, with the instruction's name
    std::size_t at = 0;  ///< where in the statement the refused instruction stands
};
/// `statement` is preprocessed text from the word asm (or __asm__) to the closing parenthesis, in device code. `number` tells the
/// statements of a file apart.
PtxText translate_asm(std::string_view statement, unsigned number);

// The parts, for ptx*.cpp and their tests.

/// An operand of an asm statement.
struct AsmOperand {
    std::string constraint, expression;
    bool output = false;
};
/// An asm statement as it is written.
struct AsmStatement {
    std::string text;             ///< its template string
    std::vector<std::size_t> at;  ///< where each character of that stands in the statement
    std::vector<AsmOperand> operands;
    bool simple = false;  ///< it has no operands and no colons: a % stands for itself
};
/// `statement` is as for translate_asm(), with blanks in place of # lines.
AsmStatement read_asm(std::string_view statement);
/// The register that stands for an operand of the statement: "heddle_2".
std::string asm_register(std::size_t operand);
/// The declarations of these registers.
std::string asm_registers(const std::vector<AsmOperand>& operands);

/// An operand of an instruction.
struct PtxOperand {
    enum class Kind : std::uint8_t { value, number, address, vector, name, none };
    Kind kind = Kind::none;
    std::string text;               ///< of a value its expression; of a number or name what is written; of an address its base
    long long offset = 0;           ///< of an address
    bool negated = false;           ///< !p
    std::vector<PtxOperand> parts;  ///< of a vector {a, b}, or of a pair d|p
};
/// An instruction.
struct PtxInstruction {
    std::vector<std::string> words;  ///< "ld", "global", "v2", "f32"
    std::vector<PtxOperand> operands;
    bool has(std::string_view word) const;
    std::string name() const;  ///< "ld.global.v2.f32"
};
/// Thrown for what is refused.
struct PtxRefusal {
    std::string why;
};
/// The C++ statement of an instruction, with "heddle_cc" as the carry.
std::string ptx_statement(const PtxInstruction& instruction, const std::string& label_prefix);
/// The expression for a special register, as "%laneid"; "" if there is none.
std::string ptx_special_register(std::string_view name);
/// The bits of a number as PTX writes it, as a literal of C++, for an instruction of this type.
std::string ptx_number(std::string_view text, std::string_view type);

}  // namespace heddle::emulator::frontend
