// The C++ of PTX's instructions for memory and for matrices.
#include <map>

#include "kernels/emulator/frontend/ptx_writer.h"

namespace heddle::emulator::frontend {

/// How an access is ordered: 0 a plain one, else an atomic one with these parts of heddle_ptx::Order.
std::string PtxWriter::order() const {
    if (has("acq_rel")) return "heddle_ptx::acquires | heddle_ptx::releases";
    if (has("acquire")) return "heddle_ptx::acquires";
    if (has("release")) return "heddle_ptx::releases";
    return has("relaxed") || has("volatile") || has("mmio") || one_of(word(0), {"atom", "red"}) ? "heddle_ptx::relaxed"
                                                                                                : "heddle_ptx::plain";
}

std::string PtxWriter::load() const {
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

std::string PtxWriter::list(const PtxOperand& vector, std::size_t size) const {
    if (size == 1) return in(vector.kind == OperandKind::vector ? vector.parts.at(0) : vector, type());
    if (vector.kind != OperandKind::vector || vector.parts.size() != size) refuse("wants as many registers as its vector has");
    std::string text;
    for (std::size_t n = 0; n < size; ++n) text += (n > 0 ? ", " : "") + in(vector.parts[n], type());
    return text;
}

std::string PtxWriter::store() const {
    const std::size_t parts = has("v2") ? 2 : has("v4") ? 4 : has("v8") ? 8 : 1;
    const std::string size = std::to_string(parts);
    return "{ const heddle_ptx::bits given[" + size + "] = {" + list(operand(1), parts) + "}; " +
           call("store<heddle_ptx::" + type() + ", " + size + ">", address(0) + ", given, " + order()) + "; }";
}

std::string PtxWriter::atomic() const {
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

std::string PtxWriter::copy_async() const {
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

std::string PtxWriter::matrix_load() const {
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

std::string PtxWriter::matrix_product() const {
    // mma.sync.aligned.SHAPE.row.col.D.A.B.C
    if (i_.words.size() != 10 || !has("row") || !has("col")) refuse();
    const std::string &shape = word(3), &d = word(6), &a = word(7), &b = word(8), &c = word(9);
    struct Form {
        const char *shape, *type;
        std::size_t a, b;
    };
    static constexpr Form forms[] = {{"m16n8k16", "bf16", 4, 2}, {"m16n8k8", "tf32", 4, 2}, {"m16n8k16", "f16", 4, 2},
                                     {"m16n8k8", "bf16", 2, 1},  {"m16n8k8", "f16", 2, 1},  {"m16n8k4", "tf32", 2, 1}};
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
                           registers(2) + "}; " + call("product<heddle_ptx::mma_" + a + ">", "sum, left, right") + ";";
        for (std::size_t n = 0; n < results; ++n) text += " " + out(operand(0).parts[n]) + " = sum[" + std::to_string(n) + "];";
        return text + " }";
    }
    refuse();
}

}  // namespace heddle::emulator::frontend
