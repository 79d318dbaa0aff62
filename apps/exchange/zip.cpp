#include "apps/exchange/zip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/format.h"

namespace heddle::app {
namespace {

constexpr std::uint32_t local_signature = 0x04034b50, directory_signature = 0x02014b50, end_signature = 0x06054b50,
                        end64_signature = 0x06064b50, locator_signature = 0x07064b50;
constexpr std::size_t local_size = 30, directory_size = 46, end_size = 22, end64_size = 56, locator_size = 20;
constexpr std::uint16_t encrypted = 1, sizes_follow = 8;  // bits of an entry's flags
constexpr std::uint32_t in_extra_field = 0xffffffff;      // a size or an offset that needs 64 bits
constexpr std::uint16_t extra64 = 1;

std::string_view zip_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Numbers at fixed places of a record, little-endian.
class ZipRecord {
  public:
    explicit ZipRecord(std::span<const std::byte> bytes) : bytes_(bytes) {}

    std::uint64_t number(std::size_t at, int size) const {
        std::uint64_t value = 0;
        for (int i = size; i-- > 0;)
            value = value << 8 | std::to_integer<std::uint64_t>(bytes_[at + static_cast<std::size_t>(i)]);
        return value;
    }
    std::uint16_t u16(std::size_t at) const { return static_cast<std::uint16_t>(number(at, 2)); }
    std::uint32_t u32(std::size_t at) const { return static_cast<std::uint32_t>(number(at, 4)); }
    std::uint64_t u64(std::size_t at) const { return number(at, 8); }

  private:
    std::span<const std::byte> bytes_;
};

struct ZipDirectory {
    std::uint64_t entries = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

// A directory's entry, and where its bytes lie in the file.
struct ZipEntry {
    std::string_view name;
    std::uint16_t flags = 0;
    std::uint32_t crc = 0;
    std::uint64_t size = 0;
    std::uint64_t local = 0;  ///< where its local header begins
    std::uint64_t begin = 0;  ///< where its bytes begin
};

class ZipReader {
  public:
    ZipReader(std::span<const std::byte> file, std::string_view path) : file_(file), path_(path) {}

    std::vector<ZipEntry> entries() const {
        const ZipDirectory directory = find_directory();
        if (directory.entries > ZipFile::most_entries)
            wrong(fmt::format("it has {} entries, wanted at most {}", directory.entries, ZipFile::most_entries));
        std::vector<ZipEntry> entries;
        std::uint64_t at = directory.begin;
        while (at < directory.end) {
            if (entries.size() == directory.entries) wrong("its directory holds more entries than it says");
            entries.push_back(entry(at, directory.end));
            find_bytes(entries.back(), directory.begin);
        }
        if (entries.size() != directory.entries)
            wrong(fmt::format("its directory holds {} entries, and says {}", entries.size(), directory.entries));
        check_apart(entries);
        return entries;
    }

  private:
    [[noreturn]] void wrong(std::string_view what) const {
        fail_with("{}: the ZIP archive is damaged: {}; get the file once more", path_, what);
    }
    ZipRecord record(std::uint64_t at, std::size_t size) const { return ZipRecord(file_.subspan(at, size)); }
    bool is_at(std::uint64_t at, std::size_t size, std::uint32_t signature) const {
        return at <= file_.size() && file_.size() - at >= size && record(at, size).u32(0) == signature;
    }

    // The end record is last, but for a comment whose length it gives.
    std::uint64_t find_end() const {
        constexpr std::size_t longest_comment = 0xffff;
        for (std::size_t comment = 0; comment <= longest_comment && end_size + comment <= file_.size(); ++comment) {
            const std::uint64_t at = file_.size() - end_size - comment;
            if (is_at(at, end_size, end_signature) && record(at, end_size).u16(20) == comment) return at;
        }
        fail_with("{}: this is no ZIP archive, or its end is missing: it has no end record; get the file once more", path_);
    }

    ZipDirectory find_directory() const {
        const std::uint64_t end = find_end();
        const ZipRecord record = this->record(end, end_size);
        if (record.u16(4) != 0 || record.u16(6) != 0) wrong("it is one of several volumes");
        ZipDirectory found{.entries = record.u16(10), .begin = record.u32(16), .end = end};
        std::uint64_t size = record.u32(12);
        if (end >= locator_size && is_at(end - locator_size, locator_size, locator_signature)) {
            const std::uint64_t at = this->record(end - locator_size, locator_size).u64(8);
            if (at > end - locator_size || end - locator_size - at < end64_size || !is_at(at, end64_size, end64_signature))
                wrong("its ZIP64 end record is not where it should be");
            const ZipRecord larger = this->record(at, end64_size);
            found = {.entries = larger.u64(32), .begin = larger.u64(48), .end = at};
            size = larger.u64(40);
        }
        if (found.begin > found.end || found.end - found.begin != size)
            wrong("its directory does not end where the end record begins");
        return found;
    }

