#include "apps/explain/step_picture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "apps/explain/explanation.h"
#include "apps/picture/drawing.h"
#include "apps/picture/page.h"
#include "apps/picture/text.h"
#include "core/error.h"

namespace heddle::explain {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kSector = 32;  // bytes
constexpr double kWidth = 760, kLeft = 66, kRoom = kWidth - kLeft - 8;
constexpr std::string_view kRead = "#0072b2", kWrite = "#b34700", kMeeting = "#007a5e", kSoft = "#8b949e33";

bool is_access(const ordered_json& step) { return step.contains("memory"); }
bool is_shared(const ordered_json& step) { return step["memory"] == "shared"; }
bool reads(const ordered_json& step) {
    return step["action"] == "read" || step["action"] == "copy-read" || step["action"] == "atomic";
}
std::string_view color_of(const ordered_json& step) { return !is_access(step) ? kMeeting : reads(step) ? kRead : kWrite; }

struct Lane {
    int number;
    std::int64_t offset;
    int tensor;  // -1: shared memory or a workspace
};
std::vector<Lane> lanes_of(const ordered_json& step) {
    std::vector<Lane> lanes;
    const auto mask = step["lanes"].get<std::uint32_t>();
    for (int lane = 0; lane < 32; ++lane) {
        if ((mask >> lane & 1) == 0) continue;
        const std::size_t i = lanes.size();
        const std::int64_t offset = step.contains("offsets")
                                        ? step["offsets"][i].get<std::int64_t>()
                                        : step["offset"].get<std::int64_t>() +
                                              step["stride"].get<std::int64_t>() * (lane - (i == 0 ? lane : lanes[0].number));
        lanes.push_back({lane, offset, step.contains("tensors") ? step["tensors"][i].get<int>() : step.value("tensor", -1)});
    }
    return lanes;
}

// Lanes in ascending order as text: "0", "0-31", "0, 16-31".
std::string lanes_text(const std::vector<int>& lanes) {
    std::string text;
    for (std::size_t i = 0, end = 0; i < lanes.size(); i = end) {
        for (end = i + 1; end < lanes.size() && lanes[end] == lanes[end - 1] + 1;) ++end;
        text += fmt::format("{}{}", i == 0 ? "" : ", ", lanes[i]);
        if (end > i + 1) text += fmt::format("{}{}", end > i + 2 ? "-" : ", ", lanes[end - 1]);
    }
    return text;
}

// Memory as rows of cells: a tensor's last axis, or 64 elements of a longer one; shared memory's 32 banks.
struct Memory {
    std::string name;
    std::int64_t cell_bytes = 4, cols = 32, cells = 0;  // cells 0: unknown
    std::int64_t inner = 0;                             // the tensor's last extent, if a row is only part of it

    std::int64_t lines() const { return (cells + cols - 1) / cols; }
    std::string label(std::int64_t line) const {
        if (cells == 0) return fmt::format("byte {}", line * cols * cell_bytes);
        if (inner == 0) return fmt::format("row {}", line);
        return inner == cells ? fmt::format("[{}]", line * cols)
                              : fmt::format("[{}, {}]", line * cols / inner, line * cols % inner);
    }
};
Memory memory_of(const ordered_json& explained, const ordered_json& step, int tensor) {
    if (tensor < 0) return {.name = is_shared(step) ? "shared memory" : "a workspace"};
    const ordered_json& one = explained["tensors"][static_cast<std::size_t>(tensor)];
    Memory memory{
        .name = fmt::format("{} [{}] {}", one["name"].get<std::string>(),
                            fmt::join(one["shape"].get<std::vector<std::int64_t>>(), ", "), one["dtype"].get<std::string>()),
        .cell_bytes = one["element_bytes"].get<std::int64_t>(),
        .cols = 1,
        .cells = 1};
    for (const ordered_json& extent : one["shape"]) memory.cells *= memory.cols = extent.get<std::int64_t>();
    if (memory.cols > 64 || one["shape"].size() < 2) {
        memory.inner = memory.cols;
        memory.cols = std::min<std::int64_t>(memory.cols, 64);
    }
    return memory;
}

// A step as a sentence with its cost: "warp 0 of block 0 reads x [4, 64] f32, 16 bytes a lane: 8 sectors, 100 % used".
std::string sentence(const ordered_json& warp, const ordered_json& step, const std::string& memory) {
    static const std::map<std::string, std::string> verbs = {{"read", "reads"},
                                                             {"write", "writes"},
                                                             {"atomic", "updates"},
                                                             {"copy-read", "starts copies from"},
                                                             {"copy-write", "starts copies to"}};
    const auto number = [&](const char* key) { return step[key].get<std::int64_t>(); };
    const auto plural = [](std::int64_t count, const char* word) {
        return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
    };
    std::string cost;
    if (is_shared(step)) {
        const std::int64_t degree = number("degree");
        cost = fmt::format("{} of the banks, {}", plural(number("cycles"), "cycle"),
                           degree > 1 ? fmt::format("a {}-way conflict", degree) : "no conflict");
    } else {
        cost = fmt::format("{}, {} used", plural(number("sectors"), "sector"),
                           share(step["needed"].get<std::uint64_t>(), kSector * step["sectors"].get<std::uint64_t>()));
    }
    const int lanes = std::popcount(step["lanes"].get<std::uint32_t>());
    return fmt::format("warp {} of block {} {} {}, {}{}: {}", warp["warp"].get<int>(), warp["block"].get<int>(),
                       verbs.at(step["action"].get<std::string>()), memory, plural(number("bytes"), "byte"),
                       lanes == 32  ? " a lane"
                       : lanes == 1 ? std::string(" for one lane")
                                    : fmt::format(" for each of {} lanes", lanes),
                       cost);
}

// Rectangles of equal height as a single path, which is shorter than one element each.
class Bars {
  public:
    void add(double x, double top, double width) {
        data_ += fmt::format("M{} {}h{}", picture::place(x), picture::place(top), picture::place(width));
    }
    void draw(picture::Drawing& drawing, std::string_view color, double height) const {
        if (!data_.empty()) drawing.path(data_, color, height);
    }

