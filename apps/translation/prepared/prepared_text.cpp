#include "apps/translation/prepared/prepared_text.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "core/digest.h"
#include "core/format.h"

namespace heddle::app {
namespace {

static_assert(std::endian::native == std::endian::little, "the files are mapped as they are");

// Every 64th pair's position is stored; those between are computed from the lengths.
constexpr std::int64_t pairs_per_begin = 64;

PairLengths lengths_at(std::span<const std::byte> bytes, std::int64_t pair) {
    std::array<std::uint32_t, 3> numbers{};
    static_assert(sizeof numbers == bytes_of_lengths);
    std::memcpy(numbers.data(), bytes.data() + pair * bytes_of_lengths, sizeof numbers);
    return {.source = numbers[0], .target = numbers[1], .words = numbers[2]};
}

void check_digest(const std::filesystem::path& path, std::span<const std::byte> bytes, const std::string& wanted) {
    const std::string found = Digest().add(bytes).text();
    check(found == wanted, "{}: the file is damaged: its digest is {}, wanted {}; {}", path.string(), found, wanted,
          prepare_again);
}

// Copies the ids from number `begin` on, which the file stores as type Stored.
template <class Stored>
void copy_ids(std::span<const std::byte> file, std::int64_t begin, std::span<std::int32_t> ids) {
    const std::byte* from = file.data() + static_cast<std::size_t>(begin) * sizeof(Stored);
    for (std::int32_t& id : ids) {
        Stored stored{};
        std::memcpy(&stored, from, sizeof stored);
        id = static_cast<std::int32_t>(stored);
        from += sizeof stored;
    }
}

}  // namespace

PreparedText::PreparedText(std::filesystem::path folder, std::int64_t most_ids) : folder_(std::move(folder)) {
    const std::filesystem::path name = folder_ / prepared_header_name;
    check(std::filesystem::exists(name), "{}: there is no such file; wanted a folder that heddle prepare made", name.string());
    const std::string text = read_regular_file(name, longest_header);
    digest_ = heddle::digest(text);
    header_ = PreparedHeader::parse(text, name.string());
    const std::string vocabulary = vocabulary_digest(folder_);
    check(vocabulary == header_.vocabulary_digest,
          "{}: its vocabulary is not the one that the text was prepared with: digest {}, wanted {}; {}", folder_.string(),
          vocabulary, header_.vocabulary_digest, prepare_again);
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < header_.shards.size(); ++i) {
        open_shard(i);
        bytes += static_cast<std::int64_t>(shards_[i].ids.map.bytes().size());
    }
    for (std::size_t i = 0; i < shards_.size() && bytes <= most_ids; ++i) check_ids(i);
}

void PreparedText::open_shard(std::size_t number) {
    const PreparedShard& shard = header_.shards[number];
    const std::int64_t first = shards_.empty() ? 0 : shards_.back().first_pair + header_.shards[number - 1].pairs;
    Shard& opened =
        shards_.emplace_back(Shard{.lengths = open_file(lengths_file(folder_, number), shard.pairs * bytes_of_lengths),
                                   .ids = open_file(ids_file(folder_, number), shard.tokens * header_.id_bytes()),
                                   .first_pair = first,
                                   .begins = {}});
    check_digest(opened.lengths.path, opened.lengths.map.bytes(), shard.lengths_digest);
    opened.begins.reserve(static_cast<std::size_t>(shard.pairs / pairs_per_begin + 1));
    std::int64_t tokens = 0;
    for (std::int64_t pair = 0; pair < shard.pairs; ++pair) {
        if (pair % pairs_per_begin == 0) opened.begins.push_back(tokens);
        const PairLengths lengths = lengths_at(opened.lengths.map.bytes(), pair);
        tokens += lengths.source + lengths.target;
    }
    check(tokens == shard.tokens, "{}: the file is damaged: its lengths add up to {} tokens, wanted {}; {}",
          opened.lengths.path.string(), tokens, shard.tokens, prepare_again);
}

Vocabularies PreparedText::vocabularies() const {
    const auto lowercase = header_.options.find("lowercase");
    const Vocabularies known = Vocabularies::load(folder_, lowercase != header_.options.end() && lowercase->second == "true");
    check_sizes(known);
    return known;
}

void PreparedText::check_sizes(const Vocabularies& vocabularies) const {
    check(vocabularies.source->size() == header_.source_vocabulary && vocabularies.target->size() == header_.target_vocabulary,
          "{}: the ids are of vocabularies of {} and {} tokens, but these have {} and {}; {}", folder_.string(),
          header_.source_vocabulary, header_.target_vocabulary, vocabularies.source->size(), vocabularies.target->size(),
          prepare_again);
}

void PreparedText::check_ids(std::size_t number) const {
    const Shard& shard = shards_[number];
    Comparison& compared = *shard.ids_compared;
    if (compared.done) return;
    const std::lock_guard lock(compared.mutex);
    if (compared.done) return;
    check_digest(shard.ids.path, shard.ids.map.bytes(), header_.shards[number].ids_digest);
    compared.done = true;
}

