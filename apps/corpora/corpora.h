// The table of corpora for `heddle data`, and how they are downloaded.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "apps/translation/text/line_reader.h"

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

/// Writes the set's texts to the folder `out`, which is created if needed: train.de, train.en, val.de and so on. They are
/// downloaded with curl, or, if `from` is not empty, read from that folder, packed or unpacked, under the last component of their
/// address. Each text is checked against its SHA-256 and written atomically, so there are no partial files. An identical existing
/// file is kept; if a different one exists, nothing is written. `say` receives a line about each file, and the licence. Error,
/// with instructions, if a file cannot be fetched, has the wrong digest (with both digests), or a different one exists, and for a
/// set that only has instructions.
void fetch_corpus(const CorpusSet& set, const std::filesystem::path& out, const std::filesystem::path& from, const Say& say);

}  // namespace heddle::app
