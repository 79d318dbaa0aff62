// Reports about the tape: saved memory per op, and its graph.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "autograd/tape_impl.h"

namespace heddle {
namespace {

// Escapes the text for a label in double quotes.
std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result;
}

}  // namespace

std::vector<SavedMemory> Tape::saved_memory() const {
    std::map<std::string, SavedMemory> by_op;
    std::set<std::tuple<std::uint64_t, const void*, std::int64_t>> seen;
    for (const TapeNode& node : nodes_) {
        if (node.dead) continue;
        SavedMemory& entry = by_op[node.op];
        entry.op = node.op;
        ++entry.nodes;
        for (const TapeNode::Saved& saved : node.saved)
            if (seen.emplace(saved.tensor.storage_id(), saved.tensor.bytes_data(), saved.tensor.bytes()).second)
                entry.bytes += saved.tensor.bytes();
    }
    std::vector<SavedMemory> report;
    for (auto& [op, entry] : by_op) report.push_back(std::move(entry));
    std::stable_sort(report.begin(), report.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    return report;
}

std::string Tape::as_dot() const {
    std::string text = "digraph tape {\n  rankdir=TB;\n  node [shape=box, fontname=\"monospace\"];\n";
    std::map<const Variable::Slot*, std::size_t> leaves;
    for (const TapeNode& node : nodes_) {
        if (node.dead) continue;
        std::string shapes;
        for (const TapeNode::Output& output : node.outputs) shapes += output.shape.str();
        std::string file = node.where.file_name();
        file.erase(0, file.rfind('/') + 1);
        text += fmt::format("  n{} [label=\"{}\\n{}\\n{}:{}\"];\n", node.number, escaped(node.op), shapes, escaped(file),
                            node.where.line());
        for (const TapeNode::Input& input : node.inputs) {
            if (input.leaf) {
                const auto [at, fresh] = leaves.emplace(input.leaf.get(), leaves.size());
                const std::string& name = input.leaf->name;
                if (fresh)
                    text += fmt::format("  l{} [label=\"{}\\n{}\", shape=ellipse{}];\n", at->second,
                                        name.empty() ? "leaf" : escaped(name), input.shape.str(),
                                        input.needs ? "" : ", style=dashed");
                text += fmt::format("  l{} -> n{};\n", at->second, node.number);
            } else if (find(input.node) != nullptr) {
                text += fmt::format("  n{} -> n{};\n", input.node, node.number);
            }
        }
    }
    return text + "}\n";
}

}  // namespace heddle
