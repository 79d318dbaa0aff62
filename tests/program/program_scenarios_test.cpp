// The scenarios of tests/program/scenarios/*.txt: files and options, and what the program makes of them.
//
//     == TITLE                begins a scenario, in an empty folder
//     let NAME = TEXT         {NAME} stands for TEXT below; before the first title: in every scenario of the file
//     file NAME = TEXT        writes a file, with \n, \t, \0, \\ and \xFF; "file NAME * 20 = TEXT" repeats the text
//     sh COMMAND              a command of sh, which must succeed; {heddle} is the program
//     2 ARGUMENTS => PART     heddle ARGUMENTS ends with status 2, and one line on stderr, "heddle: ...", that holds PART.
//     2 ARGUMENTS =>> PART    The same, but other lines may stand before it. With status 0 stderr holds PART.
//     as ARGUMENTS            heddle ARGUMENTS ends and prints as the last command did (to stderr, too, if that was an error)
//     unlike ARGUMENTS        prints something else
//     has WHERE: PART         out, err (of the last command) or a file holds PART; lacks: it does not; is: it is exactly that
//     count WHERE 3: PART     holds PART so often
//     same ONE OTHER          two of out, err and files are equal; differ: they are not
//     weights ONE OTHER       two runs have the same weights and moments in all their saves
//     there NAMES, gone NAMES, lines WHERE 3
//
// {a|b} in ARGUMENTS runs the line once for each alternative, and the lines below it that are indented by two spaces each time;
// {} in PART is the alternative's first word. A line that is indented by four spaces goes on with the one before it. Lines that
// begin with # are comments.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/toy_runs.h"

namespace heddle {
namespace {

using testing::HasSubstr;
using testing::Not;

struct ScenarioLine {
    int number = 0;
    std::string text;
    std::vector<ScenarioLine> below = {};
};

struct Scenario {
    std::string file, title;
    std::vector<ScenarioLine> lines;
};

void PrintTo(const Scenario& scenario, std::ostream* stream) { *stream << scenario.file << ": " << scenario.title; }

std::vector<Scenario> all_scenarios() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(HEDDLE_SOURCE_DIR "/tests/program/scenarios"))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::vector<Scenario> scenarios;
    for (const std::filesystem::path& file : files) {
        std::vector<ScenarioLine> shared;
        const std::size_t first = scenarios.size();
        std::ifstream stream(file);
        int number = 0;
        for (std::string text; std::getline(stream, text);) {
            ++number;
            const std::size_t begin = text.find_first_not_of(' ');
            if (begin == std::string::npos || text[begin] == '#') continue;
            if (text.starts_with("== ")) {
                scenarios.push_back({file.stem().string(), text.substr(3), shared});
                continue;
            }
            std::vector<ScenarioLine>& lines = scenarios.size() == first ? shared : scenarios.back().lines;
            ScenarioLine* const above = lines.empty() ? nullptr : &lines.back();
            if (begin >= 4)
                (above->below.empty() ? *above : above->below.back()).text += text.substr(begin - 1);
            else
                (begin == 2 ? above->below : lines).push_back({number, text.substr(begin)});
        }
    }
    return scenarios;
}

std::string unescaped(const std::string& text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            result += text[i];
            continue;
        }
        const char kind = text[++i];
        if (kind == 'x') {
            result += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
            i += 2;
        } else {
            result += kind == 'n' ? '\n' : kind == 't' ? '\t' : kind == 'r' ? '\r' : kind == '0' ? '\0' : kind;
        }
    }
    return result;
}

/// Cuts "ONE" and "OTHER" off "ONE OTHER", at the first `between`.
std::pair<std::string, std::string> parted(const std::string& text, const std::string& between) {
    const std::size_t at = text.find(between);
    return {text.substr(0, at), at == std::string::npos ? "" : text.substr(at + between.size())};
}

class Player {
  public:
    void play(const std::vector<ScenarioLine>& lines, const std::string& file, const std::string& word = "") {
        for (const ScenarioLine& line : lines) {
            SCOPED_TRACE(fmt::format("{}.txt:{}: {}", file, line.number, line.text));
            const auto [kind, rest] = parted(line.text, " ");
            if (kind.size() > 1) {
                play(kind, word.empty() ? rest : with(rest, "{}", word));
                play(line.below, file, word);
                continue;
            }
            const std::string between = rest.find(" =>> ") == std::string::npos ? " => " : " =>> ";
            const auto [arguments, part] = parted(rest, between);
            for (const auto& [one, chosen] : alternatives(with_names(with(arguments, "{}", word)))) {
                const std::string known = chosen.empty() ? word : chosen;
                expect_end(one, std::stoi(kind), unescaped(with_names(with(part, "{}", known))), between == " =>> ");
                play(line.below, file, known);
            }
        }
    }

