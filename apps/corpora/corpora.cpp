#include "apps/corpora/corpora.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "apps/corpora/child.h"
#include "apps/corpora/split.h"
#include "apps/translation/run/output_folder.h"
#include "core/file.h"
#include "core/format.h"

namespace heddle::app {
namespace {

// Digests of the repository's files; the address below names a commit, so they do not change.
constexpr CorpusFile multi30k_files[] = {
    {"train.de", "train.de.gz", "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72"},
    {"train.en", "train.en.gz", "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6"},
    {"val.de", "val.de.gz", "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660"},
    {"val.en", "val.en.gz", "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227"},
    {"test.de", "test_2016_flickr.de.gz", "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16"},
    {"test.en", "test_2016_flickr.en.gz", "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182"},
};

constexpr CorpusSet sets[] = {
    {.name = "multi30k",
     .holds = "captions of pictures, 11 words long: 29,000 pairs to train, 1,014 val, 1,000 test (2016); fetches 1.3 MB",
     .licence = "the text names none; its README speaks of non-commercial research and education",
     .source = "https://github.com/multi30k/dataset (task 1, raw)",
     .base = "https://raw.githubusercontent.com/multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw/",
     .files = multi30k_files},
    {.name = "tatoeba-de-en",
     .holds = "short everyday sentences: 168,000 pairs in 2018, and more since, divided here into train, val and test; fetches "
              "some MB",
     .licence = "CC BY 2.0 FR, by the contributors of tatoeba.org",
     .source = "https://www.manythings.org/anki/",
     .base = "https://www.manythings.org/anki/",
     .archive = "deu-eng.zip",
     .member = "deu.txt"},
    {.name = "iwslt2016-de-en",
     .holds = "TED talks: some 200,000 pairs",
     .licence = "CC BY-NC-ND 3.0, by TED Conferences LLC",
     .source = "https://wit3.fbk.eu/2016-01",
     .steps = "download 2016-01.tgz from that page, unpack it and the 2016-01/texts/de/en/de-en.tgz in it, and give heddle train "
              "--train de-en/train.tags.de-en: it reads those files as they are"},
};

}  // namespace

std::span<const CorpusSet> corpus_sets() { return sets; }

namespace {

namespace fs = std::filesystem;

ScratchFile download(const std::string& address) {
    const ScratchFile nothing;
    ScratchFile file;
    // HTTPS only, including redirects, because some corpora have no digest to check.
    const ChildResult curl = run_child(
        {"curl", "--proto", "=https,file", "--fail", "--location", "--silent", "--show-error", "--", address}, nothing, file);
    check(curl.found, "curl is missing: install it (apt install curl), or fetch {} by hand and name its folder with --from",
          address);
    check(curl.status == 0, "{} cannot be fetched: {}; try again, or fetch it by hand and name its folder with --from", address,
          curl.errors.empty() ? fmt::format("curl ended with status {}", curl.status) : curl.errors);
    return file;
}

// A file and its name in messages.
struct Published {
    std::string name;
    ScratchFile file;
};

// A set and the source of its files.
struct Origin {
    const CorpusSet& set;
    const fs::path& from;
    const Say& say;