  private:
    std::string data_;
};

class StepPicture {
  public:
    explicit StepPicture(const ordered_json& explained) : explained_(explained) {}
    void access(const ordered_json& launch, const ordered_json& warp, const ordered_json& step);
    void warps(const ordered_json& launch);
    std::string svg();

  private:
    void array(const ordered_json& step, const std::vector<Lane>& lanes, const Memory& memory, const std::string& label);
    void head(const std::string& text, const ordered_json* site);

    const ordered_json& explained_;
    picture::Drawing drawing_;
    double y_ = 6;
    bool has_lanes_ = false, has_sectors_ = false, has_banks_ = false, has_warps_ = false;  // what the legend has to explain
};

// A panel's sentence and the source line of its step.
void StepPicture::head(const std::string& text, const ordered_json* site) {
    drawing_.text(8, y_ += 16, picture::shortened(text, kWidth - 16, 12.5), {.size = 12.5, .bold = true});
    if (site != nullptr && (*site)["line"] != 0) {
        const std::string file = (*site)["file"];
        std::string_view rest = explained_["sources"][file].get_ref<const std::string&>();
        for (int line = (*site)["line"]; line > 1; --line) rest.remove_prefix(rest.find('\n') + 1);
        rest = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
        const std::string code = fmt::format("{}:  {}", file.substr(file.rfind('/') + 1), rest);
        drawing_.text(8, y_ += 15, picture::shortened(code, kWidth - 16, 11), {.size = 11, .opacity = 0.8});
    }
    y_ += 8;
}

void StepPicture::access(const ordered_json& launch, const ordered_json& warp, const ordered_json& step) {
    std::map<int, std::vector<Lane>> tensors;
    for (const Lane& lane : lanes_of(step)) tensors[lane.tensor].push_back(lane);
    std::vector<std::string> names;
    for (const auto& [tensor, lanes] : tensors) names.push_back(memory_of(explained_, step, tensor).name);
    head(sentence(warp, step, fmt::format("{}", fmt::join(names, " and "))), &launch["sites"][step["site"].get<std::size_t>()]);
    for (const auto& [tensor, lanes] : tensors) {
        const Memory memory = memory_of(explained_, step, tensor);
        array(step, lanes, memory, tensors.size() > 1 ? memory.name.substr(0, memory.name.find(' ')) + ", " : "");
    }
    (is_shared(step) ? has_banks_ : has_sectors_) = true;
    y_ += 6;
}

// Draws the memory that these lanes of the step access. `label` precedes the labels of its rows.
void StepPicture::array(const ordered_json& step, const std::vector<Lane>& lanes, const Memory& memory,
                        const std::string& label) {
    constexpr std::size_t kMostLines = 32;
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<int>> runs;  // by first and last cell in a line, with their lanes
    std::set<std::int64_t> sectors, lines;
    for (const Lane& lane : lanes) {
        const std::int64_t last_byte = lane.offset + step["bytes"].get<std::int64_t>() - 1;
        for (std::int64_t first = lane.offset / memory.cell_bytes, last = last_byte / memory.cell_bytes; first <= last;) {
            const std::int64_t line = first / memory.cols, end = std::min(last, (line + 1) * memory.cols - 1);
            runs[{first, end}].push_back(lane.number);
            lines.insert(line);
            first = end + 1;
        }
        for (std::int64_t sector = lane.offset / kSector; sector <= last_byte / kSector; ++sector) sectors.insert(sector);
    }
    if (memory.cells > 0 && memory.lines() <= 8)
        for (std::int64_t line = 0; line < memory.lines(); ++line) lines.insert(line);

    const double width = std::min(24.0, std::floor(kRoom / static_cast<double>(memory.cols)));
    const double height = lines.size() <= 8 ? 15 : 11;
    const auto x_of = [&](std::int64_t cell) { return kLeft + width * static_cast<double>(cell % memory.cols); };
    const auto wide = [&](std::int64_t cells) { return width * static_cast<double>(cells); };
    Bars still, moved, asked;
    std::map<std::int64_t, double> middles;  // by line
    for (const std::int64_t line : lines) {
        if (middles.size() == kMostLines) break;
        if (!middles.empty() && !middles.contains(line - 1)) y_ += 5;  // a gap for the lines left out
        const double middle = middles[line] = y_ + (height - 1) / 2;
        drawing_.text(kLeft - 6, middle + 3, label + memory.label(line),
                      {.size = 9, .anchor = picture::Anchor::end, .opacity = 0.8});
        const std::int64_t begin = line * memory.cols;
        const std::int64_t end = memory.cells == 0 ? begin + memory.cols : std::min(begin + memory.cols, memory.cells);
        for (std::int64_t cell = begin; cell < end;) {
            const std::int64_t sector = cell * memory.cell_bytes / kSector;
            const std::int64_t next = std::min(end, (sector + 1) * kSector / memory.cell_bytes);
            Bars& bars = !is_shared(step) && sectors.contains(sector) ? moved : still;
            bars.add(x_of(cell), middle, wide(next - cell) - 2);
            cell = next;
        }
        y_ += height;
    }
    struct Label {
        double x, room, y;
        std::string text;
    };
    std::vector<Label> labels;
    double size = std::min(9.5, height - 3);  // largest font in which each lane's number fits
    for (const auto& [cells, on] : runs) {
        const auto middle = middles.find(cells.first / memory.cols);
        if (middle == middles.end()) continue;
        const bool ends_sector = (cells.second + 1) * memory.cell_bytes % kSector == 0;
        const double x = x_of(cells.first), room = wide(cells.second - cells.first + 1) - (ends_sector ? 2 : 1);
        asked.add(x, middle->second, room);
        labels.push_back({x, room, middle->second + 3.5, lanes_text(on)});
        if (const double fits = room / picture::text_width(lanes_text(on), 1); on.size() == 1 && fits < size) size = fits;
    }
    still.draw(drawing_, kSoft, height - 1);
    moved.draw(drawing_, fmt::format("{}66", color_of(step)), height - 1);
    asked.draw(drawing_, color_of(step), height - 1);
    for (const auto& [x, room, y, text] : labels) {
        if (size < 6 || picture::text_width(text, size) > room + 0.01) continue;
        drawing_.text(x + room / 2, y, text, {.size = size, .anchor = picture::Anchor::middle, .fill = "#fff"});
        has_lanes_ = true;
    }
    if (lines.size() > middles.size())
        drawing_.text(kLeft, y_ += 11, fmt::format("and {} more rows", lines.size() - middles.size()),
                      {.size = 10, .opacity = 0.8});
    y_ += 4;
}

// The column of each step: a barrier is aligned with the other warps' arrivals at it.
std::vector<std::vector<std::size_t>> columns_of(const std::vector<const ordered_json*>& rows) {
    std::vector<std::vector<std::size_t>> columns(rows.size());
    std::vector<std::size_t> done(rows.size(), 0);
    for (std::size_t begin = 0, end = 0;; begin = end) {
        bool is_last = true;
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const ordered_json& steps = (*rows[r])["steps"];
            for (std::size_t column = begin; done[r] < steps.size() && steps[done[r]]["action"] != "barrier"; ++done[r])
                columns[r].push_back(column++), end = std::max(end, column);
            is_last &= done[r] == steps.size();
        }
        if (is_last) return columns;
        for (std::size_t r = 0; r < rows.size(); ++r)
            if (done[r] < (*rows[r])["steps"].size()) columns[r].push_back(end), ++done[r];
        ++end;
    }
}

