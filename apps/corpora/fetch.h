// Brings a corpus into a folder.
#pragma once

#include <filesystem>

#include "apps/corpora/corpora.h"
#include "apps/translation/text/line_reader.h"

namespace heddle::app {

/// Puts the set's texts into the folder `out`, which is made when needed: train.de, train.en, val.de and so on. They are fetched
/// with curl, or taken from the folder `from` unless that is empty: under the last word of their address, packed or unpacked. A
/// text is checked against its SHA-256 and then put there as a whole: no half file is ever seen. One that is there already is
/// kept; when another file stands in the place of one, nothing is written. `say` hears of each file, and of the licence. Error,
/// which says what to do by hand, when a file cannot be had, when it is not the one that was wanted (with both digests), when
/// another one stands in its place, and for a set that only has steps.
void fetch_corpus(const CorpusSet& set, const std::filesystem::path& out, const std::filesystem::path& from, const Say& say);

}  // namespace heddle::app