    std::string address(std::string_view name) const { return fmt::format("{}{}", set.base, name); }
    // A file as published: downloaded, or from the folder, where it may also be unpacked (`plain`).
    Published file(const std::string& name, const std::string& plain) const {
        if (from.empty()) {
            say("fetching " + address(name));
            return {address(name), download(address(name))};
        }
        for (const std::string& each : {name, plain})
            if (fs::exists(from / each)) return {(from / each).string(), ScratchFile(read_file(from / each))};
        fail_with("--from {}: there is no {} in it, and no {}; fetch {} by hand", from.string(), name, plain, address(name));
    }
};

std::string unpacked(const Published& published) {
    ByteSource source(published.file.descriptor(), published.name);
    std::string text;
    std::array<char, 1 << 16> block;
    while (const std::size_t got = source.read(block)) text.append(block.data(), got);
    return text;
}

// Extracts the member of a ZIP file; any other file is taken as the member itself.
ScratchFile member_of(ScratchFile file, const CorpusSet& set) {
    constexpr std::string_view zip_magic = "PK\x03\x04";
    if (!file.text().starts_with(zip_magic)) {
        file.rewind();
        return file;
    }
    ScratchFile text;
    const ChildResult unzip = run_child({"unzip", "-p", "/dev/stdin", std::string(set.member)}, file, text);
    check(unzip.found, "unzip is missing: install it (apt install unzip), or unpack {} by hand and name its folder with --from",
          set.archive);
    check(unzip.status == 0, "{}: {} cannot be unpacked: {}; fetch it again", set.archive, set.member, unzip.errors);
    return text;
}

// Existing files are never overwritten.
void check_same(const fs::path& path, std::string_view wanted) {
    const std::string found = sha256(read_file(path));
    check(found == wanted, "{} is another file: its SHA-256 is {}, wanted {}; move it away, or give another folder with --out",
          path.string(), found, wanted);
}

// Checks all files before writing the first, so that a folder never mixes parts of different corpora.
template <class File, class Digest>
std::vector<File> missing(std::vector<File> files, const fs::path& out, const Say& say, Digest digest) {
    std::erase_if(files, [&](const File& file) {
        const fs::path path = out / file.name;
        if (!fs::exists(path)) return false;
        check_same(path, digest(file));
        say(fmt::format("{}: already there", path.string()));
        return true;
    });
    return files;
}

void fetch_file(const Origin& origin, const CorpusFile& file, const fs::path& out) {
    const fs::path path = out / file.name;
    const std::string packed(file.published);
    const std::string plain = packed.ends_with(".gz") ? packed.substr(0, packed.size() - 3) : packed;
    const Published published = origin.file(packed, plain);
    const std::string text = unpacked(published), found = sha256(text);
    check(found == file.sha256,
          "{} is not the file that was wanted: the SHA-256 of its text is {}, wanted {}; nothing was written", published.name,
          found, file.sha256);
    write_file_atomically(path, text);
    origin.say(fmt::format("{}: written, its SHA-256 is right", path.string()));
}

// One language of one part of a divided corpus.
struct Side {
    std::string name;
    std::string text;
    std::int64_t lines;
};

Side side_of(std::string name, const std::vector<std::string_view>& lines) {
    Side side{std::move(name), "", static_cast<std::int64_t>(lines.size())};
    for (const std::string_view line : lines) side.text.append(line).push_back('\n');
    return side;
}

void divide_archive(const Origin& origin, const fs::path& out) {
    const auto& [set, from, say] = origin;
    const std::string archive(set.archive), member(set.member);
    Published published = origin.file(archive, member);
    say(fmt::format("it changes with time, so there is no digest to hold it against; the SHA-256 of this one is {}",
                    sha256(published.file.text())));
    const ScratchFile text = member_of(std::move(published.file), set);
    LineReader lines(text.descriptor(), member, false);
    const DividedCorpus divided = divide_corpus(lines);
    lines.say_changes(say);
    check(divided.train.size() > 0 && divided.val.size() > 0 && divided.test.size() > 0,
          "{}: {} cannot be divided into train, val and test; give a larger text", member, counted_lines(lines.number()));
    say(fmt::format("left out, empty or with a sentence that is in val or test: {}", counted_lines(divided.left_out)));
    const std::pair<std::string_view, const Corpus*> parts[] = {
        {"train", &divided.train}, {"val", &divided.val}, {"test", &divided.test}};
    std::vector<Side> sides;
    for (const auto& [name, corpus] : parts) {
        sides.push_back(side_of(fmt::format("{}.de", name), corpus->source_views()));
        sides.push_back(side_of(fmt::format("{}.en", name), corpus->target_views()));
    }
    for (const Side& side : missing(std::move(sides), out, say, [](const Side& one) { return sha256(one.text); })) {
        write_file_atomically(out / side.name, side.text);
        say(fmt::format("{}: {}", (out / side.name).string(), counted_lines(side.lines)));
    }
}

}  // namespace

void fetch_corpus(const CorpusSet& set, const fs::path& out, const fs::path& from, const Say& say) {
    check(set.steps.empty(), "{} is not fetched by this command; see {}: {}", set.name, set.source, set.steps);
    check(from.empty() || fs::is_directory(from), "--from {}: there is no such folder", from.string());
    make_folder(out, "--out");
    say(fmt::format("{}, from {}; licence: {}", set.name, set.source, set.licence));
    const Origin origin{set, from, say};
    const std::vector<CorpusFile> files(set.files.begin(), set.files.end());
    for (const CorpusFile& file : missing(files, out, say, [](const CorpusFile& one) { return one.sha256; }))
        fetch_file(origin, file, out);
    if (!set.archive.empty()) divide_archive(origin, out);
}

}  // namespace heddle::app
