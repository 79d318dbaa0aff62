// A violation as a program reports it to the one that runs it (`heddle check`): one line of text each, so that a pipe carries it.
// Independent of the emulator: both sides include it.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::emulator {

/// A kernel's memory traffic in the units of a chip (trace/traffic.h), for records of the kinds `cost` and `cost-line`.
struct CostCounts {
    std::uint64_t launches = 0;
    std::uint64_t accesses = 0;       ///< of warps to global memory
    std::uint64_t divergent = 0;      ///< accesses to any memory that a lane of the warp does not take part in
    std::uint64_t bytes = 0;          ///< that threads asked for in global memory
    std::uint64_t sectors = 0;        ///< that these accesses moved
    std::uint64_t least_sectors = 0;  ///< that would hold the same bytes, were they side by side
    std::uint64_t shared_accesses = 0;
    std::uint64_t shared_cycles = 0;        ///< that the banks need for these
    std::uint64_t least_shared_cycles = 0;  ///< without conflicts
    std::uint64_t barriers = 0, collectives = 0;

    /// Sectors and cycles of the banks beyond the least.
    std::uint64_t wasted() const { return beyond(sectors, least_sectors) + beyond(shared_cycles, least_shared_cycles); }

  private:
    static std::uint64_t beyond(std::uint64_t count, std::uint64_t least) { return count > least ? count - least : 0; }
};

/// One violation, note or count.
struct ViolationRecord {
    /// race, uninitialized, out-of-bounds, misaligned, barrier, collective, deadlock, no-progress, assert, stack-overflow,
    /// fault, stream-race, host-access, bad-launch, leak, api; notes: portability, pending-work, out-of-time, skipped; counts:
    /// cost (a kernel; its line is the one that wastes most), cost-line (a line of it), launched (a kernel, with the number of
    /// its launches), and again (the violation with the same `id` in another launch).
    std::string kind;
    bool note = false;                                 ///< no violation: it is shown and does not change the verdict
    std::uint64_t id = 0;                              ///< of the process's records, from 1
    std::string kernel = {}, block = {}, thread = {};  ///< "saxpy<float>", "(0, 0, 0)"; empty outside of kernels
    std::string verb = {};                             ///< of an access: "writes"
    std::string file = {};                             ///< as the compiler names it; empty: unknown
    int line = 0;
    // The earlier access, if the violation is about two:
    std::string other_thread = {};  ///< "thread (27, 0, 0)", with its block if that is another one
    std::string other_verb = {};    ///< "wrote"
    std::string other_file = {};
    int other_line = 0;
    std::string between = {};  ///< what stands between the two: "no barrier between the two"
    bool same_value = false;   ///< a race of writes that leave the value as it is
    std::string text = {};     ///< the whole sentence
    std::uint64_t launch = 0;  ///< number of the launch in the process
    std::uint64_t seed = 0;
    CostCounts cost = {};
};

namespace detail {

/// Calls visit(name, field) for every field of a record.
template <class Record, class Visit>
void for_each_field(Record& r, Visit&& visit) {
    visit("kind", r.kind), visit("note", r.note), visit("id", r.id);
    visit("kernel", r.kernel), visit("block", r.block), visit("thread", r.thread);
    visit("verb", r.verb), visit("file", r.file), visit("line", r.line);
    visit("other_thread", r.other_thread), visit("other_verb", r.other_verb);
    visit("other_file", r.other_file), visit("other_line", r.other_line);
    visit("between", r.between), visit("same_value", r.same_value), visit("text", r.text);
    visit("launch", r.launch), visit("seed", r.seed);
    auto& c = r.cost;
    visit("launches", c.launches), visit("accesses", c.accesses), visit("divergent", c.divergent), visit("bytes", c.bytes);
    visit("sectors", c.sectors), visit("least_sectors", c.least_sectors), visit("shared_accesses", c.shared_accesses);
    visit("shared_cycles", c.shared_cycles), visit("least_shared_cycles", c.least_shared_cycles);
    visit("barriers", c.barriers), visit("collectives", c.collectives);
}

inline std::string field_text(const std::string& value) {
    std::string text;
    for (const char c : value) {
        if (c == '\\')
            text += "\\\\";
        else if (c == '\n')
            text += "\\n";
        else if (c == '\t')
            text += "\\t";
        else
            text += c;
    }
    return text;
}
template <class Number>
std::string field_text(const Number& value) {
    return value == Number{} ? "" : std::to_string(value);
}

inline bool read_field(std::string_view text, std::string& value) {
    value.clear();
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            value += text[i];
            continue;
        }
        if (++i == text.size()) return false;
        value += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
    }
    return true;
}
template <class Number>
bool read_field(std::string_view text, Number& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}
inline bool read_field(std::string_view text, bool& value) {
    value = text == "1";
    return value || text == "0";
}

inline constexpr std::string_view kRecordBegins = "heddle-record";

}  // namespace detail

/// The record as one line that ends with '\n'. Fields that hold nothing are left out.
inline std::string encode(const ViolationRecord& record) {
    std::string line(detail::kRecordBegins);
    detail::for_each_field(record, [&](const char* name, const auto& field) {
        const std::string text = detail::field_text(field);
        if (!text.empty()) line += std::string("\t") + name + "=" + text;
    });
    return line + "\n";
}

/// The record of a line, with or without its '\n'. Nothing for a line that is no whole record; unknown fields are skipped.
inline std::optional<ViolationRecord> decode(std::string_view line) {
    if (!line.empty() && line.back() == '\n') line.remove_suffix(1);
    if (line.substr(0, detail::kRecordBegins.size()) != detail::kRecordBegins) return std::nullopt;
    line.remove_prefix(detail::kRecordBegins.size());
    ViolationRecord record;
    bool good = true;
    while (!line.empty()) {
        if (line.front() != '\t') return std::nullopt;
        line.remove_prefix(1);
        const std::string_view part = line.substr(0, line.find('\t'));
        line.remove_prefix(part.size());
        const std::size_t equal = part.find('=');
        if (equal == std::string_view::npos) return std::nullopt;
        detail::for_each_field(record, [&](const char* name, auto& field) {
            if (part.substr(0, equal) == name) good = detail::read_field(part.substr(equal + 1), field) && good;
        });
    }
    if (!good || record.kind.empty()) return std::nullopt;
    return record;
}

}  // namespace heddle::emulator
