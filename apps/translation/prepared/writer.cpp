#include "apps/translation/prepared/writer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "apps/translation/run/output_folder.h"
#include "core/digest.h"
#include "core/file.h"
#include "core/format.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

bool is_shard_file(const fs::path& name) {
    const std::string stem = name.stem().string(), extension = name.extension().string();
    return stem.size() >= 5 && stem.find_first_not_of("0123456789") == std::string::npos &&
           (extension == ".lengths" || extension == ".ids");
}

// True for the names of files that the writer makes, including those that a killed process leaves behind.
bool is_file_of_text(const fs::path& name) {
    constexpr std::array known = {prepared_header_name, lock_file_name,          "vocab.model",           "vocab.map.json",
                                  "vocab.tsv",          "vocab.source.model",    "vocab.source.map.json", "vocab.source.tsv",
                                  "vocab.target.model", "vocab.target.map.json", "vocab.target.tsv"};
    const std::string text = name.string();
    return std::ranges::find(known, text) != known.end() || is_shard_file(name) ||
           (text.starts_with(".heddle-") && text.ends_with(".part"));
}

// An entry of the folder that the writer did not make.
std::optional<fs::path> foreign_entry(const fs::path& folder) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
        if (!is_file_of_text(entry.path().filename()) || !entry.is_regular_file()) return entry.path();
    return {};
}

// The path without links and without a trailing slash, because parts are made beside it.
fs::path whole_path(const fs::path& path) {
    std::error_code failed;
    const fs::path whole = fs::weakly_canonical(fs::absolute(path), failed);
    check_done(failed, "found", path);
    return whole.has_filename() ? whole : whole.parent_path();
}

void check_is_ours(const fs::path& folder) {
    check(fs::is_directory(fs::symlink_status(folder)) && !foreign_entry(folder),
          "{}: heddle prepare did not make this, and needs the name; move it away, or choose another --out", folder.string());
}

// Removes the files except the lock, without which another process could start there.
void remove_files(const fs::path& folder) {
    std::error_code failed;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        if (entry.path().filename() != lock_file_name) fs::remove(entry.path(), failed);
        check_done(failed, "removed", entry.path());
    }
}

// Makes a folder of this name for this process alone, and removes what a killed process left there.
std::unique_ptr<RunLock> begin_part(const fs::path& part) {
    std::error_code failed;
    if (!fs::exists(fs::symlink_status(part))) fs::create_directory(part, failed);
    check_done(failed, "made", part);
    check(fs::is_directory(fs::symlink_status(part)),
          "{}: heddle prepare did not make this, and needs the name; move it away, or choose another --out", part.string());
    auto lock = std::make_unique<RunLock>(part, "prepares a text");
    check_is_ours(part);
    remove_files(part);
    lock->check_unmoved();
    return lock;
}

// Removes the folder, unless another process has locked it meanwhile: then its lock is in it.
void remove_part(const fs::path& part, std::unique_ptr<RunLock> lock) {
    lock->check_unmoved();
    remove_files(part);
    lock.reset();
    std::error_code ignored;
    fs::remove(part, ignored);
}

// The folder in which a text is written until it is complete.
fs::path part_of(const fs::path& out) { return out.string() + ".part"; }

bool has_content(const fs::path& folder) { return fs::exists(folder) && !fs::is_empty(folder); }

template <class T>
void put(std::string& bytes, T number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);  // little-endian, as the reader asserts
}

}  // namespace

// A file of a shard, with the digest of its bytes.
struct PreparedWriter::File {
    explicit File(const fs::path& path) : file(path) {}

    void flush(std::size_t from = 0) {
        if (bytes.size() <= from) return;
        digest.add(bytes);
        file.write(bytes);
        bytes.clear();
    }
    // Returns the digest of the whole file.
    std::string end() {
        flush();
        file.commit();
        return digest.text();
    }

    AtomicFile file;
    Digest digest;
    std::string bytes;  // not written yet
};

void PreparedWriter::check_free(const fs::path& out, bool overwrite) {
    if (!fs::exists(out)) return check_can_make_folder(out, "--out");
    check(fs::is_directory(out), "--out {}: it is a file; wanted a folder to be made", out.string());
    if (fs::is_empty(out)) return;
    std::optional<fs::path> foreign = foreign_entry(out);
    if (!foreign && !fs::exists(out / prepared_header_name)) foreign = fs::directory_iterator(out)->path();
    check(!foreign, "--out {}: heddle prepare did not write {}; choose another folder, or move this away", out.string(),
          foreign ? foreign->string() : "");
    check(overwrite, "--out {}: there is a prepared text already; choose another folder, or replace it with --overwrite",
          out.string());
}