    // Sizes and the offset that did not fit into 32 bits, in the order in which the record has them.
    void take_extra(std::uint64_t at, std::uint64_t length, std::span<std::uint64_t* const> wanted) const {
        const std::uint64_t end = at + length;
        while (end - at >= 4) {
            const ZipRecord head = record(at, 4);
            const std::uint64_t size = head.u16(2);
            if (size > end - at - 4) wrong("an extra field reaches too far");
            if (head.u16(0) == extra64) {
                std::uint64_t from = at + 4;
                for (std::uint64_t* value : wanted) {
                    if (at + 4 + size - from < 8) wrong("a ZIP64 field is too short");
                    *value = record(from, 8).u64(0);
                    from += 8;
                }
                return;
            }
            at += 4 + size;
        }
        if (!wanted.empty()) wrong("a ZIP64 field is missing");
    }

    void check_name(std::string_view name) const {
        const auto is_odd = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\'; };
        bool steps_out = false;
        for (std::string_view rest = name; !rest.empty();) {
            const std::size_t slash = std::min(rest.find('/'), rest.size());
            steps_out |= rest.substr(0, slash) == "..";
            rest.remove_prefix(std::min(slash + 1, rest.size()));
        }
        if (!name.empty() && name.front() != '/' && std::ranges::none_of(name, is_odd) && !steps_out) return;
        std::string shown(name);
        std::ranges::replace_if(shown, is_odd, '?');
        wrong(
            fmt::format("the name '{}' of an entry is empty, absolute, leads out of the archive, or holds a backslash or a "
                        "control character",
                        shown));
    }

    ZipEntry entry(std::uint64_t& at, std::uint64_t end) const {
        if (end - at < directory_size || !is_at(at, directory_size, directory_signature))
            wrong(fmt::format("at byte {} an entry of its directory should begin", at));
        const ZipRecord record = this->record(at, directory_size);
        const std::uint64_t name = record.u16(28), extra = record.u16(30), comment = record.u16(32);
        if (end - at - directory_size < name + extra + comment) wrong("an entry of its directory reaches too far");
        ZipEntry entry{.name = zip_text(file_.subspan(at + directory_size, name)),
                       .flags = record.u16(8),
                       .crc = record.u32(16),
                       .size = record.u32(24),
                       .local = record.u32(42)};
        check_name(entry.name);
        std::uint64_t packed = record.u32(20);
        std::vector<std::uint64_t*> larger;
        for (std::uint64_t* value : {&entry.size, &packed, &entry.local})
            if (*value == in_extra_field) larger.push_back(value);
        take_extra(at + directory_size + name, extra, larger);
        if ((entry.flags & encrypted) != 0)
            fail_with("{}: the entry {} is encrypted; decrypt the archive first", path_, entry.name);
        check(record.u16(10) == 0,
              "{}: the entry {} is compressed, and only stored ones are read; pack the archive again with zip -0, an npz with "
              "numpy.savez",
              path_, entry.name);
        if (packed != entry.size) wrong(fmt::format("the entry {} is stored, but has two sizes", entry.name));
        at += directory_size + name + extra + comment;
        return entry;
    }

    // Checks the local header, which repeats the directory's entry, and sets where the bytes begin.
    void find_bytes(ZipEntry& entry, std::uint64_t directory) const {
        if (entry.local > directory || directory - entry.local < local_size || !is_at(entry.local, local_size, local_signature))
            wrong(fmt::format("the entry {} has no local header at byte {}", entry.name, entry.local));
        const ZipRecord record = this->record(entry.local, local_size);
        const std::uint64_t name = record.u16(26), extra = record.u16(28);
        std::uint64_t at = entry.local + local_size;
        if (directory - at < name + extra) wrong(fmt::format("the local header of {} reaches too far", entry.name));
        if (zip_text(file_.subspan(at, name)) != entry.name || record.u16(6) != entry.flags || record.u16(8) != 0)
            wrong(fmt::format("the local header of {} does not agree with the directory", entry.name));
        at += name;
        std::uint64_t packed = record.u32(18), size = record.u32(22);
        std::vector<std::uint64_t*> larger;
        for (std::uint64_t* value : {&size, &packed})
            if (*value == in_extra_field) larger.push_back(value);
        take_extra(at, extra, larger);
        const bool later = (entry.flags & sizes_follow) != 0 && size == 0 && packed == 0 && record.u32(14) == 0;
        if (!later && (size != entry.size || packed != entry.size || record.u32(14) != entry.crc))
            wrong(fmt::format("the local header of {} does not agree with the directory", entry.name));
        entry.begin = at + extra;
        if (directory - entry.begin < entry.size)
            wrong(fmt::format("the entry {} has {} bytes, more than there are", entry.name, entry.size));
    }

