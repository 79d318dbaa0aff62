#include "apps/command/summary_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "apps/translation/run/json.h"
#include "core/text.h"

namespace heddle::app {
namespace {

using nlohmann::ordered_json;

std::vector<const nn::SummaryRow*> rows_down_to(const nn::ModelSummary& summary, std::optional<std::int64_t> depth) {
    int top = summary.rows.front().depth;
    for (const nn::SummaryRow& row : summary.rows) top = std::min(top, row.depth);
    std::vector<const nn::SummaryRow*> rows;
    for (const nn::SummaryRow& row : summary.rows)
        if (!depth || row.depth - top <= *depth) rows.push_back(&row);
    return rows;
}

// The rows of all sentences are stacked in one matrix; the table separates them: [32, 50, 512] for [1600, 512].
std::vector<std::int64_t> extents(const Shape& shape, const nn::SummaryBatch& batch) {
    const std::int64_t rows = shape[0], tokens = rows / batch.sentences;
    if (rows != batch.sentences * batch.source && rows != batch.sentences * batch.target) return {rows, shape.cols()};
    return {batch.sentences, tokens, shape.cols()};
}

std::vector<std::vector<std::int64_t>> inputs_of(const nn::SummaryRow& row, const nn::SummaryBatch& batch) {
    std::vector<std::vector<std::int64_t>> all;
    // Token ids of one side, or of both.
    if (row.forward.tokens == batch.sentences * (batch.source + batch.target))
        all = {{batch.sentences, batch.source}, {batch.sentences, batch.target}};
    else if (row.forward.tokens > 0)
        all = {{batch.sentences, row.forward.tokens / batch.sentences}};
    for (const Shape& shape : row.forward.inputs) all.push_back(extents(shape, batch));
    return all;
}

std::string text(const std::vector<std::vector<std::int64_t>>& shapes) {
    std::string text;
    for (const auto& shape : shapes) text += fmt::format("{}[{}]", text.empty() ? "" : " ", fmt::join(shape, ", "));
    return text;
}

std::string text(const nn::ModuleTrace& trace, const nn::SummaryBatch& batch) {
    return trace.output ? text({extents(*trace.output, batch)}) : "";
}

double megabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

std::string memory(std::int64_t bytes) { return bytes == 0 ? "" : fmt::format("{:.2f}", megabytes(bytes)); }

// "73.92 G", "6.30 M" or "512".
std::string large(std::int64_t count) {
    if (count >= 1'000'000'000) return fmt::format("{:.2f} G", static_cast<double>(count) / 1e9);
    if (count >= 1'000'000) return fmt::format("{:.2f} M", static_cast<double>(count) / 1e6);
    return grouped_text(count);
}

std::string trained(const nn::SummaryRow& row) {
    if (row.parameters == 0) return "";
    return row.trained == row.parameters ? "yes" : row.trained == 0 ? "no" : "partly";
}

// The name, indented, without its parent's name if the parent is listed above.
std::string name_in_tree(const std::vector<const nn::SummaryRow*>& rows, std::size_t i) {
    const nn::SummaryRow& row = *rows[i];
    std::size_t above = 0, cut = 0;
    for (std::size_t j = 0; j < i; ++j) {
        const std::string begin = rows[j]->module.empty() ? "" : rows[j]->module + ".";
        if (rows[j]->depth >= row.depth || !row.module.starts_with(begin)) continue;
        ++above;
        cut = std::max(cut, begin.size());
    }
    return std::string(2 * above, ' ') + (row.module.empty() ? "(model)" : row.module.substr(cut));
}

using Cells = std::vector<std::string>;

// The lines as columns of minimal width; the first four are text, the others numbers.
std::string aligned(const std::vector<Cells>& lines) {
    std::vector<std::size_t> widths(lines.front().size());
    for (const Cells& line : lines)
        for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
    std::string all;
    for (const Cells& line : lines) {
        std::string text;
        for (std::size_t i = 0; i < line.size(); ++i)
            text += i < 4 ? fmt::format("{:<{}}  ", line[i], widths[i]) : fmt::format("{:>{}}  ", line[i], widths[i]);
        text.erase(text.find_last_not_of(' ') + 1);
        all += text + "\n";
    }
    return all;
}

std::string totals(const nn::ModelSummary& summary, const nn::SummaryBatch& batch) {
    const nn::SummaryRow& total = summary.total;
    const nn::ListedSummary listed = nn::listed(total.forward, total.parameters, batch.sentences);
    const auto line = [](const std::string& what, const std::string& value) {
        return fmt::format("{:<58}{:>14}\n", what, value);
    };
    const auto mb = [](std::int64_t bytes) { return fmt::format("{:.2f} MB", megabytes(bytes)); };
    std::string all = line("total parameters", grouped_text(total.parameters));
    all += line("trained", grouped_text(total.trained));
    all += line("in memory, as f32", mb(4 * total.parameters));
    all += "\nmult-adds of the matrix products, forward\n";
    all += line("  true: each row of each product", large(total.forward.multiply_adds));
    all += line("    of these the two products inside attention", large(total.forward.attention));
    all +=
        line(fmt::format("  as torchinfo counts: parameters x first extent ({})", batch.sentences), large(listed.multiply_adds));
    all += "\nactivation memory in training\n";
    all += line("  true: what the modules keep from forward for backward", mb(total.training.kept));
    all += line("    gradients of what their ops put out", mb(total.training.gradients));
    all += line("    whole model, measured: held between the two passes", mb(summary.held));
    all += line("    whole model, measured: most at once during backward", mb(summary.peak));
    all += line("  as torchinfo counts: input", mb(listed.input_bytes));
    all += line("    outputs of layers with parameters, x 2", mb(listed.activation_bytes));
    all += line("    parameters", mb(listed.parameter_bytes));
    all += line("    the three together", mb(listed.total_bytes()));
    return all;
}

ordered_json trace_json(const nn::SummaryRow& row) {
    return {{"parameters", row.parameters},
            {"trained", row.trained},
            {"multiply_adds", row.forward.multiply_adds},
            {"attention_multiply_adds", row.forward.attention},
            {"kept_bytes", row.training.kept},
            {"gradient_bytes", row.training.gradients}};
}

}  // namespace

std::string summary_table(const nn::ModelSummary& summary, const nn::SummaryBatch& batch, std::optional<std::int64_t> depth) {
    const std::vector<const nn::SummaryRow*> rows = rows_down_to(summary, depth);
    std::vector<Cells> lines{
        {"module", "kind", "input", "output", "parameters", "trained", "mult-adds", "kept MB", "gradients MB"}};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const nn::SummaryRow& row = *rows[i];
        lines.push_back({name_in_tree(rows, i), row.kind, text(inputs_of(row, batch)), text(row.forward, batch),
                         row.parameters > 0 ? grouped_text(row.parameters) : "", trained(row),
                         row.forward.multiply_adds > 0 ? grouped_text(row.forward.multiply_adds) : "", memory(row.training.kept),
                         memory(row.training.gradients)});
    }
    return aligned(lines) + "\n" + totals(summary, batch);
}

std::string summary_json(const nn::ModelSummary& summary, const nn::SummaryBatch& batch, std::optional<std::int64_t> depth) {
    ordered_json modules = ordered_json::array();
    for (const nn::SummaryRow* row : rows_down_to(summary, depth)) {
        ordered_json module = {{"module", row->module}, {"kind", row->kind}, {"depth", row->depth}, {"weights", row->weights}};
        module["input"] = inputs_of(*row, batch);
        module["output"] = row->forward.output ? ordered_json(extents(*row->forward.output, batch)) : ordered_json();
        module.update(trace_json(*row));
        modules.push_back(std::move(module));
    }
    ordered_json total = trace_json(summary.total);
    total["held_bytes"] = summary.held;
    total["peak_bytes"] = summary.peak;
    const nn::ListedSummary listed = nn::listed(summary.total.forward, summary.total.parameters, batch.sentences);
    const ordered_json all = {{"input", {{"sentences", batch.sentences}, {"source", batch.source}, {"target", batch.target}}},
                              {"modules", std::move(modules)},
                              {"total", std::move(total)},
                              {"torchinfo",
                               {{"multiply_adds", listed.multiply_adds},
                                {"input_bytes", listed.input_bytes},
                                {"activation_bytes", listed.activation_bytes},
                                {"parameter_bytes", listed.parameter_bytes},
                                {"total_bytes", listed.total_bytes()}}}};
    return json_text(all, 2) + "\n";
}

}  // namespace heddle::app