void PreparedWriter::remove(const fs::path& out, bool complete) {
    const fs::path whole = whole_path(out);
    for (const fs::path& each : {part_of(whole), whole}) {
        if (!fs::exists(fs::symlink_status(each)) || (each == whole && !complete)) continue;
        try {
            remove_part(each, begin_part(each));
        } catch (const Error&) {
            // Not ours, or in use.
        }
    }
}

PreparedWriter::PreparedWriter(fs::path out, bool overwrite, const Vocabularies& vocabularies, std::int64_t pairs_per_shard)
    : out_(whole_path(out)), part_(part_of(out_)), overwrite_(overwrite), pairs_per_shard_(pairs_per_shard) {
    check(pairs_per_shard >= 1, "prepared text: {} pairs in a shard; wanted at least 1", pairs_per_shard);
    check_free(out_, overwrite);
    make_folder(out_.parent_path(), "--out");
    lock_ = begin_part(part_);
    try {
        vocabularies.save(part_);
        header_.vocabulary_digest = vocabulary_digest(part_);
    } catch (...) {
        discard();
        throw;
    }
    header_.source_vocabulary = vocabularies.source->size();
    header_.target_vocabulary = vocabularies.target->size();
}

PreparedWriter::~PreparedWriter() {
    lengths_.reset();
    ids_.reset();
    if (lock_ != nullptr) discard();
}

// Leftovers are removed by the next process.
void PreparedWriter::discard() noexcept try { remove_part(part_, std::move(lock_)); } catch (...) {
}

void PreparedWriter::begin_shard() {
    lengths_ = std::make_unique<File>(lengths_file(part_, header_.shards.size()));
    ids_ = std::make_unique<File>(ids_file(part_, header_.shards.size()));
    header_.shards.emplace_back();
}

void PreparedWriter::end_shard() {
    header_.shards.back().lengths_digest = lengths_->end();
    header_.shards.back().ids_digest = ids_->end();
    lengths_.reset();
    ids_.reset();
}

void PreparedWriter::add(std::span<const TokenPair> pairs) {
    constexpr std::size_t block = 1 << 20;
    const bool narrow = header_.id_bytes() == 2;
    for (const TokenPair& pair : pairs) {
        if (lengths_ == nullptr) begin_shard();
        PreparedShard& shard = header_.shards.back();
        for (const std::size_t number : {pair.source.size(), pair.target.size(), static_cast<std::size_t>(pair.words)})
            put(lengths_->bytes, static_cast<std::uint32_t>(number));
        for (const std::vector<std::int32_t>* side : {&pair.source, &pair.target}) {
            for (const std::int32_t id : *side) {
                if (narrow)
                    put(ids_->bytes, static_cast<std::uint16_t>(id));
                else
                    put(ids_->bytes, static_cast<std::uint32_t>(id));
            }
            shard.tokens += static_cast<std::int64_t>(side->size());
        }
        text_.add(pair.source, pair.target);
        lengths_->flush(block);
        ids_->flush(block);
        ++header_.pairs;
        if (++shard.pairs == pairs_per_shard_) end_shard();
    }
}

PreparedHeader PreparedWriter::finish(std::int64_t left_out, std::map<std::string, std::string> options, std::string made_of) {
    check(header_.pairs > 0, "prepared text: there is no pair; wanted at least one");
    if (lengths_ != nullptr) end_shard();
    header_.left_out = left_out;
    header_.options = std::move(options);
    header_.made_of = std::move(made_of);
    header_.text_digest = text_.text();
    write_file_atomically(part_ / prepared_header_name, header_.serialized());
    check_free(out_, overwrite_);  // another process may have made something there meanwhile
    lock_->check_unmoved();
    put_in_place();
    return header_;
}

// Where the file system cannot exchange folders, the old text goes first: a process that is killed then leaves none.
void PreparedWriter::put_in_place() {
    const bool exchanged = has_content(out_) && exchange_folders(part_, out_);
    if (!exchanged) {
        if (has_content(out_)) remove_part(out_, begin_part(out_));
        rename_onto(part_, out_);
    }
    lock_.reset();
    sync_folder(out_.parent_path());
    if (!exchanged) return;
    try {
        remove_part(part_, std::make_unique<RunLock>(part_, "prepares a text"));
    } catch (const Error&) {
        // The new text is in place. The old one is removed by another process that has locked it, or by the next one.
    }
}

}  // namespace heddle::app
