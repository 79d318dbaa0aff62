// The results for programs.
#include <algorithm>
#include <cstdio>

#include "kernels/emulator/frontend/report.h"

namespace heddle::emulator::frontend {
namespace {

std::string quoted_json(const std::string& text) {
    std::string result = "\"";
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte == '"' || byte == '\\') {
            result += '\\';
            result += text[i];
        } else if (byte < 0x20 || byte == 0x7f) {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", byte);
            result += code;
        } else if (byte < 0x80) {
            result += text[i];
        } else {  // valid UTF-8 stays; any other byte becomes the replacement character
            const std::size_t length = byte >= 0xf0 && byte < 0xf5 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
            bool valid = length > 1 && byte < 0xf5 && i + length <= text.size();
            for (std::size_t k = 1; valid && k < length; ++k) valid = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
            result += valid ? text.substr(i, length) : "\xef\xbf\xbd";
            i += valid ? length - 1 : 0;
        }
    }
    return result + "\"";
}

std::string field(const char* name, const std::string& value) { return quoted_json(name) + ": " + quoted_json(value); }
std::string field(const char* name, std::uint64_t value) { return quoted_json(name) + ": " + std::to_string(value); }

std::string joined(const std::vector<std::string>& parts, const char* between) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
    return text;
}

std::string json_of_place(const std::string& file, int line) {
    return "{" + field("file", shown_path(file)) + ", " + field("line", static_cast<std::uint64_t>(std::max(line, 0))) + ", " +
           field("source", source_line(shown_path(file), line)) + "}";
}

std::string json_of_finding(const Finding& finding) {
    const ViolationRecord& r = finding.record;
    std::vector<std::string> orders;
    for (const int order : finding.orders) orders.push_back(std::to_string(order));
    std::vector<std::string> fields = {field("kind", r.kind),
                                       field("text", r.text),
                                       field("kernel", r.kernel),
                                       field("block", r.block),
                                       field("thread", r.thread),
                                       field("verb", r.verb),
                                       "\"place\": " + json_of_place(r.file, r.line)};
    if (r.other_line > 0) {
        fields.push_back(field("other_thread", r.other_thread));
        fields.push_back(field("other_verb", r.other_verb));
        fields.push_back("\"other_place\": " + json_of_place(r.other_file, r.other_line));
        fields.push_back(field("between", r.between));
    }
    fields.push_back("\"same_value\": " + std::string(r.same_value ? "true" : "false"));
    fields.push_back("\"orders\": [" + joined(orders, ", ") + "]");
    fields.push_back(field("occurrences", finding.occurrences));
    fields.push_back(field("seed", r.seed));
    fields.push_back(field("launch", r.launch));
    return "    {" + joined(fields, ", ") + "}";
}

std::string json_of_cost(const ViolationRecord& r) {
    const CostCounts& c = r.cost;
    return "{" + joined({field("kernel", r.kernel), "\"place\": " + json_of_place(r.file, r.line), field("launches", c.launches),
                         field("accesses", c.accesses), field("divergent", c.divergent), field("bytes", c.bytes),
                         field("sectors", c.sectors), field("least_sectors", c.least_sectors),
                         field("shared_accesses", c.shared_accesses), field("shared_cycles", c.shared_cycles),
                         field("least_shared_cycles", c.least_shared_cycles), field("barriers", c.barriers),
                         field("collectives", c.collectives)},
                        ", ");
}

std::string list_of(const char* name, const std::vector<std::string>& items) {
    return quoted_json(name) + ": [" + (items.empty() ? "" : "\n" + joined(items, ",\n") + "\n  ") + "]";
}

}  // namespace

std::string json_of(const Outcome& outcome, const Settings& settings) {
    std::vector<std::string> violations, notes, costs, sources;
    for (const Finding& finding : outcome.findings.all())
        (finding.record.note ? notes : violations).push_back(json_of_finding(finding));
    for (const KernelCost& cost : outcome.findings.costs()) {
        std::vector<std::string> lines;
        for (const ViolationRecord& line : cost.lines) lines.push_back("      " + json_of_cost(line) + "}");
        costs.push_back("    " + json_of_cost(cost.kernel) + ", \"lines\": [" +
                        (lines.empty() ? "" : "\n" + joined(lines, ",\n")) + "]}");
    }
    for (const std::string& source : settings.sources) sources.push_back(quoted_json(source));
    return "{\n  " + field("verdict", outcome.verdict()) + ",\n  " +
           field("status", static_cast<std::uint64_t>(outcome.status())) + ",\n  \"sources\": [" + joined(sources, ", ") +
           "],\n  " + field("orders", static_cast<std::uint64_t>(outcome.orders)) + ",\n  " + field("seed", settings.seed) +
           ",\n  " + field("chip", settings.chip) + ",\n  " + field("kernels", outcome.findings.kernels()) + ",\n  " +
           field("launches", outcome.findings.launches()) + ",\n  " + field("failure", outcome.failure) + ",\n  " +
           list_of("violations", violations) + ",\n  " + list_of("notes", notes) + ",\n  " + list_of("costs", costs) + "\n}\n";
}

