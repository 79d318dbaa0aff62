// Reports of the emulator count bytes of allocations; a learner thinks of elements of arrays.
#include <regex>

#include "apps/learn/grader/attempt.h"

namespace heddle::learn {
namespace {

const Array* array_named(const std::string& name, const std::vector<Array>& arrays) {
    for (const Array& array : arrays)
        if (array.name == name) return &array;
    return nullptr;
}

// "y[16]", or "16 bytes from y[16] on" for an access of several elements.
std::string accessed(const Array& array, std::size_t byte, std::size_t bytes) {
    const std::string element = array.element_name(byte / array.element);
    return bytes <= array.element ? element : std::to_string(bytes) + " bytes from " + element + " on";
}

std::size_t number(const std::ssub_match& digits) { return std::stoul(digits); }

// "writes 4 bytes of global memory at F.cu:7, which thread ... wrote at F.cu:7, ...: byte 68 of y (1024 bytes)".
void name_in_race(Verdict& verdict, const std::vector<Array>& arrays) {
    static const std::regex form(R"(^(.*race: )([a-z ]+) (\d+) bytes? of global memory (.*), )"
                                 R"((without a |and nothing orders the two)(.*): byte (\d+) of (\w+) \(\d+ bytes?\)$)");
    std::smatch found;
    if (!std::regex_match(verdict.text, found, form)) return;
    const Array* const array = array_named(found[8], arrays);
    if (array == nullptr) return;
    const std::string element = accessed(*array, number(found[7]), number(found[3])), where = found[4];
    const bool both_write = found[2] == "writes" && where.find(" wrote at ") != std::string::npos;
    std::string text = both_write ? "two threads write " + element + ", but each element must belong to one thread: " : "";
    text += found[1].str() + found[2].str() + " " + element + " " + where;
    const std::string missing = found[5].str() + found[6].str();
    if (missing.starts_with("and nothing orders the two blocks"))
        text +=
            both_write ? "" : ", and nothing orders the two blocks: an element that one thread writes must belong to it alone";
    else if (!both_write)
        text += ", " + missing;
    verdict.text = text;
}

// "reads 4 bytes of global memory at F.cu:6, 4 bytes past the end of x (1024 bytes)".
void name_behind_the_end(Verdict& verdict, const std::vector<Array>& arrays) {
    static const std::regex form(R"(^(.*(?:reads|writes|changes)) (\d+) bytes? of global memory( .*), )"
                                 R"((\d+) bytes? (past the end of|before) (\w+) \((\d+) bytes?\)(.*)$)");
    std::smatch found;
    if (!std::regex_match(verdict.text, found, form)) return;
    const Array* const array = array_named(found[6], arrays);
    if (array == nullptr) return;
    const std::size_t distance = number(found[4]), bytes = number(found[2]), size = number(found[7]);
    std::string element;
    if (found[5] == "before") {
        if (array->extents.size() != 1) return;
        element = array->name + "[-" + std::to_string((distance + array->element - 1) / array->element) + "]";
    } else {
        element = accessed(*array, size + distance - bytes, bytes);
    }
    std::string extents;
    for (const int extent : array->extents) extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
    verdict.text =
        found[1].str() + " " + element + found[3].str() + "; " + array->name +
        (array->extents.size() == 1 ? " has " + extents + (extents == "1" ? " element" : " elements") : " is [" + extents + "]") +
        found[8].str();
}

// "reads 4 bytes of global memory at F.cu:6 that was never written: byte 8 of y (400 bytes)".
void name_unwritten(Verdict& verdict, const std::vector<Array>& arrays) {
    static const std::regex form(R"(^(.*) (\d+) bytes? of global memory )"
                                 R"((.*that was never written): byte (\d+) of (\w+) \(\d+ bytes?\)$)");
    std::smatch found;
    if (!std::regex_match(verdict.text, found, form)) return;
    const Array* const array = array_named(found[5], arrays);
    if (array == nullptr) return;
    verdict.text = found[1].str() + " " + accessed(*array, number(found[4]), number(found[2])) + " " + found[3].str();
}

}  // namespace

void name_elements(Verdict& verdict, const std::vector<Array>& arrays) {
    name_in_race(verdict, arrays);
    name_behind_the_end(verdict, arrays);
    name_unwritten(verdict, arrays);
}

}  // namespace heddle::learn