  private:
    void play(const std::string& kind, const std::string& rest) {
        if (kind == "let") {
            const auto [name, value] = parted(rest, " = ");
            names_[name] = with_names(value);
        } else if (kind == "file") {
            const auto [name, value] = parted(rest, " = ");
            const auto [path, times] = parted(name, " * ");
            std::string all;
            for (int i = times.empty() ? 1 : std::stoi(times); i > 0; --i) all += unescaped(value);
            here_.write(path, all);
        } else if (kind == "sh") {
            const std::string command = "cd '" + here_.path("") + "' && exec 2>sh.err && { " + with_names(rest) + "\n}";
            EXPECT_EQ(std::system(command.c_str()), 0) << here_.read("sh.err");
        } else if (kind == "as" || kind == "unlike") {
            const ProgramResult before = last_;
            last_ = run(with_names(rest));
            EXPECT_EQ(last_.status, before.status) << last_.err;
            EXPECT_EQ(last_.out == before.out, kind == "as") << before.out << "and\n" << last_.out;
            EXPECT_TRUE(last_.status == 0 || last_.err == before.err) << before.err << "and\n" << last_.err;
        } else {
            check(kind, rest);
        }
    }

    ProgramResult run(const std::string& arguments) const {
        const std::string command =
            "cd '" + here_.path("") + "' && exec '" HEDDLE_PROGRAM "' </dev/null >.out 2>.err " + arguments;
        here_.write(".out", "");
        here_.write(".err", "");
        const int status = std::system(command.c_str());
        return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1, .out = here_.read(".out"), .err = here_.read(".err")};
    }

    void expect_end(const std::string& arguments, int status, const std::string& part, bool more_lines) {
        SCOPED_TRACE("heddle " + arguments);
        last_ = run(arguments);
        EXPECT_EQ(last_.status, status) << last_.err;
        EXPECT_THAT(last_.err, HasSubstr(part));
        if (status == 0) return;
        const std::vector<std::string> lines = lines_of(last_.err);
        ASSERT_FALSE(lines.empty());
        EXPECT_THAT(lines.back() + "\n", testing::AllOf(testing::StartsWith("heddle: "), HasSubstr(part)));
        if (more_lines) return;
        EXPECT_EQ(lines.size(), 1u) << last_.err;
        EXPECT_EQ(last_.out, "");
    }

    void check(const std::string& kind, const std::string& rest) const {
        const auto [where, escaped] = parted(rest, ": ");
        const std::string part = unescaped(with_names(escaped));
        if (kind == "has") {
            EXPECT_THAT(content(where), HasSubstr(part)) << last_.err;
        } else if (kind == "lacks") {
            EXPECT_THAT(content(where), Not(HasSubstr(part)));
        } else if (kind == "is") {
            EXPECT_EQ(content(where), part);
        } else if (kind == "count") {
            const auto [name, wanted] = parted(where, " ");
            const std::string text = content(name);
            int found = 0;
            for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
            EXPECT_EQ(found, std::stoi(wanted)) << text;
        } else if (kind == "lines") {
            const auto [name, wanted] = parted(rest, " ");
            EXPECT_EQ(lines_of(content(name)).size(), std::stoul(wanted)) << content(name) << last_.err;
        } else if (kind == "same" || kind == "differ") {
            const auto [one, other] = parted(rest, " ");
            EXPECT_EQ(content(one) == content(other), kind == "same");
        } else if (kind == "weights") {
            const auto [one, other] = parted(rest, " ");
            EXPECT_EQ(digests_of_weights(here_, one), digests_of_weights(here_, other));
        } else if (kind == "there" || kind == "gone") {
            std::istringstream names(rest);
            for (std::string name; names >> name;) EXPECT_EQ(here_.exists(name), kind == "there") << name;
        } else {
            FAIL() << "no scenario has a line like this";
        }
    }

    std::string content(const std::string& where) const {
        if (where == "out") return last_.out;
        if (where == "err") return last_.err;
        EXPECT_TRUE(here_.exists(where)) << where;
        return here_.read(where);
    }

    std::string with_names(std::string text) const {
        for (const auto& [name, value] : names_) text = with(std::move(text), "{" + name + "}", value);
        return text;
    }
    static std::string with(std::string text, const std::string& what, const std::string& by) {
        for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
            text.replace(at, what.size(), by);
        return text;
    }
    // Each form of the arguments, with the first word of the alternative that was taken for it.
    static std::vector<std::pair<std::string, std::string>> alternatives(const std::string& arguments) {
        const std::size_t begin = arguments.find('{'), end = arguments.find('}');
        if (begin == std::string::npos || end == std::string::npos) return {{arguments, ""}};
        std::vector<std::pair<std::string, std::string>> all;
        std::istringstream choices(arguments.substr(begin + 1, end - begin - 1));
        for (std::string one; std::getline(choices >> std::ws, one, '|');)
            for (auto& [rest, word] : alternatives(arguments.substr(end + 1)))
                all.emplace_back(arguments.substr(0, begin) + one + rest, parted(word.empty() ? one : word, " ").first);
        return all;
    }

    const Workplace here_;
    std::map<std::string, std::string> names_ = {{"heddle", HEDDLE_PROGRAM}};
    ProgramResult last_;
};

class Scenarios : public testing::TestWithParam<Scenario> {};

TEST_P(Scenarios, Hold) { Player().play(GetParam().lines, GetParam().file); }

INSTANTIATE_TEST_SUITE_P(Program, Scenarios, testing::ValuesIn(all_scenarios()), [](const auto& info) {
    std::string name = info.param.file + "_";
    for (const char c : info.param.title) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return name;
});

}  // namespace
}  // namespace heddle
