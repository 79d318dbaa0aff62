// The C++ of each PTX instruction. An instruction that is not here is refused by its name.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "kernels/emulator/frontend/ptx.h"

namespace heddle::emulator::frontend {
namespace {

using OperandKind = PtxOperand::Kind;

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// "u32" as the type of C++; "" if it is none.
std::string type_name(std::string_view type) {
    if (one_of(type, {"b8", "b16", "b32", "b64"})) return "u" + std::string(type.substr(1));
    if (one_of(type,
               {"u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "pred"}))
        return std::string(type);
    return "";
}

/// Writes one instruction.
class Writer {
  public:
    Writer(const PtxInstruction& instruction, std::string labels) : i_(instruction), labels_(std::move(labels)) {
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

std::string Writer::multiply() const {
    const bool wide = has("wide"), high = has("hi"), mad = word(0) == "mad";
    const std::string function = wide ? "multiply_wide" : high ? "multiply_high" : mad ? "mad" : "multiply";
    if ((word(0) == "mul24" || word(0) == "mad24") && high) refuse();
    const std::string a = in(1), b = in(2),
                      wide_type = wide ? type().substr(0, 1) + (type().substr(1) == "16" ? "32" : "64") : type();
    if (!mad) return set_register(call(typed(function), a + ", " + b));
    if (!wide && !high) return plain(type()[0] == 'f' || type()[0] == 'b' ? "fma" : "mad");
    return set_register("heddle_ptx::add<heddle_ptx::" + wide_type + ", " + flags() + ">(" + call(typed(function), a + ", " + b) +
                        ", " + in(3, wide_type) + ")");
}

std::string Writer::carry() const {
    const std::string op = word(0);
    const bool multiplies = op.substr(0, 3) == "mad", with = op == "addc" || op == "subc" || op == "madc";
    const bool subtracts = op.substr(0, 3) == "sub", keeps = has("cc");
    const std::string product = multiplies ? "heddle_ptx::" + std::string(has("hi") ? "multiply_high" : "multiply") +
                                                 "<heddle_ptx::" + type() + ">(" + in(1) + ", " + in(2) + ")"
                                           : in(1);
    return set_register(call(
        std::string(subtracts ? "subtract_carry" : "add_carry") + "<heddle_ptx::" + type() + ">",
        product + ", " + in(multiplies ? 3 : 2) + ", heddle_cc, " + (with ? "true, " : "false, ") + (keeps ? "true" : "false")));
}

std::string Writer::move() const {
    const PtxOperand& to = operand(0);
    const PtxOperand& from = operand(1);
    if (from.kind == OperandKind::name) refuse("takes the address of `" + from.text + "`, which is not emulated");
    const std::size_t parts = std::max(to.parts.size(), from.parts.size());
    if (parts == 0) return set_register(type() == "pred" ? in(1) : call("low<heddle_ptx::" + type() + ">", in(1)));
    const std::string width = std::to_string(std::atoi(type().substr(1).c_str()) / static_cast<int>(parts));
    std::string text;
    if (to.kind == OperandKind::vector) {  // {lo, hi} = x
        text = "{ const heddle_ptx::bits whole = " + in(1) + ";";
        for (std::size_t n = 0; n < parts; ++n)
            text += " " + out(to.parts[n]) + " = heddle_ptx::low<heddle_ptx::u" + width + ">(whole >> (" + std::to_string(n) +
                    " * " + width + "));";
        return text + " }";
    }
    for (std::size_t n = 0; n < parts; ++n)
        text += (n > 0 ? " | " : "") + ("heddle_ptx::low<heddle_ptx::u" + width) + ">(" + in(from.parts[n], "u" + width) +
                ") << (" + std::to_string(n) + " * " + width + ")";
    return set_register(text);
}

std::string Writer::convert() const {
    if (has("tf32")) return set_register(call("to_tf32", in(1, "f32")));
    if (types_.size() != 2 || has("rna") || has("rs")) refuse();
    const std::string &to = types_[0], &from = types_[1];
    if ((to == "f16x2" || to == "bf16x2") && count() == 3) {
        const std::string half = to.substr(0, to.size() - 2);
        const std::string one = "heddle_ptx::convert<heddle_ptx::" + half + ", heddle_ptx::" + from + ", " + flags() + ">(";
        return set_register(one + in(1) + ") << 16 | " + one + in(2) + ")");
    }
    const bool to_integer = has("rni") || has("rzi") || has("rmi") || has("rpi");
    return set_register(call(
        std::string(to_integer ? "round" : "convert") + "<heddle_ptx::" + to + ", heddle_ptx::" + from + ", " + flags() + ">",
        in(1)));
}

std::string Writer::compare() const {
    const bool set = word(0) == "set";
    const std::string from = type();
    std::string condition = "heddle_ptx::compare<heddle_ptx::" + from + ", " + flags() + ">(heddle_ptx::Compare::" + word(1) +
                            ", " + in(1) + ", " + in(2) + ")";
    static constexpr std::string_view known[] = {"eq", "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi",
                                                 "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
    if (std::find(std::begin(known), std::end(known), word(1)) == std::end(known)) refuse();
    const char* const joint = has("and") ? " & " : has("or") ? " | " : has("xor") ? " ^ " : nullptr;
    const auto joined = [&](const std::string& c) { return joint != nullptr ? "(" + c + joint + in(3, "pred") + ")" : c; };
    if (set) return set_register(call("select_all<heddle_ptx::" + first_type() + ">", joined(condition)));
    if (operand(0).kind != OperandKind::vector) return set_register(joined(condition));
    return "{ const heddle_ptx::bits held = " + condition + "; const heddle_ptx::bits other = held ^ 1; " +
           out(operand(0).parts[0]) + " = " + joined("held") + "; " + out(operand(0).parts[1]) + " = " + joined("other") + "; }";
}

/// How an access is ordered: 0 a plain one, else an atomic one with these parts of heddle_ptx::Order.
std::string Writer::order() const {
    if (has("acq_rel")) return "heddle_ptx::acquires | heddle_ptx::releases";
    if (has("acquire")) return "heddle_ptx::acquires";
    if (has("release")) return "heddle_ptx::releases";
    return has("relaxed") || has("volatile") || has("mmio") || one_of(word(0), {"atom", "red"}) ? "heddle_ptx::relaxed"
                                                                                                : "heddle_ptx::plain";
}

std::string Writer::load() const {
    if (has("param")) refuse();
    const std::size_t parts = has("v2") ? 2 : has("v4") ? 4 : has("v8") ? 8 : 1;
    const std::string what = "load<heddle_ptx::" + type() + ", " + std::to_string(parts) + ">";
    std::string text =
        "{ heddle_ptx::bits got[" + std::to_string(parts) + "]; " + call(what, address(1) + ", got, " + order()) + ";";
    const PtxOperand& to = operand(0);
    if (parts > 1 && (to.kind != OperandKind::vector || to.parts.size() != parts))
        refuse("wants as many registers as its vector has");
    for (std::size_t n = 0; n < parts; ++n)
        text += " " + out(parts == 1 ? to : to.parts[n]) + " = got[" + std::to_string(n) + "];";
    return text + " }";
}

std::string Writer::list(const PtxOperand& vector, std::size_t size) const {
    if (size == 1) return in(vector.kind == OperandKind::vector ? vector.parts.at(0) : vector, type());
    if (vector.kind != OperandKind::vector || vector.parts.size() != size) refuse("wants as many registers as its vector has");
    std::string text;
    for (std::size_t n = 0; n < size; ++n) text += (n > 0 ? ", " : "") + in(vector.parts[n], type());
    return text;
}

std::string Writer::store() const {
    const std::size_t parts = has("v2") ? 2 : has("v4") ? 4 : has("v8") ? 8 : 1;
    const std::string size = std::to_string(parts);
    return "{ const heddle_ptx::bits given[" + size + "] = {" + list(operand(1), parts) + "}; " +
           call("store<heddle_ptx::" + type() + ", " + size + ">", address(0) + ", given, " + order()) + "; }";
}

std::string Writer::atomic() const {
    static const std::map<std::string, std::string, std::less<>> kinds = {
        {"add", "add"},   {"min", "minimum"}, {"max", "maximum"}, {"exch", "exchange"}, {"cas", "compare_exchange"},
        {"or", "bit_or"}, {"and", "bit_and"}, {"xor", "bit_xor"}, {"inc", "increment"}, {"dec", "decrement"}};
    const auto found =
        std::find_if(i_.words.begin() + 1, i_.words.end(), [&](const std::string& w) { return kinds.count(w) != 0; });
    if (found == i_.words.end() || has("v2") || has("v4") || has("v8")) refuse();
    const bool returns = word(0) == "atom";
    const std::size_t at = returns ? 1 : 0;
    const bool swaps = *found == "cas";
    std::string text = call("atomic<heddle_ptx::" + type() + ">", "heddle_ptx::Atomic::" + kinds.at(*found) + ", " + order() +
                                                                      ", " + address(at) + ", " + in(at + (swaps ? 2 : 1)) +
                                                                      (swaps ? ", " + in(at + 1) : ", 0"));
    return (returns ? out() + " = " : "") + text + ";";
}

std::string Writer::copy_async() const {
    if (has("commit_group")) return "heddle_ptx::copy_commit();";
    if (has("wait_all")) return "heddle_ptx::copy_commit(); heddle_ptx::wait_copies(0);";
    if (has("wait_group")) return call("wait_copies", in(0, "u32")) + ";";
    if (!has("ca") && !has("cg")) refuse();
    // A source size, as a register or a number, is how many bytes are copied; the others become 0.
    const std::string size = in(2, "u32"), valid = count() > 3 && !has("L2::cache_hint") ? in(3, "u32")
                                                   : count() > 4                         ? in(3, "u32")
                                                                                         : size;
    return call("copy", address(0, true) + ", " + address(1, false) + ", " + size + ", " + valid) + ";";
}

std::string Writer::matrix_load() const {
    const int n = has("x1") ? 1 : has("x2") ? 2 : has("x4") ? 4 : 0;
    const PtxOperand& to = operand(0);
    if (n == 0 || !has("m8n8") || !has("b16") || (to.kind == OperandKind::vector ? static_cast<int>(to.parts.size()) : 1) != n)
        refuse();
    const std::string size = std::to_string(n);
    std::string text = "{ heddle_ptx::u32 got[4]; " +
                       call("load_matrix", "got, " + size + ", " + address(1) + ", " + (has("trans") ? "true" : "false")) + ";";
    for (int k = 0; k < n; ++k)
        text += " " + out(to.kind == OperandKind::vector ? to.parts[static_cast<std::size_t>(k)] : to) + " = got[" +
                std::to_string(k) + "];";
    return text + " }";
}

std::string Writer::matrix_product() const {
    // mma.sync.aligned.SHAPE.row.col.D.A.B.C
    if (i_.words.size() != 10 || !has("row") || !has("col")) refuse();
    const std::string &shape = word(3), &d = word(6), &a = word(7), &b = word(8), &c = word(9);
    struct Form {
        const char *shape, *type, *function;
        std::size_t a, b;
    };
    static constexpr Form forms[] = {{"m16n8k16", "bf16", "mma_bf16", 4, 2}, {"m16n8k8", "tf32", "mma_tf32", 4, 2},
                                     {"m16n8k16", "f16", "mma_f16", 4, 2},   {"m16n8k8", "bf16", "mma_bf16_k8", 2, 1},
                                     {"m16n8k8", "f16", "mma_f16_k8", 2, 1}, {"m16n8k4", "tf32", "mma_tf32_k4", 2, 1}};
    for (const Form& form : forms) {
        if (shape != form.shape || a != form.type || b != form.type) continue;
        const bool halves = d == "f16" && c == "f16" && a == "f16";
        if (!halves && (d != "f32" || c != "f32")) continue;
        const std::size_t results = halves ? 2 : 4;
        for (const auto& [n, size] : {std::pair<std::size_t, std::size_t>{0, results}, {1, form.a}, {2, form.b}, {3, results}})
            if ((operand(n).kind == OperandKind::vector ? operand(n).parts.size() : 1) != size)
                refuse("wants other numbers of registers");
        const auto registers = [&](std::size_t n) {
            std::string text;
            if (operand(n).kind != OperandKind::vector) return "heddle_ptx::u32(" + in(n, "u32") + ")";
            for (const PtxOperand& part : operand(n).parts)
                text += (text.empty() ? "" : ", ") + ("heddle_ptx::u32(" + in(part, n == 3 && !halves ? "f32" : "u32")) + ")";
            return text;
        };
        std::string text = "{ heddle_ptx::u32 sum[] = {" + registers(3) + "}, left[] = {" + registers(1) + "}, right[] = {" +
                           registers(2) + "}; " + call(form.function + std::string(halves ? "_in_f16" : ""), "sum, left, right") +
                           ";";
        for (std::size_t n = 0; n < results; ++n) text += " " + out(operand(0).parts[n]) + " = sum[" + std::to_string(n) + "];";
        return text + " }";
    }
    refuse();
}

std::string Writer::barrier() const {
    if (word(1) == "warp") return call("warp_barrier", in(0, "u32")) + ";";
    if (word(1) == "cta") refuse();
    if (has("red")) {
        const std::string kind = has("popc") ? "count" : has("and") ? "all" : has("or") ? "any" : "";
        if (kind.empty() || operand(1).kind != OperandKind::number || count() != 3) refuse();
        return set_register(call("barrier_" + kind, in(1, "u32") + ", " + in(2, "pred")));
    }
    if (word(1) != "sync") refuse();
    return call("barrier", in(0, "u32") + (count() > 1 ? ", " + in(1, "u32") : "")) + ";";
}

std::string Writer::memory_barrier() const {
    if (has("proxy") || has("mbarrier_init")) return "heddle_ptx::fence(0);";
    return call("fence", has("cta") ? "0" : "1") + ";";
}

std::string Writer::shuffle() const {
    if (word(1) != "sync") refuse("needs sm_60 or older; from sm_70 on it is shfl.sync");
    if (!one_of(word(2), {"up", "down", "bfly", "idx"}) || !has("b32")) refuse();
    const PtxOperand& to = operand(0);
    const bool pair = to.kind == OperandKind::vector;
    return "{ heddle_ptx::bits inside = 0; " + out(pair ? to.parts[0] : to) + " = " +
           call("exchange", "heddle_ptx::Mode::" + word(2) + ", " + in(1, "u32") + ", " + in(2, "u32") + ", " + in(3, "u32") +
                                ", " + in(4, "u32") + ", inside") +
           ";" + (pair ? " " + out(to.parts[1]) + " = inside;" : "") + " }";
}

std::string Writer::vote() const {
    if (word(1) != "sync") refuse("needs sm_60 or older; from sm_70 on it is vote.sync");
    const std::string function = has("all")      ? "vote_all"
                                 : has("any")    ? "vote_any"
                                 : has("uni")    ? "vote_uniform"
                                 : has("ballot") ? "vote_ballot"
                                                 : "";
    if (function.empty()) refuse();
    return set_register(call(function, in(1, "pred") + ", " + in(2, "u32")));
}

std::string Writer::convert_address() const {
    const bool shared = in_shared();
    if (!shared) return set_register(in(1, "u64"));
    return set_register(call(has("to") ? "to_shared" : "from_shared", in(1, "u64")));
}

const std::map<std::string, std::string, std::less<>>& plain_functions() {
    static const std::map<std::string, std::string, std::less<>> functions = {{"add", "add"},
                                                                              {"sub", "subtract"},
                                                                              {"div", "divide"},
                                                                              {"rem", "remainder"},
                                                                              {"fma", "fma"},
                                                                              {"neg", "negate"},
                                                                              {"abs", "absolute"},
                                                                              {"min", "minimum"},
                                                                              {"max", "maximum"},
                                                                              {"and", "bit_and"},
                                                                              {"or", "bit_or"},
                                                                              {"xor", "bit_xor"},
                                                                              {"not", "bit_not"},
                                                                              {"cnot", "logical_not"},
                                                                              {"shl", "shift_left"},
                                                                              {"shr", "shift_right"},
                                                                              {"sad", "sum_of_difference"},
                                                                              {"rcp", "reciprocal"},
                                                                              {"sqrt", "square_root"},
                                                                              {"rsqrt", "reciprocal_root"},
                                                                              {"sin", "sine"},
                                                                              {"cos", "cosine"},
                                                                              {"lg2", "logarithm"},
                                                                              {"ex2", "power_of_two"},
                                                                              {"tanh", "hyperbolic_tangent"},
                                                                              {"copysign", "copy_sign"},
                                                                              {"bfind", "highest_bit"},
                                                                              {"brev", "reverse"},
                                                                              {"clz", "leading_zeros"},
                                                                              {"popc", "count_bits"}};
    return functions;
}

std::string Writer::write() {
    const std::string& op = word(0);
    if (one_of(op, {"addc", "subc", "madc"}) || (has("cc") && one_of(op, {"add", "sub", "mad"}))) return carry();
    if (op == "mul" || op == "mad" || op == "mul24" || op == "mad24") {
        if (op == "mul" || op == "mad") return multiply();
        return set_register(call(op == "mul24" ? "multiply24<heddle_ptx::" + type() + ">" : "mad24<heddle_ptx::" + type() + ">",
                                 in(1) + ", " + in(2) + (op == "mad24" ? ", " + in(3) : "")));
    }
    if (op == "bfind" && has("shiftamt")) refuse();
    if (const auto found = plain_functions().find(op); found != plain_functions().end()) {
        if (one_of(op, {"shl", "shr"})) return set_register(call(typed(found->second), in(1) + ", " + in(2, "u32")));
        return plain(found->second);
    }
    if (op == "mov" || op == "mov.pred") return move();
    if (op == "cvt") return has("pack") ? (refuse(), "") : convert();
    if (op == "setp" || op == "set") return compare();
    if (op == "selp") return set_register("heddle_ptx::on(" + in(3, "pred") + ") ? " + in(1) + " : " + in(2));
    if (op == "slct")
        return set_register("heddle_ptx::not_negative<heddle_ptx::" + type() + ">(" + in(3) + ") ? " + in(1, first_type()) +
                            " : " + in(2, first_type()));
    if (op == "lop3") return set_register(call("lop3", in(1) + ", " + in(2) + ", " + in(3) + ", " + in(4, "u32")));
    if (op == "prmt")
        return i_.words.size() != 2 ? (refuse(), "") : set_register(call("permute", in(1) + ", " + in(2) + ", " + in(3)));
    if (op == "bfe")
        return set_register(call("extract<heddle_ptx::" + type() + ">", in(1) + ", " + in(2, "u32") + ", " + in(3, "u32")));
    if (op == "bfi")
        return set_register(
            call("insert<heddle_ptx::" + type() + ">", in(1) + ", " + in(2) + ", " + in(3, "u32") + ", " + in(4, "u32")));
    if (op == "shf")
        return set_register(call(has("l") ? "funnel_left" : "funnel_right",
                                 in(1) + ", " + in(2) + ", " + in(3) + ", " + (has("clamp") ? "true" : "false")));
    if (op == "dp4a")
        return set_register(call("dot4<heddle_ptx::" + types_.at(0) + ", heddle_ptx::" + types_.at(types_.size() - 1) + ">",
                                 in(1) + ", " + in(2) + ", " + in(3)));
    if (op == "testp")
        return set_register(call("test<heddle_ptx::" + type() + ">", "heddle_ptx::Test::" + word(1) + ", " + in(1)));
    if (op == "ld" || op == "ldu") return load();
    if (op == "st") return store();
    if (op == "atom" || op == "red") return word(1) == "async" ? (refuse(), "") : atomic();
    if (op == "cp" && word(1) == "async" && word(2) != "bulk" && word(2) != "mbarrier") return copy_async();
    if (op == "ldmatrix") return matrix_load();
    if (op == "mma") return matrix_product();
    if (op == "bar" || op == "barrier") return barrier();
    if (op == "membar" || op == "fence") return memory_barrier();
    if (op == "shfl") return shuffle();
    if (op == "vote") return vote();
    if (op == "match") {
        if (!has("any") && !has("all")) refuse();
        const PtxOperand& to = operand(0);
        const std::string value = call("match", in(1) + ", " + in(2, "u32") + ", " + (has("all") ? "true" : "false"));
        if (to.kind != OperandKind::vector) return set_register(value);
        return out(to.parts.at(0)) + " = " + value + "; " + out(to.parts.at(1)) + " = " + out(to.parts.at(0)) + " != 0;";
    }
    if (op == "activemask") return set_register("heddle_ptx::active_lanes()");
    if (op == "redux" && type() != "f32") {
        static const std::map<std::string, std::string, std::less<>> kinds = {
            {"add", "add"}, {"min", "minimum"}, {"max", "maximum"}, {"and", "bit_and"}, {"or", "bit_or"}, {"xor", "bit_xor"}};
        const auto found = kinds.find(word(2));
        if (found == kinds.end()) refuse();
        return set_register(call("reduce<heddle_ptx::" + type() + ">",
                                 "heddle_ptx::Reduction::" + found->second + ", " + in(1) + ", " + in(2, "u32")));
    }
    if (op == "elect")
        return out(operand(0).parts.at(0)) + " = heddle_ptx::first_lane(" + in(1, "u32") + "); " + out(operand(0).parts.at(1)) +
               " = heddle_ptx::lane() == " + out(operand(0).parts.at(0)) + ";";
    if (op == "cvta") return convert_address();
    if (op == "isspacep")
        return set_register(
            call("is_in_space", "heddle_ptx::Space::" + word(1).substr(0, word(1).find(':')) + ", " + in(1, "u64")));
    if (op == "bra") return operand(0).kind == OperandKind::name ? "goto " + labels_ + operand(0).text + ";" : (refuse(), "");
    if (op == "nanosleep") return "heddle_ptx::pause();";
    if (op == "trap") return "heddle_ptx::trap();";
    if (one_of(op, {"prefetch", "prefetchu", "discard", "applypriority", "griddepcontrol", "setmaxnreg"})) return ";";
    if (op == "createpolicy") return set_register("0");
    refuse();
}

}  // namespace

std::string ptx_statement(const PtxInstruction& instruction, const std::string& label_prefix) {
    return Writer(instruction, label_prefix).write();
}

}  // namespace heddle::emulator::frontend
