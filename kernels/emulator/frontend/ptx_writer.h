// What ptx_instructions.cpp and ptx_memory.cpp share: how an instruction is written as C++.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/emulator/frontend/ptx.h"

namespace heddle::emulator::frontend {

using OperandKind = PtxOperand::Kind;

inline bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// "u32" as the type of C++; "" if it is none.
inline std::string type_name(std::string_view type) {
    if (one_of(type, {"b8", "b16", "b32", "b64"})) return "u" + std::string(type.substr(1));
    if (one_of(type,
               {"u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "pred"}))
        return std::string(type);
    return "";
}

/// Writes one instruction.
class PtxWriter {
  public:
    PtxWriter(const PtxInstruction& instruction, std::string labels) : i_(instruction), labels_(std::move(labels)) {
        for (const std::string& word : i_.words)
            if (!type_name(word).empty()) types_.push_back(type_name(word));
    }
    std::string write();

  private:
    [[noreturn]] void refuse(const std::string& why = "is not emulated") const {
        throw PtxRefusal{"inline PTX: `" + i_.name() + "` " + why};
    }
    const std::string& word(std::size_t n) const {
        static const std::string none;
        return n < i_.words.size() ? i_.words[n] : none;
    }
    bool has(std::string_view name) const { return i_.has(name); }
    const PtxOperand& operand(std::size_t n) const {
        if (n >= i_.operands.size()) refuse("has too few operands");
        return i_.operands[n];
    }
    std::size_t count() const { return i_.operands.size(); }
    /// The type of the instruction: the last one that it names.
    const std::string& type() const {
        if (types_.empty()) refuse("names no type that the emulator knows");
        return types_.back();
    }
    const std::string& first_type() const { return type(), types_.front(); }

    std::string in(const PtxOperand& operand, const std::string& of_type) const {
        if (operand.kind == OperandKind::number) return ptx_number(operand.text, of_type);
        if (operand.kind != OperandKind::value) refuse("has an operand that the emulator cannot read");
        return operand.negated ? "(" + operand.text + " ^ 1)" : operand.text;
    }
    std::string in(std::size_t n, const std::string& of_type) const { return in(operand(n), of_type); }
    std::string in(std::size_t n) const { return in(n, type()); }
    std::string out(const PtxOperand& operand) const {
        if (operand.kind != OperandKind::value || operand.text.find('(') != std::string::npos)
            refuse("has a result that is no register");
        return operand.text;
    }
    std::string out(std::size_t n = 0) const { return out(operand(n)); }
    /// The pointer of the address [..], in the instruction's state space.
    std::string address(std::size_t n, bool shared) const {
        const PtxOperand& operand = this->operand(n);
        if (operand.kind != OperandKind::address) refuse("wants an address in [ ]");
        const std::string at = operand.offset == 0 ? operand.text : operand.text + " + (" + std::to_string(operand.offset) + ")";
        return std::string("heddle_ptx::") + (shared ? "shared(" : "pointer(") + at + ")";
    }
    bool in_shared() const {
        return std::any_of(i_.words.begin(), i_.words.end(), [](const std::string& w) { return w.substr(0, 6) == "shared"; });
    }
    std::string address(std::size_t n) const { return address(n, in_shared()); }

    /// The bits of float arithmetic: .ftz, .sat and a rounding.
    std::string flags() const {
        std::string text;
        const auto add = [&](const char* flag) { text += std::string(text.empty() ? "" : " | ") + "heddle_ptx::" + flag; };
        if (has("ftz")) add("ftz");
        if (has("sat")) add("sat");
        if (has("rz") || has("rzi")) add("rz");
        if (has("rm") || has("rmi")) add("rm");
        if (has("rp") || has("rpi")) add("rp");
        if (has("relu")) refuse();
        return text.empty() ? "0" : text;
    }
    static std::string call(const std::string& function, const std::string& arguments) {
        return "heddle_ptx::" + function + "(" + arguments + ")";
    }
    std::string typed(const std::string& function) const { return function + "<heddle_ptx::" + type() + ", " + flags() + ">"; }
    /// d = function(a, b, ..) with all operands behind the first as arguments.
    std::string plain(const std::string& function) const {
        std::string arguments;
        for (std::size_t n = 1; n < count(); ++n) arguments += (n > 1 ? ", " : "") + in(n);
        return out() + " = " + call(typed(function), arguments) + ";";
    }
    std::string set_register(const std::string& value) const { return out() + " = " + value + ";"; }

    std::string multiply() const;
    std::string carry() const;
    std::string move() const;
    std::string convert() const;
    std::string compare() const;
    std::string load() const;
    std::string store() const;
    std::string atomic() const;
    std::string copy_async() const;
    std::string matrix_load() const;
    std::string matrix_product() const;
    std::string barrier() const;
    std::string memory_barrier() const;
    std::string shuffle() const;
    std::string vote() const;
    std::string convert_address() const;
    std::string order() const;
    std::string list(const PtxOperand& vector, std::size_t size) const;

    const PtxInstruction& i_;
    std::string labels_;
    std::vector<std::string> types_;
};

}  // namespace heddle::emulator::frontend