PreparedText::File PreparedText::open_file(const std::filesystem::path& path, std::int64_t size) {
    Descriptor opened = open_to_read(path);
    MemoryMap map(opened, path);
    File file{.path = path, .opened = std::move(opened), .map = std::move(map), .written = {}};
    const auto bytes = static_cast<std::int64_t>(file.map.bytes().size());
    check(bytes == size, "{}: the file has {} bytes, wanted {}; {}", path.string(), bytes, size, prepare_again);
    file.written = check_size(file);
    return file;
}

// Returns when it was last written to.
timespec PreparedText::check_size(const File& file) {
    struct stat now {};
    check(::fstat(file.opened.number(), &now) == 0, "{}: the file cannot be looked at: {}", file.path.string(),
          std::strerror(errno));
    check(now.st_size == static_cast<off_t>(file.map.bytes().size()),
          "{}: the file was changed while it was read: it has {} bytes now, wanted {}; {}", file.path.string(), now.st_size,
          file.map.bytes().size(), prepare_again);
#if defined(__APPLE__)
    return now.st_mtimespec;
#else
    return now.st_mtim;
#endif
}

void PreparedText::check_unchanged() const {
    const auto look = [](const File& file, const std::string& digest) {
        const timespec written = check_size(file);
        if (written.tv_sec != file.written.tv_sec || written.tv_nsec != file.written.tv_nsec)
            check_digest(file.path, file.map.bytes(), digest);
        file.written = written;
    };
    for (std::size_t i = 0; i < shards_.size(); ++i) {
        look(shards_[i].lengths, header_.shards[i].lengths_digest);
        look(shards_[i].ids, header_.shards[i].ids_digest);
    }
}

void PreparedText::check_all() const {
    PairsDigest text;
    std::vector<std::int32_t> source, target;
    for (std::int64_t i = 0; i < size(); ++i) {
        source.clear();
        target.clear();
        append(i, source, target);
        text.add(source, target);
    }
    check(text.text() == header_.text_digest, "{}: the digest of its text is {}, wanted {}; {}", folder_.string(), text.text(),
          header_.text_digest, prepare_again);
}

PreparedText::Place PreparedText::place_of(std::int64_t i) const {
    const auto after = std::upper_bound(shards_.begin(), shards_.end(), i,
                                        [](std::int64_t pair, const Shard& shard) { return pair < shard.first_pair; });
    const auto shard = static_cast<std::size_t>(after - shards_.begin()) - 1;
    return {.shard = shard, .pair = i - shards_[shard].first_pair};
}

PairLengths PreparedText::lengths(std::int64_t i) const {
    const Place place = place_of(i);
    const Shard& shard = shards_[place.shard];
    // Whoever plans an epoch asks for all of them, one after another.
    if (place.pair % 1024 == 0) check_size(shard.lengths);
    return lengths_at(shard.lengths.map.bytes(), place.pair);
}

void PreparedText::append(std::int64_t i, std::vector<std::int32_t>& source, std::vector<std::int32_t>& target) const {
    const Place place = place_of(i);
    const Shard& shard = shards_[place.shard];
    // To read behind the end of a mapped file would end the program.
    check_size(shard.lengths);
    check_size(shard.ids);
    check_ids(place.shard);
    const auto lengths_of = [&](std::int64_t pair) { return lengths_at(shard.lengths.map.bytes(), pair); };
    const std::int64_t known = place.pair / pairs_per_begin;
    std::int64_t begin = shard.begins[static_cast<std::size_t>(known)];
    for (std::int64_t pair = known * pairs_per_begin; pair < place.pair; ++pair) {
        const PairLengths before = lengths_of(pair);
        begin += before.source + before.target;
    }
    const PairLengths lengths = lengths_of(place.pair);
    append_ids(place, begin, lengths.source, header_.source_vocabulary, source);
    append_ids(place, begin + lengths.source, lengths.target, header_.target_vocabulary, target);
}

void PreparedText::append_ids(Place place, std::int64_t begin, std::int64_t count, std::int64_t vocabulary,
                              std::vector<std::int32_t>& ids) const {
    const std::span<const std::byte> bytes = shards_[place.shard].ids.map.bytes();
    // Checked again, because another program can change the file after it was opened.
    if (begin + count > header_.shards[place.shard].tokens)
        fail_with("{}: the file was changed while it was read; {}", shards_[place.shard].lengths.path.string(), prepare_again);
    const std::size_t before = ids.size();
    ids.resize(before + static_cast<std::size_t>(count));
    const std::span<std::int32_t> added = std::span(ids).subspan(before);
    if (header_.id_bytes() == 2)
        copy_ids<std::uint16_t>(bytes, begin, added);
    else
        copy_ids<std::uint32_t>(bytes, begin, added);
    const auto bad = std::ranges::find_if(added, [&](std::int32_t id) { return static_cast<std::uint32_t>(id) >= vocabulary; });
    if (bad == added.end()) return;
    fail_with("{}: pair {} has the id {}, but the vocabulary has {} tokens; {}", shards_[place.shard].ids.path.string(),
              shards_[place.shard].first_pair + place.pair + 1, static_cast<std::uint32_t>(*bad), vocabulary, prepare_again);
}

bool is_prepared(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_directory(path, ignored) && std::filesystem::exists(path / prepared_header_name, ignored);
}

}  // namespace heddle::app
