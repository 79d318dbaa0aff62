# One precompiled header for all rooms: the standard library, fmt and the headers of core that nearly every file includes. With the unity build it cuts the
# time of a build to a third (docs/measured/build.md). GCC takes it for -O2 and -O3 alike, but not with other flags for floating point or another -march, so
# *_fast.cpp files do without and .cu files have their own (cuda.cmake). No file may rely on it: tests/run.sh --all builds once with CMAKE_DISABLE_PRECOMPILE_HEADERS=ON.
set(HEDDLE_PRECOMPILED
    <algorithm> <array> <chrono> <cmath> <cstdint> <cstring> <filesystem> <functional> <limits> <map> <memory> <mutex> <numeric> <optional>
    <span> <sstream> <string> <string_view> <unordered_map> <utility> <vector> <fmt/format.h>
    <core/check.h> <core/format.h> <core/parallel.h> <core/random.h> <core/tensor.h>)
