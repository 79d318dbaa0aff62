// Downloads a corpus into a folder.
#pragma once

#include <filesystem>

#include "apps/corpora/corpora.h"
#include "apps/translation/text/line_reader.h"

namespace heddle::app {

/// Writes the set's texts to the folder `out`, which is created if needed: train.de, train.en, val.de and so on. They are
/// downloaded with curl, or, if `from` is not empty, read from that folder, packed or unpacked, under the last component of their
/// address. Each text is checked against its SHA-256 and written atomically, so there are no partial files. An identical existing
/// file is kept; if a different one exists, nothing is written. `say` receives a line about each file, and the licence. Error,
/// with instructions, if a file cannot be fetched, has the wrong digest (with both digests), or a different one exists, and for a
/// set that only has instructions.
void fetch_corpus(const CorpusSet& set, const std::filesystem::path& out, const std::filesystem::path& from, const Say& say);

}  // namespace heddle::app
