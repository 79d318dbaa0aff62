// The order of the source tree's folders: a folder may only include those before it. And the width of its pages.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

// A file may include files of its own folder and of those before it.
constexpr std::array rooms = {
    "core",
    "kernels/emulator",
    "kernels/emulator/run",
    "kernels/emulator/trace",
    "kernels/emulator/checker",
    "kernels/emulator/runtime",
    "kernels/emulator/cublaslt",
    "kernels/emulator/cublas",
    "kernels/emulator/thrust",
    "kernels/emulator/cub",
    "kernels/emulator/frontend",
    "kernels",
    "autograd",
    "nn",
    "optim",
    "heddle",
    "apps/translation/text",
    "apps/terminal",
    "apps/picture",
    "apps/translation/vocabulary",
    "apps/translation/batching",
    "apps/translation/metrics",
    "apps/translation/decoding",
    "apps/translation/run",
    "apps/translation/prepared",
    "apps/translation/distributed",
    "apps/translation/training",
    "apps/translation/report",
    "apps/exchange",
    "apps/serve",
    "apps/options",
    "apps/tasks",
    "apps/corpora",
    "apps/presets",
    "apps/command",
    "apps/bench",
    "apps/explain",
    "apps/lab",
    "apps/learn",
    "apps/python",
};

// The longest folder in the list that contains the path; rooms.size() if there is none.
std::size_t room_of(std::string_view path) {
    std::size_t found = rooms.size();
    for (std::size_t i = 0; i < rooms.size(); ++i) {
        const std::string_view room = rooms[i];
        if (path.starts_with(room) && path.substr(room.size()).starts_with('/') &&
            (found == rooms.size() || room.size() > std::string_view(rooms[found]).size()))
            found = i;
    }
    return found;
}

// The error in including `included` in `file`, both relative to the source tree; empty if there is none.
std::string fault(std::string_view file, std::string_view included) {
    const std::size_t from = room_of(file), to = room_of(included);
    const std::string arrow = fmt::format("{} includes {}", file, included);
    if (to == rooms.size()) {  // a header in the file's folder, or a library's
        for (const std::string_view top :
             {"core/", "kernels/", "autograd/", "nn/", "optim/", "heddle/", "apps/", "tests/", "../"})
            if (included.starts_with(top)) return arrow + ", which lies in no room";
        return "";
    }
    if (to > from) return arrow + ", which lies in a later room";
    const std::string_view here = rooms[from], there = rooms[to], emulator = "kernels/emulator";
    if (here == "optim" && there == "nn") return arrow + ": nn and optim do not know each other";
    if (here.starts_with(emulator) && !there.starts_with(emulator)) return arrow + ": the emulator stands alone";
    const std::string_view folder = file.substr(0, file.rfind('/'));
    if (folder == emulator && included.starts_with("kernels/emulator/cuda/"))
        return arrow + ": cuda/ is for CUDA C++ of others, and builds on this";
    if (here == "kernels/emulator/checker" && there == "kernels/emulator/trace")
        return arrow + ": trace and checker do not know each other";
    if (included == "kernels/simd.h" && !file.starts_with("kernels/"))
        return arrow + ": code for one instruction set stays inside kernels";
    if (const std::size_t detail = included.find("/detail/");
        detail != std::string_view::npos && !file.starts_with(included.substr(0, detail + 1)))
        return arrow + ", which only its own folder may include";
    return "";
}

std::vector<std::string> includes(const fs::path& path) {
    constexpr std::string_view start = "#include \"";
    std::ifstream stream(path);
    std::vector<std::string> names;
    for (std::string line; std::getline(stream, line);)
        if (line.starts_with(start)) names.push_back(line.substr(start.size(), line.find('"', start.size()) - start.size()));
    return names;
}

TEST(Rooms, IncludeOnlyRoomsBeforeThem) {
    const fs::path root = HEDDLE_SOURCE_DIR;
    int files = 0;
    for (const char* top : {"core", "kernels", "autograd", "nn", "optim", "heddle", "apps"})
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / top)) {
            const std::string extension = entry.path().extension().string();
            if (extension != ".h" && extension != ".cpp" && extension != ".cu") continue;
            const std::string file = entry.path().lexically_relative(root).generic_string();
            ++files;
            EXPECT_LT(room_of(file), rooms.size()) << file << " lies in no room";
            for (const std::string& included : includes(entry.path())) EXPECT_EQ(fault(file, included), "");
        }
    EXPECT_GT(files, 500);
}

