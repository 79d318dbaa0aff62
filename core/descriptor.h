// A file descriptor that is closed by its destructor.
#pragma once

#include <unistd.h>

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

}  // namespace heddle
