// The C++ of each PTX instruction. An instruction that is not here is refused by its name.
#include <map>

#include "kernels/emulator/frontend/ptx_writer.h"

namespace heddle::emulator::frontend {

std::string PtxWriter::multiply() const {
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

std::string PtxWriter::carry() const {
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

std::string PtxWriter::move() const {
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

std::string PtxWriter::convert() const {
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

std::string PtxWriter::compare() const {
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

std::string PtxWriter::barrier() const {
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

std::string PtxWriter::memory_barrier() const {
    if (has("proxy") || has("mbarrier_init")) return "heddle_ptx::fence(0);";
    return call("fence", has("cta") ? "0" : "1") + ";";
}

std::string PtxWriter::shuffle() const {
    if (word(1) != "sync") refuse("needs sm_60 or older; from sm_70 on it is shfl.sync");
    if (!one_of(word(2), {"up", "down", "bfly", "idx"}) || !has("b32")) refuse();
    const PtxOperand& to = operand(0);
    const bool pair = to.kind == OperandKind::vector;
    return "{ heddle_ptx::bits inside = 0; " + out(pair ? to.parts[0] : to) + " = " +
           call("exchange", "heddle_ptx::Mode::" + word(2) + ", " + in(1, "u32") + ", " + in(2, "u32") + ", " + in(3, "u32") +
                                ", " + in(4, "u32") + ", inside") +
           ";" + (pair ? " " + out(to.parts[1]) + " = inside;" : "") + " }";
}

std::string PtxWriter::vote() const {
    if (word(1) != "sync") refuse("needs sm_60 or older; from sm_70 on it is vote.sync");
    const std::string function = has("all")      ? "vote_all"
                                 : has("any")    ? "vote_any"
                                 : has("uni")    ? "vote_uniform"
                                 : has("ballot") ? "vote_ballot"
                                                 : "";
    if (function.empty()) refuse();
    return set_register(call(function, in(1, "pred") + ", " + in(2, "u32")));
}

std::string PtxWriter::convert_address() const {
    const bool shared = in_shared();
    if (!shared) return set_register(in(1, "u64"));
    return set_register(call(has("to") ? "to_shared" : "from_shared", in(1, "u64")));
}

namespace {

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

}  // namespace

std::string PtxWriter::write() {
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

std::string ptx_statement(const PtxInstruction& instruction, const std::string& label_prefix) {
    return PtxWriter(instruction, label_prefix).write();
}

}  // namespace heddle::emulator::frontend
