// The training text of a run as a prepared text, RUN/text.prepared: written by training where the text is too large to be held.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "apps/translation/prepared/prepared_text.h"
#include "apps/translation/run/lock.h"
#include "apps/translation/text/line_reader.h"
#include "apps/translation/training/options.h"
#include "apps/translation/vocabulary/vocabularies.h"

namespace heddle::app {

/// Its name in the run's folder.
inline constexpr const char* auto_packed_text_name = "text.prepared";

/// Whether the training files are larger than training holds in memory (--prepare-above). A pipe has no size, nor has a file that
/// is missing.
bool is_too_large_to_hold(const DataOptions& options);

/// The text of the run that is resumed, where it was made of the files that the options name, read in the same way, and with the
/// run's vocabulary; null otherwise. `say` is told whether it is used.
std::shared_ptr<const PreparedText> find_auto_packed_text(const DataOptions& options, bool lowercase, const Say& say);

/// Whether training prepared this text, for a run.
bool is_auto_packed_text(const std::filesystem::path& text);

/// Removes what a killed process left of such a text in a run's folder, and with `complete` one that is whole.
void remove_auto_packed_text(const std::filesystem::path& run, bool complete);

/// Writes the text of a run. That of a run that begins is written before the run is there, and goes with this object unless
/// begun() was called.
class AutoPackedText {
  public:
    /// Locks the folder of a run that begins; that of a resumed one this process has locked. Error when training did not write
    /// what has the text's name, and as RunFolder::check_free(). The options are used until the text is written.
    AutoPackedText(const DataOptions& options, const Say& say);
    ~AutoPackedText();
    AutoPackedText(const AutoPackedText&) = delete;
    AutoPackedText& operator=(const AutoPackedText&) = delete;

    /// Reads the training files in pieces and writes their ids, and `decided`, the options that follow from the text. Replaces
    /// the text that is there when all is written. Errors as encode_text().
    std::shared_ptr<const PreparedText> write(const Vocabularies& vocabularies, std::map<std::string, std::string> decided) const;
    /// Releases the folder, for RunFolder.
    void release() { lock_.reset(); }
    /// The run is there: the text is kept.
    void begun() { temporary_ = false; }

  private:
    const DataOptions& options_;
    const Say& say_;
    std::filesystem::path run_;
    bool temporary_;
    bool made_ = false;  // the folder
    std::unique_ptr<RunLock> lock_;
};

}  // namespace heddle::app