    // Entries that share bytes make a small file large.
    void check_apart(const std::vector<ZipEntry>& entries) const {
        std::vector<const ZipEntry*> sorted;
        for (const ZipEntry& entry : entries) sorted.push_back(&entry);
        std::ranges::sort(sorted, {}, &ZipEntry::local);
        for (std::size_t i = 1; i < sorted.size(); ++i)
            if (sorted[i]->local < sorted[i - 1]->begin + sorted[i - 1]->size)
                wrong(fmt::format("the entries {} and {} overlap", sorted[i - 1]->name, sorted[i]->name));
    }

    std::span<const std::byte> file_;
    std::string_view path_;
};

std::uint32_t crc_of(std::uint32_t crc, std::span<const std::byte> bytes) {
    return static_cast<std::uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

ZipFile::ZipFile(const std::filesystem::path& path) : path_(path.string()), map_(path) {
    for (const ZipEntry& each : ZipReader(map_.bytes(), path_).entries()) {
        const std::string name(each.name);
        check(entries_.try_emplace(name, Entry{map_.bytes().subspan(each.begin, each.size), each.crc}).second,
              "{}: the ZIP archive is damaged: the entry {} is there twice; get the file once more", path_, name);
        if (!name.ends_with('/')) names_.push_back(name);
    }
}

std::span<const std::byte> ZipFile::bytes(std::string_view name, bool check_sum) const {
    const auto found = entries_.find(name);
    check(found != entries_.end(), "{}: there is no entry {}", path_, name);
    check(!check_sum || crc_of(0, found->second.bytes) == found->second.crc,
          "{}: the entry {} is damaged: its check sum is not the directory's; get the file once more", path_, name);
    return found->second.bytes;
}

void ZipWriter::write(std::string_view bytes) {
    if (file_)
        file_->write(bytes);
    else
        memory_ += bytes;
    written_ += bytes.size();
}

namespace {

void put_number(std::string& out, std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) out += static_cast<char>(value >> (8 * i));
}

// The fields that a local header and a directory's entry have in common: from the version to the lengths.
std::string common_fields(std::uint32_t crc, std::uint64_t size, std::size_t name) {
    constexpr std::uint16_t version = 20, first_of_january_1980 = 0x21;
    std::string out;
    put_number(out, version, 2);
    put_number(out, 0, 2);  // no flags
    put_number(out, 0, 2);  // stored
    put_number(out, 0, 2);
    put_number(out, first_of_january_1980, 2);
    put_number(out, crc, 4);
    put_number(out, size, 4);
    put_number(out, size, 4);
    put_number(out, name, 2);
    put_number(out, 0, 2);  // no extra field
    return out;
}

}  // namespace

void ZipWriter::add(const std::string& name, std::span<const std::span<const std::byte>> parts) {
    check(std::ranges::none_of(entries_, [&](const Entry& entry) { return entry.name == name; }),
          "writing a ZIP archive: the entry {} is there twice", name);
    Entry entry{.name = name, .crc = 0, .size = 0, .begin = written_};
    for (const std::span<const std::byte>& part : parts) {
        entry.crc = crc_of(entry.crc, part);
        entry.size += part.size();
    }
    std::string header;
    put_number(header, local_signature, 4);
    header += common_fields(entry.crc, entry.size, name.size()) + name;
    check(written_ + header.size() + entry.size < std::numeric_limits<std::uint32_t>::max(),
          "writing a ZIP archive: it would be larger than 4 GiB, which other programs may not read");
    write(header);
    for (const std::span<const std::byte>& part : parts) write(zip_text(part));
    entries_.push_back(std::move(entry));
}

void ZipWriter::add(const std::string& name, std::string_view bytes) {
    const std::span<const std::byte> part = std::as_bytes(std::span(bytes));
    add(name, {&part, 1});
}

void ZipWriter::write_directory() {
    const std::uint64_t begin = written_;
    for (const Entry& entry : entries_) {
        std::string record;
        put_number(record, directory_signature, 4);
        put_number(record, 20, 2);  // the version that wrote it
        record += common_fields(entry.crc, entry.size, entry.name.size());
        record.append(2 + 2 + 2 + 4, '\0');  // no comment, one volume, no attributes
        put_number(record, entry.begin, 4);
        write(record + entry.name);
    }
    const std::uint64_t size = written_ - begin;
    check(written_ < std::numeric_limits<std::uint32_t>::max() && entries_.size() < 0xffff,
          "writing a ZIP archive: it would be larger than 4 GiB or 65,534 entries, which other programs may not read");
    std::string end;
    put_number(end, end_signature, 4);
    put_number(end, 0, 4);  // one volume
    put_number(end, entries_.size(), 2);
    put_number(end, entries_.size(), 2);
    put_number(end, size, 4);
    put_number(end, begin, 4);
    put_number(end, 0, 2);  // no comment
    write(end);
}

void ZipWriter::commit() {
    write_directory();
    file_.value().commit();
}

std::string ZipWriter::take() {
    write_directory();
    return std::move(memory_);
}

}  // namespace heddle::app
