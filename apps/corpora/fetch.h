// Downloads a corpus into a folder.
#pragma once

#include <filesystem>

#include "apps/corpora/corpora.h"
#include "apps/translation/text/line_reader.h"

namespace heddle::app {

/// Puts the set's texts into the folder `out`, which is made when needed: train.de, train.en, val.de and so on. They are fetched
/// with curl, or taken from the folder `from` unless that is empty: under the last word of their address, packed or unpacked. A
/// text is checked against its SHA-256 and then put in place atomically: there is never a partial file. An identical existing
/// file is kept; if a different one exists, nothing is written. `say` receives a line about each file, and the licence. Error,
/// with instructions, when a file cannot be fetched, has the wrong digest (with both digests), or a different one exists, and
/// for a set that only has instructions.
void fetch_corpus(const CorpusSet& set, const std::filesystem::path& out, const std::filesystem::path& from, const Say& say);

}  // namespace heddle::app
