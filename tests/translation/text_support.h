// Helpers for the tests of text files.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "apps/translation/text/corpus.h"
#include "tests/support.h"

namespace heddle::app {

/// The byte order mark in UTF-8.
inline const std::string bom = "\xEF\xBB\xBF";

/// A folder for files, which records the notes of reading them.
class Formats : public testing::Test {
  protected:
    std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
    void write(const std::string& name, const std::string& bytes) const { std::ofstream(path(name), std::ios::binary) << bytes; }
    Reading reading(TextFormat format = TextFormat::automatic, bool replace_invalid = false) {
        said_.clear();
        return {.replace_invalid = replace_invalid,
                .say = [this](std::string_view line) { said_.emplace_back(line); },
                .format = format};
    }
    /// Reads a file with these bytes.
    std::vector<std::string> lines(const std::string& bytes, TextFormat format = TextFormat::automatic,
                                   bool replace_invalid = false) {
        write("t", bytes);
        TextFile file = read_text_file(path("t"), reading(format, replace_invalid));
        file.drop_metadata([this](std::string_view line) { said_.emplace_back(line); });
        return file.lines;
    }
    std::string error(const std::string& bytes, TextFormat format = TextFormat::automatic) {
        return error_of([&] { lines(bytes, format); });
    }
    Corpus pairs(const std::string& de, const std::string& en, TextFormat format = TextFormat::automatic) {
        write("t.de", de);
        write("t.en", en);
        return read_corpus(path("t"), "de", "en", reading(format));
    }
    std::string error_of_pairs(const std::string& de, const std::string& en) {
        return error_of([&] { pairs(de, en); });
    }

    std::vector<std::string> said_;

  private:
    TemporaryFolder folder_;
};

/// IWSLT's format of a test set with one document and these segments.
inline std::string document(const std::string& segments) {
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<mteval>\n<srcset setid=\"s\" srclang=\"german\">\n"
           "<doc docid=\"17\" genre=\"lectures\">\n<talkid>17</talkid>\n<title>A &amp; B</title>\n" +
           segments + "</doc>\n</srcset>\n</mteval>\n";
}

}  // namespace heddle::app
