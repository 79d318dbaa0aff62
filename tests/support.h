// What several tests need: a folder of their own, and the message of an expected error.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "core/error.h"

namespace heddle {

/// A new, empty folder that vanishes with the object.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "heddle-test-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) fail("test: cannot make a folder like " + name);
        path_ = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path operator/(const char* name) const { return path_ / name; }

  private:
    std::filesystem::path path_;
};

/// The message of the Error that `body` throws; a failed expectation and "" when it throws none.
template <class Body>
std::string error_of(Body&& body) {
    try {
        body();
    } catch (const Error& error) {
        return error.what();
    }
    ADD_FAILURE() << "expected an Error, but nothing was thrown";
    return "";
}

/// Expects `body` to throw an Error whose message contains `part`.
template <class Body>
void expect_error(Body&& body, const std::string& part) {
    const std::string message = error_of(body);
    EXPECT_NE(message.find(part), std::string::npos) << "the message '" << message << "' does not contain '" << part << "'";
}

}  // namespace heddle