// Commands write notes with apps/terminal, which never throws; fmt::print(stderr, ...) does, and would lose the result of hours
// of work. The grader is a separate program, whose stderr its parent reads.
TEST(Rooms, OnlyTheTerminalWritesToStderr) {
    const fs::path root = HEDDLE_SOURCE_DIR;
    int files = 0;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / "apps")) {
        const std::string file = entry.path().lexically_relative(root).generic_string();
        if (entry.path().extension() != ".cpp" || file.starts_with("apps/terminal/") || file.starts_with("apps/learn/grader/"))
            continue;
        ++files;
        std::ifstream stream(entry.path());
        for (std::string line; std::getline(stream, line);) {
            const std::string code = line.substr(0, line.find("//"));
            for (const char* use : {"(stderr", ", stderr)", "std::cerr", "std::clog"})
                EXPECT_EQ(code.find(use), std::string::npos) << file << ": " << line;
        }
    }
    EXPECT_GT(files, 150);
}

// Code, tables, pictures, HTML and lines that begin with code or a link, which may not fit, are as long as they are.
TEST(Pages, WrapTheirParagraphsAt130Columns) {
    const fs::path root = HEDDLE_SOURCE_DIR;
    std::vector<fs::path> pages{root / "README.md", root / "CHANGELOG.md", root / "CONTRIBUTING.md"};
    for (const char* top : {"core", "kernels", "autograd", "nn", "optim", "heddle", "apps", "docs", "tests"})
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / top))
            if (entry.path().extension() == ".md") pages.push_back(entry.path());
    EXPECT_GT(pages.size(), 100u);
    for (const fs::path& page : pages) {
        std::ifstream stream(page);
        bool code = false;
        for (std::string line; std::getline(stream, line);) {
            const std::string_view text = std::string_view(line).substr(std::min(line.find_first_not_of(' '), line.size()));
            if (text.starts_with("```")) code = !code;
            if (code || line.starts_with("    ") || text.find_first_of("|<!`[") == 0) continue;
            const auto columns = std::ranges::count_if(line, [](char byte) { return (byte & 0xc0) != 0x80; });
            EXPECT_LE(columns, 130) << page.lexically_relative(root) << ": " << line;
        }
    }
}

TEST(Rooms, AWrongArrowIsFound) {
    EXPECT_EQ(fault("apps/command/train.cpp", "apps/translation/training/trainer.h"), "");
    EXPECT_EQ(fault("kernels/softmax/softmax.cpp", "kernels/softmax/detail/rows.h"), "");
    EXPECT_NE(fault("core/tensor.cpp", "kernels/softmax/softmax.h"), "");
    EXPECT_NE(fault("apps/translation/text/corpus.cpp", "apps/translation/run/folder.h"), "");
    EXPECT_NE(fault("optim/optimizer.cpp", "nn/module.h"), "");
    EXPECT_EQ(fault("heddle/optimizers.cpp", "nn/module.h"), "");
    EXPECT_NE(fault("nn/module.cpp", "heddle/heddle.h"), "");
    EXPECT_NE(fault("kernels/emulator/run/run.cpp", "core/tensor.h"), "");
    EXPECT_EQ(fault("kernels/emulator/cublaslt/product.cpp", "kernels/emulator/runtime/streams.h"), "");
    EXPECT_NE(fault("kernels/emulator/run/scheduler.cpp", "kernels/emulator/checker/state.h"), "");
    EXPECT_NE(fault("kernels/emulator/checker/report.cpp", "kernels/emulator/trace/trace.h"), "");
    EXPECT_NE(fault("kernels/emulator/launch.h", "kernels/emulator/run/run.h"), "");
    EXPECT_NE(fault("kernels/emulator/interface.h", "kernels/emulator/cuda/shared.h"), "");
    EXPECT_EQ(fault("kernels/emulator/cuda/shared.h", "kernels/emulator/place.h"), "");
    EXPECT_NE(fault("core/tensor.cpp", "tests/numbers.h"), "");
    EXPECT_NE(fault("kernels/linear/linear.cpp", "kernels/softmax/detail/rows.h"), "");
    EXPECT_EQ(fault("kernels/linear/linear_fast.cpp", "kernels/simd.h"), "");
    EXPECT_NE(fault("autograd/ops/linear.cpp", "kernels/simd.h"), "");
}

}  // namespace