// How a step is drawn in its warp's row.
struct Mark {
    std::string_view color;
    double height;
    auto operator<=>(const Mark&) const = default;
};
constexpr double kBarrier = 14;
Mark mark_of(const ordered_json& step) {
    if (step["action"] == "barrier") return {picture::ink, kBarrier};
    return {color_of(step), is_access(step) && is_shared(step) ? 5.0 : 10.0};
}

void StepPicture::warps(const ordered_json& launch) {
    std::vector<const ordered_json*> rows;
    for (const ordered_json& warp : launch["warps"])
        if (warp["block"] == launch["warps"][0]["block"]) rows.push_back(&warp);
    head(fmt::format("the warps of block {} of {}, a mark a step", (*rows[0])["block"].get<int>(),
                     launch["kernel"].get<std::string>()),
         nullptr);
    const auto columns = columns_of(rows);
    std::size_t most = 1;
    for (const auto& row : columns) most = row.empty() ? most : std::max(most, row.back() + 1);
    const double width = std::clamp(std::floor(kRoom / static_cast<double>(most)), 2.0, 16.0);
    std::map<Mark, Bars> bars;
    for (std::size_t r = 0; r < rows.size(); ++r, y_ += kBarrier) {
        drawing_.text(kLeft - 6, y_ + 10, fmt::format("warp {}", (*rows[r])["warp"].get<int>()),
                      {.size = 9, .anchor = picture::Anchor::end, .opacity = 0.8});
        for (std::size_t i = 0; i < columns[r].size(); ++i) {
            const Mark mark = mark_of((*rows[r])["steps"][i]);
            bars[mark].add(kLeft + width * static_cast<double>(columns[r][i]), y_ + (mark.height > 10 ? 7 : 12 - mark.height / 2),
                           std::max(1.0, width - 1));
        }
    }
    for (const auto& [mark, one] : bars) one.draw(drawing_, mark.color, mark.height);
    has_warps_ = true;
    y_ += 10;
}

