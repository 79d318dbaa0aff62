#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/translation/prepared/prepared_text.h"
#include "core/digest.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace heddle::fuzz {
namespace {

// The files of one shard, as parts of an input.
struct Files {
    std::string_view header, lengths, ids;
};

// A folder with a vocabulary, in which the other files are replaced.
const std::filesystem::path& folder() {
    static const std::filesystem::path made = [] {
        const std::filesystem::path path = output_file("prepared");
        std::filesystem::create_directories(path);
        const std::vector<std::string> lines = {"a b c"};
        app::train_vocabulary({.type = app::VocabularyType::word, .size = 0}, lines)->save(path / "vocab.tsv");
        return path;
    }();
    return made;
}

// Without waiting for the disk.
void write(const std::filesystem::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void read_text(const Files& files, std::string_view header) {
    write(folder() / app::prepared_header_name, header);
    write(app::lengths_file(folder(), 0), files.lengths);
    write(app::ids_file(folder(), 0), files.ids);
    accepted([&] {
        const app::PreparedText text(folder());
        const app::TokenPairs pairs(text);
        bool whole = true;
        for (std::int64_t i = 0; i < pairs.size(); ++i)
            whole = accepted([&] {
                        const app::TokenPair pair = pairs.pair(i);
                        const app::PairLengths lengths = pairs.lengths(i);
                        must(lengths.source == static_cast<std::int64_t>(pair.source.size()), "as many ids as the lengths say");
                        must(lengths.width() == pair.width() && lengths.words == pair.words, "the same lengths");
                        for (const std::int32_t id : pair.source)
                            must(id >= 0 && id < text.header().source_vocabulary, "an id of the vocabulary");
                    }) &&
                    whole;
        must(whole || !accepted([&] { text.check_all(); }), "a check finds what cannot be read");
        const std::string again = text.header().serialized();
        must(app::PreparedHeader::parse(again, "again").serialized() == again, "the same header");
    });
}

// No mutation finds a digest: the header with the right ones, written as the program does. The text itself when it is none.
std::string with_digests(const Files& files) {
    auto object = nlohmann::ordered_json::parse(files.header, nullptr, false);
    if (!object.is_object()) return std::string(files.header);
    object["vocabulary_digest"] = app::vocabulary_digest(folder());
    if (object.contains("shards") && object["shards"].is_array() && !object["shards"].empty() &&
        object["shards"][0].is_object()) {
        object["shards"][0]["lengths_digest"] = digest(files.lengths);
        object["shards"][0]["ids_digest"] = digest(files.ids);
    }
    object.erase("digest");
    constexpr auto replace = nlohmann::ordered_json::error_handler_t::replace;
    object["digest"] = digest(object.dump(1, ' ', false, replace));
    return object.dump(1, ' ', false, replace) + "\n";
}

}  // namespace

void prepared(std::string_view bytes) {
    const Parts header = parted(bytes), files = parted(header.second);
    const Files all{.header = header.first, .lengths = files.first, .ids = files.second};
    read_text(all, all.header);
    read_text(all, with_digests(all));
}

}  // namespace heddle::fuzz
