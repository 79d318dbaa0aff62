// The settings of `heddle check`. The command line of Heddle and that of the program heddle-check fill the same structure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle::emulator::frontend {

/// A wrong command line or a file that does not compile: the exit status is 2.
struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Where the emulator's headers and its checked library lie.
struct Toolkit {
    std::filesystem::path headers;  ///< the folder that contains kernels/emulator
    std::filesystem::path library;  ///< libheddle_emulator_checked.a
};

struct Settings {
    std::vector<std::string> sources;
    std::vector<std::string> compile_options = {};    ///< -I, -D, -U, -include, -std and -O, as the compiler takes them
    std::vector<std::string> link_options = {};       ///< -l and -L
    std::vector<std::string> program_arguments = {};  ///< what follows --

    std::int64_t orders = 3;     ///< schedules to try
    std::uint64_t seed = 1;      ///< of the first schedule; each further one has the next number
    double seconds = 15;         ///< the most that one schedule may take
    double total_seconds = 50;   ///< the most that all of them may take
    std::string memory = {};     ///< of the emulated device, such as 2G; empty: the emulator's own default
    std::string chip = "sm_90";  ///< sm_80, sm_86, sm_89, sm_90, sm_100 or sm_120
    std::uint64_t repeats = 0;   ///< of launches that repeat each other only the first ones run; 0: all
    bool leaks = false;          ///< memory that is still allocated at exit is a violation
    bool same_value = false;     ///< two threads may write the value that already stands there
    bool cost = false;           ///< print what each kernel asked of memory

    std::string json = {};   ///< a file for the results; "-" is stdout
    std::string sarif = {};  ///< the same in SARIF 2.1.0

    std::string trace = {};      ///< a file for what the kernels did (trace/trace_file.h); empty: none
    std::uint64_t launches = 8;  ///< that it has
    bool shows_output = true;    ///< of the first schedule; else the program prints nothing

    // For files without main():
    std::string call = {};                    ///< a host function to call with the arguments in their order
    std::string kernel = {};                  ///< "saxpy" or "saxpy<float>"
    std::string grid = "1", block = "32";     ///< "2" or "2x3x4"
    std::uint64_t shared = 0;                 ///< bytes of dynamic shared memory
    std::vector<std::string> arguments = {};  ///< "x=f32[1024]:random", "n=1024"
    bool gpuverify = false;                   ///< files of GPUVerify's testsuite: the expectation stands in their first lines

    Toolkit toolkit = {};
    std::string name = "heddle check";  ///< of the command, for messages
};

}  // namespace heddle::emulator::frontend
