// The bug matrix: for each class of mistakes a faulty kernel, a correct twin, and the report that the emulator must give.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/device/launch.h"
#include "kernels/emulator/launch.h"
#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/run.h"

namespace heddle::bugs {

/// Global memory of the emulated device. Uninitialised unless values are given.
template <class T>
class Buffer {
  public:
    explicit Buffer(std::size_t count, emulator::Place place = emulator::Place::current())
        : data_(reinterpret_cast<T*>(
              emulator::allocate(count * sizeof(T), std::string(place.file) + ":" + std::to_string(place.line)))),
          count_(count) {}
    Buffer(std::size_t count, T value, emulator::Place place = emulator::Place::current()) : Buffer(count, place) { fill(value); }
    ~Buffer() { emulator::release(data_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    T* data() const { return data_; }
    operator T*() const { return data_; }
    void fill(T value) {
        const emulator::Opened opened;
        for (std::size_t i = 0; i < count_; ++i) data_[i] = value;
        emulator::checker::host_wrote(data_, count_ * sizeof(T));
    }

  private:
    T* data_;
    std::size_t count_;
};

/// Runs the kernel to its end on this thread. Throws emulator::Violation or std::invalid_argument if it is rejected.
template <class... Parameters, class... Arguments>
void run(const emulator::LaunchConfig& config, void (*kernel)(Parameters...), Arguments&&... arguments) {
    const emulator::Opened opened;
    emulator::run(emulator::request(config, kernel, std::forward<Arguments>(arguments)...));
}

/// A class of mistakes. The report about `broken` must contain one of `words`, and one of the places in `file` marked with "BUG
/// mark" (none if the mark is ""). Which one depends on the order of the threads.
struct Bug {
    const char* name;
    const char* found_by;  ///< "checker", "scheduler", "limits": only the first needs the checked build
    const char* file;
    std::function<void()> broken, correct;
    std::vector<std::string> words;
    const char* mark = nullptr;  ///< null: the name
};

/// The constructor of a file's bugs.
struct BugsOf {
    const char* file;
    Bug operator()(const char* name, std::function<void()> broken, std::function<void()> correct, std::vector<std::string> words,
                   const char* mark = nullptr, const char* found_by = "checker") const {
        return {name, found_by, file, std::move(broken), std::move(correct), std::move(words), mark};
    }
};

std::vector<Bug> block_bugs();
std::vector<Bug> grid_bugs();
std::vector<Bug> memory_bugs();
std::vector<Bug> copy_bugs();

/// Correct kernels in which a checker could wrongly see a mistake.
struct Sound {
    const char* name;
    std::function<void()> run;
};
std::vector<Sound> sound_kernels();

}  // namespace heddle::bugs