namespace {

struct Rule {
    const char* id;
    const char* text;
};
// The kinds in the order of violation_record.h.
constexpr Rule kRules[] = {
    {"race", "Two threads access the same memory, one of them writing, and nothing orders the two."},
    {"uninitialized", "A thread reads memory that nothing has written."},
    {"out-of-bounds", "A thread accesses memory outside of every allocation."},
    {"misaligned", "An address is not a multiple of the access's size."},
    {"barrier", "Not every thread of a block comes to the same barrier."},
    {"collective", "Lanes of a warp come to different shuffles or votes, or with different masks."},
    {"deadlock", "No thread can go on."},
    {"no-progress", "The threads that are left only wait in loops."},
    {"assert", "An assertion in a kernel fails."},
    {"stack-overflow", "A thread needs more stack than there is."},
    {"fault", "A thread does what ends a kernel on a GPU."},
    {"stream-race", "Two operations in different streams use the same memory, and nothing orders them."},
    {"host-access", "Host code touches memory of the device."},
    {"bad-launch", "A launch asks for what the chip does not have."},
    {"leak", "Memory of the device is still allocated at exit."},
    {"api", "A function of CUDA is called in a way that it refuses."},
    {"portability", "The result depends on what only some chips do."},
    {"pending-work", "The program ends before its work on the device does."},
    {"out-of-time", "A launch is cut off because its time is over."},
    {"skipped", "Launches were left out, as --repeats wants."},
};

std::string sarif_uri(const std::string& file) {
    constexpr char digits[] = "0123456789ABCDEF";
    std::string uri;
    for (const char c : shown_path(file)) {
        const auto byte = static_cast<unsigned char>(c);
        const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
                           std::string("-._~/+@").find(c) != std::string::npos;
        plain ? uri += c : ((uri += '%') += digits[byte >> 4]) += digits[byte & 15];
    }
    return uri.compare(0, 1, "/") == 0 ? "file://" + uri : uri;
}

std::string sarif_location(const std::string& file, int line, const std::string& message) {
    const std::string said = message.empty() ? "" : ", \"message\": {" + field("text", message) + "}";
    return "{\"physicalLocation\": {\"artifactLocation\": {" + field("uri", sarif_uri(file)) +
           "}, \"region\": {\"startLine\": " + std::to_string(line) + "}}" + said + "}";
}

std::string sarif_result(const Finding& finding) {
    const ViolationRecord& r = finding.record;
    std::vector<std::string> fields = {field("ruleId", r.kind), field("level", r.note ? "note" : "error"),
                                       "\"message\": {" + field("text", r.text) + "}"};
    if (!r.file.empty() && r.line > 0) fields.push_back("\"locations\": [" + sarif_location(r.file, r.line, "") + "]");
    if (!r.other_file.empty() && r.other_line > 0)
        fields.push_back("\"relatedLocations\": [" +
                         sarif_location(r.other_file, r.other_line, r.other_thread + " " + r.other_verb) + "]");
    return "        {" + joined(fields, ", ") + "}";
}

}  // namespace

std::string sarif_of(const Outcome& outcome) {
    std::vector<std::string> rules, results;
    for (const Rule& rule : kRules)
        rules.push_back(std::string("            {") + field("id", rule.id) + ", \"shortDescription\": {" +
                        field("text", rule.text) + "}}");
    for (const Finding& finding : outcome.findings.all()) results.push_back(sarif_result(finding));
    return "{\n  \"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\",\n  \"version\": \"2.1.0\",\n  \"runs\": [\n    "
           "{\n"
           "      \"tool\": {\n        \"driver\": {\n          \"name\": \"heddle check\",\n          \"rules\": [\n" +
           joined(rules, ",\n") +
           "\n          ]\n        }\n      },\n      \"columnKind\": \"utf16CodeUnits\",\n      \"results\": [" +
           (results.empty() ? "" : "\n" + joined(results, ",\n") + "\n      ") + "]\n    }\n  ]\n}\n";
}

}  // namespace heddle::emulator::frontend
