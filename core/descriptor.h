// File descriptors: one that is closed by its destructor, and reads and writes that also wait on non-blocking descriptors, which
// other programs that share them may have set.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace heddle {

/// Owns the descriptor that open() returned; negative: none.
class Descriptor {
  public:
    explicit Descriptor(int number = -1) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }

    int number() const { return number_; }
    bool good() const { return number_ >= 0; }

  private:
    int number_;
};

/// read(2): puts the next bytes at the front of `room` and returns their number; 0 at the end. Repeats after signals, and waits
/// if a non-blocking descriptor has no data yet. Negative, with errno, when reading fails.
std::ptrdiff_t read_waiting(int descriptor, std::span<char> room);

/// write(2) of all the bytes, repeating and waiting like read_waiting(). False, with errno, when writing fails; some bytes may
/// have been written.
bool write_waiting(int descriptor, std::string_view bytes);

}  // namespace heddle
