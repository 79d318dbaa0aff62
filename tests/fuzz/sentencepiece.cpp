#include "apps/translation/vocabulary/sentencepiece_vocabulary.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace heddle::fuzz {

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

}  // namespace heddle::fuzz