std::string StepPicture::svg() {
    const auto say = [&](bool it, std::string_view text) {
        if (it) drawing_.text(8, y_ += 14, text, {.size = 10.5, .opacity = 0.8});
    };
    y_ -= 6;
    say(has_sectors_, "Filled: bytes that lanes ask for. Pale: the rest of the sectors of 32 bytes that move with them.");
    say(has_banks_, "Shared memory: a column is a bank of 4 bytes, a row 128 bytes.");
    say(has_lanes_, "A number is a lane.");
    if (has_warps_) {
        double x = 8;
        for (const auto& [mark, text] : {std::pair{Mark{kRead, 10}, "global read"},
                                         {Mark{kWrite, 10}, "global write"},
                                         {Mark{kRead, 5}, "shared read"},
                                         {Mark{kWrite, 5}, "shared write"},
                                         {Mark{kMeeting, 10}, "collective, or wait for copies"},
                                         {Mark{picture::ink, kBarrier}, "barrier"}}) {
            drawing_.rect(x, y_ + 15 - mark.height, 7, mark.height, mark.color);
            drawing_.text(x += 11, y_ + 14, text, {.size = 10.5, .opacity = 0.8});
            x += picture::text_width(text, 10.5) + 14;
        }
        y_ += 14;
    }
    std::string text = drawing_.svg(kWidth, y_ + 8, explained_["command"].get<std::string>());
    return picture::standalone(text);
}

// The name of a step in --picture: "read x".
std::string name_of(const ordered_json& explained, const ordered_json& step) {
    const int tensor = lanes_of(step).front().tensor;
    return fmt::format("{} {}", step["action"].get<std::string>(),
                       is_shared(step) ? "shared"
                       : tensor < 0    ? "workspace"
                                       : explained["tensors"][static_cast<std::size_t>(tensor)]["name"].get<std::string>());
}

void add(StepPicture& picture, const ordered_json& explained, std::string_view wanted) {
    std::string name(wanted);
    std::size_t number = 1;
    if (const std::size_t space = name.rfind(' '); space != std::string::npos) {
        const char* const end = name.data() + name.size();
        if (std::from_chars(name.data() + space + 1, end, number).ptr == end) name.resize(space);
    }
    std::set<std::string> names = {"warps"};
    for (const ordered_json& launch : explained["launches"]) {
        if (name == "warps" && !launch["warps"].empty() && --number == 0) return picture.warps(launch);
        for (const ordered_json& warp : launch["warps"])
            for (const ordered_json& step : warp["steps"]) {
                if (!is_access(step)) continue;
                const std::string its = name_of(explained, step);
                names.insert(its);
                if (its == name && --number == 0) return picture.access(launch, warp, step);
            }
    }
    throw UsageError(fmt::format("--picture: the kernel has no step '{}'; it has {}, and a number behind one takes a later one",
                                 wanted, fmt::join(names, ", ")));
}

}  // namespace

std::string step_picture(const ordered_json& explained, std::string_view steps) {
    StepPicture picture(explained);
    for (std::size_t at = 0; at <= steps.size();) {
        const std::size_t end = std::min(steps.find(',', at), steps.size());
        std::string_view one = steps.substr(at, end - at);
        one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
        add(picture, explained, one);
        at = end + 1;
    }
    return picture.svg();
}

}  // namespace heddle::explain
