// Ten thousand tiles of each instruction and chip, 1.28 million results, against mmasim (MMA-Sim, arXiv 2511.10909).
#include <fstream>

#include "tests/documents.h"
#include "tests/emulator/tensor_core_tiles.h"
#include "tests/shell.h"
#include "tests/support.h"

namespace heddle::emulator {
namespace {

constexpr int kTiles = 10000, kGolden = 200;

void append(const std::vector<float>& values, std::ofstream& file) {
    file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
}

// The results of mmasim, or nothing if it fails.
std::vector<std::uint32_t> results_of_mmasim(const Instruction& instruction, const char* architecture, const Tiles& tiles) {
    const TemporaryFolder folder;
    const std::string in = (folder / "in").string(), out = (folder / "out").string();
    {
        std::ofstream file(in, std::ios::binary);
        for (const std::vector<float>* each : {&tiles.a, &tiles.b, &tiles.c}) append(*each, file);
    }
    const ShellOutput run = shell(quoted(python()) + " " + quoted(HEDDLE_SOURCE_DIR "/tests/emulator/tensor_core_oracle.py") +
                                  " " + quoted(architecture) + " " + instruction.ptx + " " + std::to_string(instruction.k) + " " +
                                  quoted(in) + " " + quoted(out) + " 2>&1");
    EXPECT_EQ(run.status, 0) << run.text;
    std::vector<std::uint32_t> results(tiles.c.size());
    std::ifstream file(out, std::ios::binary);
    file.read(reinterpret_cast<char*>(results.data()), static_cast<std::streamsize>(results.size() * sizeof(std::uint32_t)));
    if (file.gcount() != static_cast<std::streamsize>(results.size() * sizeof(std::uint32_t))) results.clear();
    return results;
}

TEST(TensorCoreOracle, TenThousandTilesHaveTheBitsOfMmasim) {
    HEDDLE_NEEDS_PYTHON_WITH("mmasim torch numpy");
    std::ostringstream golden;
    golden << std::hex;
    for (const Instruction& instruction : {kBf16, kTf32}) {
        Tiles tiles = make_tiles(instruction, kTiles);
        for (const TensorCores& cores : {kAmpere, kHopper}) {
            const std::string name = std::string(instruction.name) + " " + std::string(cores.name);
            const std::vector<std::uint32_t> wanted =
                results_of_mmasim(instruction, cores.name == kAmpere.name ? "Ampere" : "Hopper", tiles);
            ASSERT_EQ(wanted.size(), tiles.c.size()) << name;
            multiply(instruction, cores, tiles);
            int different = 0;
            for (std::size_t i = 0; i < wanted.size(); ++i)
                if (tiles.d[i] != wanted[i] && ++different <= 10)
                    ADD_FAILURE() << name << ", tile " << i / 128 << ", element " << i % 128 << std::hex << ": 0x" << tiles.d[i]
                                  << ", mmasim has 0x" << wanted[i];
            EXPECT_EQ(different, 0) << name;
            golden << name << " " << hash_of_tiles({wanted.data(), kGolden * 128}) << "\n";
        }
    }
    if (golden.str() == project_file("tests/golden/tensor_cores.txt")) return;
    const std::string renewed = testing::TempDir() + "tensor_cores.txt";
    std::ofstream(renewed) << golden.str();
    ADD_FAILURE() << "tests/golden/tensor_cores.txt differs from mmasim's results, which are in " << renewed;
}

}  // namespace
}  // namespace heddle::emulator
