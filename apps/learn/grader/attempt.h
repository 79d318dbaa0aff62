// The functions that an exercise's harness calls: arrays on the emulated device, launches of the learner's kernel, wanted
// results.
//
//     const Exercise map_exercise("map", {"n"}, {{128}, {1024}}, [](Attempt& attempt, const Sizes& sizes) {
//         const auto [n] = extents<1>(sizes);
//         const auto* const x_device = attempt.input("x", numbers(n));
//         auto* const y = attempt.output<float>("y", {sizes[0]});
//         attempt.launch<decltype(scale)>("scale", {.grid = ..., .block = 128}, x_device, y, 2.5f);
//         attempt.expect(y, wanted);
//         attempt.allow({.sectors = ...});
//     });
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/learn/grader/traced_run.h"
#include "apps/learn/grader/verdict.h"
#include "core/dtype.h"
#include "kernels/emulator/checker/reported.h"
#include "kernels/emulator/launch.h"
#include "kernels/emulator/trace/requests.h"
#include "kernels/emulator/trace/trace.h"

namespace heddle::learn {

using Sizes = std::vector<int>;
/// The first `count` sizes as unsigned numbers.
template <std::size_t count>
std::array<unsigned, count> extents(const Sizes& sizes) {
    std::array<unsigned, count> result;
    for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<unsigned>(sizes[i]);
    return result;
}

/// `count` numbers in [-4, 4) that are multiples of 1/8: sums of a few thousand of them and of their products are exact in any
/// order. The same each time for the same `series`.
std::vector<float> numbers(std::size_t count, unsigned series = 1);

/// An array of the device that an Attempt made.
struct Array {
    std::string name;
    std::vector<int> extents;
    DType dtype = DType::f32;
    std::byte* start = nullptr;

    std::size_t count() const;
    std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(start); }
    std::size_t element_bytes() const { return static_cast<std::size_t>(size_of(dtype)); }
    /// The name of the element with this number: "y[3]", with two extents "y[1, 3]".
    std::string element_name(std::size_t index) const;
};
/// The array with the byte at this address; null if there is none.
const Array* array_with(std::uint64_t address, const std::vector<Array>& arrays);

/// How much an attempt records.
enum class Recording {
    nothing,
    accesses,  ///< every access, up to kMostPageEvents
    costs      ///< every access, and allow() and its kin judge them; too many are a mistake
};
/// Twice the events of the largest run of an exercise; the limit is for endless loops.
inline constexpr std::size_t kMostPageEvents = 1'000'000;
/// The events kept of a run that was stopped: more than a page shows.
inline constexpr std::size_t kMostStoppedEvents = 20'000;

struct RecordedLaunch {
    emulator::TracedLaunch trace;
    std::vector<emulator::Request> requests = {};  ///< filled when they are counted
};

/// One run of the learner's kernel with one shape and one order of threads.
class Attempt {
  public:
    /// `library`: the learner's, from dlopen. `source`: the name of their file in reports.
    Attempt(void* library, std::string source, Recording recording);
    ~Attempt();
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;

    /// An array of the device with these values in row-major order; the product of the extents is their number. No extents stand
    /// for one.
    template <class T>
    T* input(const std::string& name, const std::vector<T>& values, std::vector<int> extents = {}) {
        if (extents.empty()) extents = {static_cast<int>(values.size())};
        return static_cast<T*>(add(name, values.data(), dtype_of<T>(), std::move(extents)));
    }
    /// An array that the kernel must fill: reading an element before it is written, or leaving it unwritten, is a mistake.
    template <class T>
    T* output(const std::string& name, std::vector<int> extents) {
        return static_cast<T*>(add(name, nullptr, dtype_of<T>(), std::move(extents)));
    }

    /// Runs the learner's kernel of this name and waits for it. Throws Failed with the emulator's report.
    template <class Kernel, class... Arguments>
    void launch(const char* name, const emulator::LaunchConfig& config, Arguments... arguments) {
        auto* const kernel = reinterpret_cast<Kernel*>(find(name));
        begin();
        threads_ = config.block.x * config.block.y * config.block.z;
        emulator::launch(config, kernel, arguments...);
        finish();
    }

    /// Compares the array with these values, each within tolerance * (1 + |wanted|). Throws Failed with the first element that
    /// was never written, or else the first that differs; NaN never equals a number.
    void expect(const float* array, const std::vector<double>& wanted, double tolerance = 0);
    void expect(const int* array, const std::vector<double>& wanted);
    /// Throws Failed if all launches so far cost more than this. This function and the next two check only with Recording::costs;
    /// otherwise they do nothing.
    void allow(const Cost& most);

    /// Throws Failed if global memory was read by anything but asynchronous copies.
    void reads_by_copies();
    /// Throws Failed if every wait for copies waited for all of them.
    void copies_ahead();

    /// The bytes of all arrays that were compared.
    const std::vector<std::byte>& bits() const { return bits_; }
    /// The cost of all launches, with Recording::costs.
    Cost cost();
    /// The arrays and the recorded launches, which are moved out of this object; the caller adds the sizes and their names.
    TracedRun take_run();
    /// A copy of them with the first kMostStoppedEvents of each launch, for a run whose kernel another thread of the CPU has
    /// stopped. Nothing if it was stopped while recording.
    std::optional<TracedRun> run_so_far() const;

  private:
    void* add(const std::string& name, const void* values, DType dtype, std::vector<int> extents);
    void* find(const char* name) const;
    void begin();
    void finish();
    /// The launches so far, with their requests.
    const std::vector<RecordedLaunch>& counted();
    const Array& array_at(const void* start) const;
    std::vector<TracedArray> traced_arrays() const;
    void check_written(const Array& array) const;
    template <class T>
    void compare(const Array& array, const std::vector<double>& wanted, double tolerance);
    /// The end of a sentence that says which thread wrote these bytes last; sets its line.
    std::string last_writer(const std::byte* address, std::size_t bytes, int& line) const;

    void* library_;
    std::string source_;
    Recording recording_;
    unsigned threads_ = 0;  // of a block of the last launch
    std::vector<Array> arrays_;
    std::vector<std::byte> bits_;
    std::vector<RecordedLaunch> launches_;
};

/// One exercise, which registers itself: a constant of the harness.
struct Exercise {
    using Run = void (*)(Attempt&, const Sizes&);
    /// Tries `sizes` in this order; the last ones are traced for their cost.
    Exercise(const char* exercise, std::vector<std::string> axis_names, std::vector<Sizes> sizes, Run body);

    std::string name;
    std::vector<std::string> axes;
    std::vector<Sizes> shapes;
    Run run;
};
std::vector<const Exercise*>& exercises();

/// "n = 33, cols = 4".
std::string shape_text(const Exercise& exercise, const Sizes& sizes);

/// The verdict of a report about this access. It names elements such as "y[3]" where the report counts bytes of an allocation,
/// and says what to do. `is_one_warp`: so small are the launch's blocks.
Verdict verdict_of_access(const std::string& report, const emulator::ReportedAccess& access, const std::string& source,
                          const std::vector<Array>& arrays, bool is_one_warp);

/// The verdict if `launches` ask for more than `most`; else a pass. Lines are those of `source`.
Verdict cost_verdict(const std::vector<RecordedLaunch>& launches, const Cost& most, const std::string& source,
                     const std::vector<Array>& arrays);
Cost cost_of(const std::vector<RecordedLaunch>& launches);

}  // namespace heddle::learn
