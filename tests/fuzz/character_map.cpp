#include <cstdint>
#include <vector>

#include "apps/translation/vocabulary/protobuf.h"
#include "apps/translation/vocabulary/sentencepiece_vocabulary.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace heddle::fuzz {

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

}  // namespace heddle::fuzz
