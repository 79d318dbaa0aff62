// Translates the checker's reports for learners: elements of arrays instead of bytes of allocations, with advice.
#include <utility>

#include "apps/learn/grader/attempt.h"

namespace heddle::learn {
namespace {

using emulator::Mistake;
using emulator::ReportedAccess;

const char* verdict_kind(Mistake mistake) {
    switch (mistake) {
        case Mistake::race: return "race";
        case Mistake::copy: return "copy";
        case Mistake::unwritten: return "uninitialised";
        case Mistake::bounds: return "bounds";
        case Mistake::misaligned: return "misaligned";
    }
    return "misuse";
}

// "y[16]", or "16 bytes from y[16] on" for an access of several elements; empty before the start of an array with several
// extents.
std::string element_of(const Array& array, const ReportedAccess& access) {
    const std::size_t bytes = array.element_bytes();
    if (access.address < access.allocation) {
        if (array.extents.size() != 1) return "";
        return array.name + "[-" + std::to_string((access.allocation - access.address + bytes - 1) / bytes) + "]";
    }
    const std::string element = array.element_name((access.address - access.allocation) / bytes);
    return access.bytes <= bytes ? element : std::to_string(access.bytes) + " bytes from " + element + " on";
}

// " has 256 elements", " is [4, 96]".
std::string size_of(const Array& array) {
    std::string extents;
    for (const int extent : array.extents) extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
    if (array.extents.size() != 1) return " is [" + extents + "]";
    return " has " + extents + (extents == "1" ? " element" : " elements");
}

// Names what is missing between two accesses by the functions that a learner knows. Two lanes of one warp could meet in a
// __syncwarp, but in a larger block the threads of other warps make the same two accesses.
std::string explained(const std::string& missing, bool is_one_warp) {
    if (missing == "without a barrier between") return "without a barrier (__syncthreads) between";
    if (missing == "without a __syncwarp of both lanes or a barrier between")
        return is_one_warp ? "without a barrier (__syncthreads, or __syncwarp for this one warp) between"
                           : "without a barrier (__syncthreads) between";
    return missing;
}

// "`tile`[17]" at the end of a report about a __shared__ variable, else "4 bytes of shared memory".
std::string shared_element(const ReportedAccess& access) {
    const std::size_t at = access.what.rfind(": `");
    if (at != std::string::npos) return access.what.substr(at + 2);
    return std::to_string(access.bytes) + (access.bytes == 1 ? " byte" : " bytes") + " of shared memory";
}

// `element`: empty in shared memory.
std::string race_text(const ReportedAccess& access, const std::string& element, bool is_same_line, bool is_one_warp) {
    const std::string memory = shared_element(access);
    const std::string text = "race: " + access.verb + " " + (element.empty() ? memory : element) + " at " + access.place +
                             ", which " + access.earlier_thread + " " + access.earlier_verb + " at " + access.earlier_place;
    if (!element.empty() && access.both_write) return text;  // the verdict begins with what is wrong
    if (!element.empty() && access.is_between_blocks)
        return text + ", and nothing orders the two blocks: an element that one thread writes must belong to it alone";
    // A barrier does not help threads that execute the same write.
    if (access.both_write && is_same_line) return text + ": several threads write the same element; let one do it";
    return text + ", " + explained(access.missing, is_one_warp);
}

}  // namespace

Verdict verdict_of_access(const std::string& report, const ReportedAccess& access, const std::string& source,
                          const std::vector<Array>& arrays, bool is_one_warp) {
    Verdict verdict = verdict_of_report(report, source);
    verdict.kind = verdict_kind(access.mistake);
    verdict.line = line_in(access.place, source);
    verdict.other_line = line_in(access.earlier_place, source);
    if (verdict.line == 0) std::swap(verdict.line, verdict.other_line);

    const Array* const array = array_with(access.allocation, arrays);
    const std::string element = array == nullptr ? "" : element_of(*array, access);
    const std::string who = report.substr(0, report.find(access.what));  // "kernel square, block (0, 0, 0), thread (1, 0, 0): "
    std::string text;
    if (access.mistake == Mistake::copy)
        verdict.text +=
            "; wait() of a Pipeline<2> leaves the latest commit on its way: a copy has arrived once there is a wait() behind the "
            "next commit";
    else if (access.mistake == Mistake::unwritten && array == nullptr)
        verdict.text += "; either no thread writes it at all, or a barrier is missing before this read";
    else if (access.mistake == Mistake::race)
        text = (!element.empty() && access.both_write
                    ? "two threads write " + element + ", but each element must belong to one thread: "
                    : "") +
               who + race_text(access, element, verdict.line == verdict.other_line, is_one_warp);
    else if (access.mistake == Mistake::unwritten)
        text = who + access.verb + " " + element + " at " + access.place + " that was never written";
    else if (access.mistake == Mistake::bounds && !element.empty())
        text = who + access.verb + " " + element + " at " + access.place + "; " + array->name + size_of(*array) +
               (access.is_freed ? " (and freed)" : "");
    if (!text.empty()) verdict.text = without_folders(std::move(text), source);
    return verdict;
}

}  // namespace heddle::learn
