#include <cstdint>
#include <vector>

#include "apps/translation/text/unicode.h"
#include "apps/translation/vocabulary/counted_vocabulary.h"
#include "apps/translation/vocabulary/protobuf.h"
#include "apps/translation/vocabulary/sentencepiece_vocabulary.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace heddle::fuzz {
namespace {

void use(const app::Vocabulary& vocabulary, std::string_view text) {
    const std::vector<std::int32_t> ids = vocabulary.encode(text);
    for (const std::int32_t id : ids) must(id >= 0 && id < vocabulary.size(), "ids below the size");
    const std::string decoded = vocabulary.decode(ids);
    must(app::is_utf8(decoded), "what is decoded is UTF-8");
    (void)vocabulary.unknown_parts(text);
    for (std::int32_t id = 0; id < vocabulary.size(); ++id) (void)vocabulary.token(id);
    must(app::load_counted(vocabulary.serialized(), "again")->serialized() == vocabulary.serialized(), "the same file");
    must(app::load_counted(vocabulary.serialized(), "again")->encode(text) == ids, "the same ids");
}

}  // namespace

// A map has at least 1 KB, of which most units are empty. So an input lists the others: the number of blocks of 256 units, less
// one; for each unit its place (two bytes) and its value (four), up to the place 65535; then the rules' texts.
void character_map(std::string_view bytes) {
    static const std::string model = seeds_of("sentencepiece").at("bpe");
    if (bytes.empty()) return;
    std::vector<std::uint32_t> units(256 * (1 + static_cast<std::size_t>(bytes[0]) % 16), 1u << 31);
    for (bytes.remove_prefix(1); bytes.size() >= 2;) {
        const std::size_t place = app::take_fixed(bytes.substr(0, 2));
        bytes.remove_prefix(2);
        if (place == 0xffff || bytes.size() < 4) break;
        units[place % units.size()] = static_cast<std::uint32_t>(app::take_fixed(bytes.substr(0, 4)));
        bytes.remove_prefix(4);
    }
    std::string map, rules, with_map = model;
    app::put_fixed(map, static_cast<std::uint32_t>(units.size() * 4));
    for (const std::uint32_t unit : units) app::put_fixed(map, unit);
    map += bytes;
    app::put_bytes(rules, 2, map);
    app::put_bytes(with_map, 3, rules);  // the last map of a message counts
    sentencepiece(with_map);
}

// A model that is accepted encodes and decodes, or says why not.
void sentencepiece(std::string_view bytes) {
    std::unique_ptr<app::Vocabulary> vocabulary;
    const bool lowercase = bytes.size() % 2 == 1;
    if (!accepted([&] { vocabulary = app::load_sentencepiece(std::string(bytes), "vocab.model", lowercase); })) return;
    std::vector<std::int32_t> all;
    for (std::int32_t id = 0; id < vocabulary->size(); ++id) {
        (void)vocabulary->token(id);
        all.push_back(id);
    }
    accepted([&] { must(vocabulary->decode(all).find('\n') == std::string::npos, "no line end"); });
    for (const char* text : {"", "a", "aab aaaa", "the cat sat", "\xEF\xAC\x81 \xC3\x84pfel", "\xff\xfe", "   \t ab\r"})
        accepted([&] {
            const std::vector<std::int32_t> ids = vocabulary->encode(text);
            for (const std::int32_t id : ids) must(id >= 0 && id < vocabulary->size(), "ids below the size");
            (void)vocabulary->decode(ids);
            (void)vocabulary->unknown_parts(text);
        });
}

// A map that is accepted comes back as it was, and fits a model or is refused; then no text becomes an id of another vocabulary.
void token_map(std::string_view bytes) {
    static const std::string model = seeds_of("sentencepiece").at("bpe");
    app::TokenMap map;
    if (!accepted([&] { map = app::TokenMap::from_json(bytes, "vocab.map.json"); })) return;
    must(map.json() == bytes, "the same file");
    std::unique_ptr<app::Vocabulary> vocabulary;
    if (!accepted([&] { vocabulary = app::load_sentencepiece(model, "vocab.model", false, map); })) return;
    std::vector<std::int32_t> all;
    for (std::int32_t id = 0; id < vocabulary->size(); ++id) {
        (void)vocabulary->token(id);
        all.push_back(id);
    }
    const std::string decoded = vocabulary->decode(all);
    must(app::is_utf8(decoded) && decoded.find('\n') == std::string::npos, "text without line ends is decoded");
    for (const char* text : {"", ">>a<< the cat sat", "aab </s> <pad>", "\xff\xfe"}) {
        for (const std::int32_t id : vocabulary->encode(text))
            must(id == app::unk_id || (id > app::eos_id && id < vocabulary->size()), "ids of text");
        (void)vocabulary->unknown_parts(text);
    }
}

// A vocabulary's file, and behind U+001C a text for it. The same bytes are lines of text that a vocabulary is trained on, too.
void vocabulary(std::string_view bytes) {
    const Parts files = parted(bytes);
    if (app::is_counted_vocabulary(files.first)) {
        std::unique_ptr<app::Vocabulary> vocabulary;
        if (accepted([&] { vocabulary = app::load_counted(files.first, "vocab.tsv"); })) use(*vocabulary, files.second);
        return;
    }
    app::VocabularyOptions options{.type = app::VocabularyType::word, .size = 0};
    const unsigned how = switches(bytes);
    if (how & 1) options.type = app::VocabularyType::character;
    options.lowercase = (how & 2) != 0;
    std::vector<std::string_view> lines;
    for (std::string_view rest = bytes; !rest.empty();) {
        const Parts parts = parted(rest, '\n');
        lines.push_back(parts.first);
        rest = parts.second;
    }
    std::unique_ptr<app::Vocabulary> trained;
    if (!accepted([&] { trained = app::train_vocabulary(options, lines); })) return;
    for (const std::string_view line : lines) use(*trained, line);
}

}  // namespace heddle::fuzz
