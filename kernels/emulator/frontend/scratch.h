// A temporary folder for what the compiler reads and makes.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace heddle::emulator::frontend {

/// A new folder, removed with the object.
class Scratch {
  public:
    Scratch() : folder_((std::filesystem::temp_directory_path() / "heddle-check-XXXXXX").string()) {
        if (::mkdtemp(folder_.data()) == nullptr)
            throw std::runtime_error("a temporary folder cannot be made in " + std::filesystem::temp_directory_path().string() +
                                     "; make room there");
    }
    ~Scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    std::filesystem::path folder() const { return folder_; }

  private:
    std::string folder_;
};

/// Writes a file.
inline void write_text(const std::filesystem::path& file, const std::string& text) {
    std::ofstream stream(file, std::ios::binary);
    stream << text;
    if (!stream.flush()) throw std::runtime_error(file.string() + " cannot be written; make room there");
}

}  // namespace heddle::emulator::frontend
