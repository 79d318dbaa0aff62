// The table of corpora for `heddle data`.
#pragma once

#include <span>
#include <string_view>

namespace heddle::app {

/// A text of a set, published at an address whose content never changes.
struct CorpusFile {
    std::string_view name;       ///< its local name: train.de, val.en
    std::string_view published;  ///< its name at the address, gzipped or not
    std::string_view sha256;     ///< of the unpacked text: 64 hexadecimal digits
};

/// A set has files, or an archive to split, or instructions for the user.
struct CorpusSet {
    std::string_view name;
    std::string_view holds;  ///< the kind of text, number of pairs, download size
    std::string_view licence;
    std::string_view source;     ///< the page that publishes it
    std::string_view base = {};  ///< prefix of its files' addresses: "https://HOST/FOLDER/"
    std::span<const CorpusFile> files = {};
    std::string_view archive = {};  ///< a ZIP file that changes over time, so it has no known digest
    std::string_view member = {};   ///< the text in the archive: English, tab, German on each line
    std::string_view steps = {};    ///< manual instructions
};

/// In the order of `heddle data list`.
std::span<const CorpusSet> corpus_sets();

}  // namespace heddle::app
