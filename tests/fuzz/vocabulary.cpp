#include "apps/translation/text/unicode.h"
#include "apps/translation/vocabulary/counted_vocabulary.h"
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
