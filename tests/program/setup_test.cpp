// apps/setup.sh with stubs for the package managers: the commands that it would run.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/shell.h"
#include "tests/support.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A system with only these programs. Each appends its call to a list; `query` reports only `installed` as present.
class System {
  public:
    System(std::initializer_list<const char*> programs, int user, const std::string& query, const std::string& installed = "") {
        std::filesystem::create_symlink("/usr/bin/env", folder_ / "env");
        add("id", "echo " + std::to_string(user));
        for (const std::string name : programs) add(name, "echo " + name + " \"$@\" >>" + quoted(list()));
        // A query's last word is the package's name.
        if (!query.empty())
            add(query, "for last; do :; done; case '" + installed + "' in all|\"$last\") printf installed;; *) exit 1;; esac");
    }
    void add(const std::string& name, const std::string& body) const {
        const std::filesystem::path file = folder_ / name.c_str();
        std::ofstream(file) << "#!/bin/sh\n" << body << "\n";
        std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    }
    /// The output of setup.sh, then the calls it made.
    ShellOutput setup(const std::string& packages = "") const {
        return shell("bash=$(command -v bash); PATH=" + quoted(folder_.path().string()) + " \"$bash\" " +
                     quoted(HEDDLE_SOURCE_DIR "/apps/setup.sh") + " " + packages + " 2>&1; status=$?; cat " + quoted(list()) +
                     " 2>/dev/null; exit $status");
    }

  private:
    std::string list() const { return folder_ / "calls"; }
    TemporaryFolder folder_;
};

/// Stubs for pacman and brew, which answer queries themselves: nothing is installed, and other calls are listed.
void answer_queries(const System& system, const std::string& name, const std::string& query) {
    system.add(name, "[ \"$1\" = " + query + " ] && exit 1; echo " + name + " \"$@\"");
}

TEST(Setup, InstallsWithApt) {
    EXPECT_EQ(
        System({"apt-get"}, 0, "dpkg-query").setup("libgtest-dev").text,
        "setup: installing cmake ninja-build g++ libfmt-dev libcli11-dev nlohmann-json3-dev libsentencepiece-dev libxxhash-dev "
        "zlib1g-dev libmicrohttpd-dev libgtest-dev\n"
        "apt-get update -qq\n"
        "apt-get install -y -qq --no-install-recommends cmake ninja-build g++ libfmt-dev libcli11-dev nlohmann-json3-dev "
        "libsentencepiece-dev libxxhash-dev zlib1g-dev libmicrohttpd-dev libgtest-dev\n");
}

TEST(Setup, InstallsWithDnf) {
    EXPECT_THAT(
        System({"dnf"}, 0, "rpm", "gcc-c++").setup("libgtest-dev").text,
        HasSubstr("\ndnf install -y -q cmake ninja-build fmt-devel cli11-devel json-devel sentencepiece-devel xxhash-devel "
                  "zlib-devel libmicrohttpd-devel gtest-devel\n"));
}

TEST(Setup, InstallsWithPacman) {
    const System system({}, 0, "");
    answer_queries(system, "pacman", "-T");
    EXPECT_THAT(system.setup().text,
                HasSubstr("\npacman -S --noconfirm --needed cmake ninja gcc fmt cli11 nlohmann-json sentencepiece "
                          "xxhash zlib libmicrohttpd\n"));
}

TEST(Setup, InstallsWithBrewAndNeverAsRoot) {
    const System system({"sudo"}, 1000, "");
    answer_queries(system, "brew", "list");
    EXPECT_THAT(
        system.setup("libgtest-dev").text,
        HasSubstr("\nbrew install -q cmake ninja fmt cli11 nlohmann-json sentencepiece xxhash libmicrohttpd googletest\n"));
}

TEST(Setup, AsksForRightsOnlyWhereItNeedsThem) {
    EXPECT_THAT(System({"dnf", "sudo"}, 1000, "rpm", "cmake").setup().text,
                HasSubstr("\nsudo dnf install -y -q ninja-build gcc-c++ "));
    const ShellOutput without = System({"dnf"}, 1000, "rpm").setup();
    EXPECT_EQ(without.status, 1);
    EXPECT_THAT(without.text, HasSubstr("only root can install them: dnf install -y -q cmake ninja-build "));
    const ShellOutput complete = System({"apt-get", "sudo"}, 1000, "dpkg-query", "all").setup();
    EXPECT_EQ(complete.status, 0);
    EXPECT_EQ(complete.text, "");
}

TEST(Setup, NamesThePackagesOfAnUnknownSystem) {
    const ShellOutput said = System({}, 0, "").setup();
    EXPECT_EQ(said.status, 0);
    EXPECT_THAT(said.text, AllOf(HasSubstr("none of apt-get, dnf, pacman and brew"), HasSubstr("libsentencepiece-dev")));
}

}  // namespace
}  // namespace heddle
