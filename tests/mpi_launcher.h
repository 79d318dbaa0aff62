// Starts the program as several processes, by the launcher of the build's MPI.
#pragma once

#include <fmt/format.h>

#include <string>

#include "tests/program.h"
#include "tests/shell.h"

namespace heddle {

#ifdef HEDDLE_MPIEXEC  // the build has MPI; a missing launcher is then an error
inline constexpr bool has_mpi = true;
inline constexpr const char* mpiexec = HEDDLE_MPIEXEC;
#else
inline constexpr bool has_mpi = false;
inline constexpr const char* mpiexec = "";
#endif

/// The command that starts `what`, the launcher's arguments, in this folder. Tests run as any user, and on fewer processors than
/// ranks: OpenMPI wants to be told, version 4 and 5 in different words.
inline std::string launch_command(const Workplace& here, const std::string& what) {
    return fmt::format(
        "cd {} && export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
        "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe && exec {} {}",
        quoted(here.path("")), quoted(mpiexec), what);
}

/// Runs it with this file of the folder as its standard input.
inline ProgramResult launch(const Workplace& here, const std::string& what, const std::string& input = "/dev/null") {
    const ShellOutput output = shell(launch_command(here, fmt::format("{} 2>stderr <{}", what, quoted(input))));
    return {.status = output.status, .out = output.text, .err = here.read("stderr")};
}

/// The complaints of Heddle; what MPI says beside them is its own.
inline std::vector<std::string> complaints(const ProgramResult& result) {
    std::vector<std::string> found;
    for (const std::string& line : lines_of(result.err))
        if (line.starts_with("heddle: ")) found.push_back(line);
    return found;
}

}  // namespace heddle
