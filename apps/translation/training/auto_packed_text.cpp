#include "apps/translation/training/auto_packed_text.h"

#include <fstream>

#include "apps/translation/run/folder.h"
#include "apps/translation/run/output_folder.h"
#include "apps/translation/training/encode_text.h"
#include "core/digest.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

constexpr double megabyte = 1e6;

std::vector<std::string> training_files(const DataOptions& options) {
    return corpus_files(options.training_text(), options.source, options.target, reading_of(options, {}));
}

// The bytes of the text in memory; gzip packs text to about a quarter.
double unpacked_bytes(const std::string& file) {
    std::error_code failed;
    if (!fs::is_regular_file(file, failed)) return 0;
    const auto bytes = static_cast<double>(fs::file_size(file, failed));
    return failed ? 0 : bytes * (file.ends_with(".gz") ? 4 : 1);
}

double text_bytes(const DataOptions& options) {
    double bytes = 0;
    for (const std::string& file : training_files(options)) bytes += unpacked_bytes(file);
    return bytes;
}

std::int64_t most_megabytes(const DataOptions& options) { return options.prepare_above.value_or(default_prepare_above); }

// A digest of all that decides the ids besides the vocabulary: the bytes of the files, and how they are read.
std::string digest_of_files(const DataOptions& options, bool lowercase) {
    Digest digest;
    digest.add(
        fmt::format("{} {} {} {}\n", options.reads_columns(), word_of(options.format), options.replace_invalid, lowercase));
    if (!options.text.empty()) digest.add(fmt::format("text, seed {}\n", options.text_seed));
    if (options.tsv_columns) digest.add(fmt::format("{} {}\n", options.tsv_columns->first, options.tsv_columns->second));
    std::string block(1 << 20, '\0');
    for (const std::string& file : training_files(options)) {
        std::int64_t bytes = 0;
        std::ifstream in(file, std::ios::binary);
        while (in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0) {
            digest.add(std::string_view(block).substr(0, static_cast<std::size_t>(in.gcount())));
            bytes += in.gcount();
        }
        digest.add(fmt::format("\n{}\n", bytes));
    }
    return digest.text();
}

}  // namespace

bool is_too_large_to_hold(const DataOptions& options) {
    if (options.text.empty()) {
        if (!options.task.empty() || options.train.empty() || options.train == standard_input || is_prepared(options.train))
            return false;
        check_training_text(options);
    }
    return text_bytes(options) > megabyte * static_cast<double>(most_megabytes(options));
}

std::shared_ptr<const PreparedText> find_auto_packed_text(const DataOptions& options, bool lowercase, const Say& say) {
    const fs::path run = options.resume, path = run / auto_packed_text_name;
    if (!is_prepared(path)) return nullptr;
    try {
        auto text = std::make_shared<PreparedText>(path);
        check(text->header().vocabulary_digest == vocabulary_digest(run), "it was made with another vocabulary than the run's");
        check(text->header().made_of == digest_of_files(options, lowercase), "it was made of other files");
        say(fmt::format("{}: {} pairs, prepared before", path.string(), grouped_text(text->size())));
        return text;
    } catch (const Error& error) {
        say(fmt::format("{} is not used: {}", path.string(), error.what()));
        return nullptr;
    }
}

bool is_auto_packed_text(const fs::path& text) try {
    return !PreparedHeader::parse(read_regular_file(text / prepared_header_name, longest_header), "").made_of.empty();
} catch (const Error&) {
    return false;
}

void remove_auto_packed_text(const fs::path& run, bool complete) {
    const fs::path text = run / auto_packed_text_name;
    PreparedWriter::remove(text, complete && is_auto_packed_text(text));
}

AutoPackedText::AutoPackedText(const DataOptions& options, const Say& say)
    : options_(options),
      say_(say),
      run_(options.resume.empty() ? options.out : options.resume),
      temporary_(options.resume.empty()) {
    const fs::path text = run_ / auto_packed_text_name;
    check(!fs::exists(fs::symlink_status(text)) || is_auto_packed_text(text),
          "{}: heddle train did not write this, and needs the name for the text that it prepares; move it away", text.string());
    if (temporary_) {
        made_ = !fs::exists(run_);
        make_folder(run_, "--out");
        lock_ = std::make_unique<RunLock>(run_, "prepares a text");
        RunFolder::check_free(run_, options.overwrite);  // another process may have begun in between
    }
    say(fmt::format("{}: {} of text are more than --prepare-above {}, so its tokens are written to {}", options.training_text(),
                    size_text(static_cast<std::int64_t>(text_bytes(options))), most_megabytes(options), text.string()));
}

AutoPackedText::~AutoPackedText() {
    if (!temporary_) return;
    remove_auto_packed_text(run_, true);
    lock_.reset();
    std::error_code ignored;
    if (made_) fs::remove(run_, ignored);  // where it is empty
}

std::shared_ptr<const PreparedText> AutoPackedText::write(const Vocabularies& vocabularies,
                                                          std::map<std::string, std::string> decided) const {
    const fs::path path = run_ / auto_packed_text_name;
    std::string made_of = digest_of_files(options_, vocabularies.source->lowercase());
    PreparedWriter writer(path, true, vocabularies);
    const std::int64_t left_out = encode_text(options_, vocabularies, writer, say_);
    const PreparedHeader header = writer.finish(left_out, std::move(decided), std::move(made_of));
    say_(fmt::format("{}: {} pairs with {} tokens", path.string(), grouped_text(header.pairs), grouped_text(header.tokens())));
    return std::make_shared<PreparedText>(path);
}

}  // namespace heddle::app
