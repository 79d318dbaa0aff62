// Malicious SentencePiece models are refused with an Error before the library, which trusts them, reads them.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "apps/translation/vocabulary/character_map.h"
#include "apps/translation/vocabulary/protobuf.h"
#include "apps/translation/vocabulary/sentencepiece_check.h"
#include "apps/translation/vocabulary/sentencepiece_vocabulary.h"
#include "core/random.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

const std::vector<std::string> text{"The quick brown fox, who jumps over the lazy dog, isn't lazy!",
                                    "the dog sees the fox and the fox sees the dog", "a b c d e f g h i j k l m n o p q r s t"};
// Letters, full-width and compatibility forms that NFKC changes, bytes that are not UTF-8, a NUL, and a long line.
const std::vector<std::string> lines{"the fox", "\xef\xbc\xb4\xef\xbd\x88\xef\xbd\x85 \xef\xac\x81 \xe2\x91\xa0 \xef\xb7\xba",
                                     "\xff\xc0\x80 \x01\x02", std::string("a\0b\0\0", 5), std::string(65536, 'a')};

std::string trained(VocabularyType type = VocabularyType::unigram) {
    const std::vector<std::string_view> views(text.begin(), text.end());
    return train_sentencepiece({.type = type, .size = 45}, views)->serialized();
}

// The message with field `number` replaced by `change` of it.
std::string changed(std::string_view message, unsigned number, const std::function<std::string(std::string_view)>& change) {
    std::string out;
    for (ProtobufFields fields(message); fields.next();) {
        if (fields.field == number)
            put_bytes(out, number, change(fields.bytes));
        else
            out += fields.all;
    }
    return out;
}

std::string_view part(std::string_view message, unsigned number) {
    for (ProtobufFields fields(message); fields.next();)
        if (fields.field == number) return fields.bytes;
    ADD_FAILURE() << "there is no field " << number;
    return {};
}

std::string with_map(const std::string& model, const std::string& map, unsigned normalizer = 3) {
    if (normalizer == 3)
        return changed(model, 3, [&](std::string_view spec) { return changed(spec, 2, [&](auto) { return map; }); });
    std::string spec, out = model;
    put_bytes(spec, 2, map);
    put_bytes(out, normalizer, spec);
    return out;
}

std::string piece(std::string_view name, float score = 0, std::uint64_t type = 1) {
    std::string message;
    put_bytes(message, 1, name);
    put_key(message, 2, Wire::fixed32);
    put_fixed(message, std::bit_cast<std::uint32_t>(score));
    put_key(message, 3, Wire::varint);
    put_varint(message, type);
    return message;
}

std::string with_piece(const std::string& model, const std::string& message) {
    std::string out = model;
    put_bytes(out, 1, message);
    return out;
}

// Loads the model and encodes text with it; returns the error's message.
std::string refusal(const std::string& model) {
    try {
        const auto vocabulary = load_sentencepiece(model, "vocab.model", false);
        for (const std::string& line : lines) {
            try {
                vocabulary->decode(vocabulary->encode(line));
            } catch (const Error&) {  // the library reports what it cannot encode
            }
        }
    } catch (const Error& error) {
        EXPECT_LT(std::string(error.what()).size(), 400u);
        return error.what();
    }
    return "";
}

void expect_refused(const std::string& model, const std::string& why) {
    const std::string message = refusal(model);
    EXPECT_NE(message.find(why), std::string::npos) << "wanted: " << why << "\ngot: " << message;
}

// ---- the double array of normalisation rules

std::string map_of(const std::vector<std::uint32_t>& units, const std::string& texts) {
    std::string map;
    put_fixed(map, static_cast<std::uint32_t>(units.size() * 4));
    for (const std::uint32_t unit : units) put_fixed(map, unit);
    return map + texts;
}

// A unit at `node` whose children have the base `base`, for one byte.
std::uint32_t unit(std::size_t node, std::size_t base, unsigned label, bool leaf = false) {
    return static_cast<std::uint32_t>(node ^ base) << 10 | (leaf ? 1u << 8 : 0) | label;
}

// This many rules for "a", "aa", "aaa", ..., all with the same text.
std::vector<std::uint32_t> nested(std::size_t rules, bool leaves = true) {
    std::vector<std::uint32_t> units(256 * (rules + 2), 1u << 31);
    units[0] = unit(0, 256, 0);
    for (std::size_t i = 0; i < rules; ++i) {
        const std::size_t node = (256 * (i + 1)) ^ 'a';
        units[node] = unit(node, 256 * (i + 2), 'a', leaves);
    }
    return units;
}

TEST(HostileSentencePiece, TheTablesStandOnModelsThatLoad) {
    for (const VocabularyType type : {VocabularyType::unigram, VocabularyType::bpe}) EXPECT_EQ(refusal(trained(type)), "");
    const std::string model = trained(), texts("x\0", 2);
    EXPECT_EQ(refusal(with_map(model, map_of(nested(most_nested_rules), texts))), "");
    EXPECT_EQ(refusal(with_map(model, map_of(nested(longest_piece, false), texts))), "");
    EXPECT_EQ(refusal(with_map(model, map_of(nested(3), texts), 5)), "");
    EXPECT_EQ(refusal(with_map(model, "")), "");
    EXPECT_EQ(refusal(with_piece(model, piece("new", -2))), "");
    EXPECT_EQ(refusal(with_piece(model, piece(std::string(longest_piece, 'a')))), "");
    // The rules are applied: "aa" becomes "x".
    const auto vocabulary = load_sentencepiece(with_map(model, map_of(nested(2), texts)), "model", false);
    EXPECT_EQ(vocabulary->decode(vocabulary->encode("aab")), vocabulary->decode(vocabulary->encode("xb")));
}

TEST(HostileSentencePiece, RulesThatLeadAnywhereAreRefused) {
    const std::string model = trained(), x("x\0", 2);
    const std::string good = map_of(nested(3), x);
    std::vector<std::uint32_t> far = nested(3), circle = nested(3), leaf_outside = nested(3), empty_circle = nested(3, false);
    far[256 ^ 'a'] = 1u << 30 | 1u << 9 | 'a';
    circle[768 ^ 'a'] = unit(768 ^ 'a', 256, 'a', true);
    empty_circle[768 ^ 'a'] = unit(768 ^ 'a', 256, 'a');
    leaf_outside[512] = 1u << 31 | 2;
    std::vector<std::uint32_t> half = nested(1);
    half.resize(256 + 128);
    const std::vector<std::pair<std::string, std::string>> cases = {
        {good.substr(0, 3), "it has 3 bytes"},
        {good.substr(0, 4), "it has 4 bytes"},
        {map_of({}, x), "claims 0 of"},
        {map_of({unit(0, 0, 0)}, x), "leads to unit 255 of 1"},
        {std::string("\xff\xff\xff\xff", 4) + good.substr(4), "claims 4294967295"},
        {good.substr(0, good.size() - 2), "claims 5120 of 5120"},
        {std::string("\x01\x14\0\0", 4) + good.substr(4), "claims 5121"},
        {map_of(nested(3), "x"), "no end"},
        {map_of(nested(3), std::string("x\0y", 3)), "no end"},
        {map_of(half, x), "leads to unit 511 of 384"},
        {map_of(far, x), "leads to unit"},
        {map_of(leaf_outside, x), "begins at byte 2 of 2"},
        {map_of(circle, x), "for more than 1024 bytes"},
        {map_of(empty_circle, x), "for more than 1024 bytes"},
        {map_of(nested(most_nested_rules + 1), x), "more than 32 rules begin alike"},
        {map_of(nested(longest_piece + 1, false), x), "for more than 1024 bytes"},
        {map_of(nested(1), std::string(longest_piece + 1, 'x') + '\0'), "has 1025 bytes"},
        {map_of(nested(1), std::string("\xc3(\0", 3)), "not UTF-8"},
    };
    for (const auto& [map, why] : cases)
        for (const unsigned normalizer : {3u, 5u}) expect_refused(with_map(model, map, normalizer), why);
    // The last field counts, as in protobuf: a bad map after a good one.
    std::string spec, twice = model;
    put_bytes(spec, 2, cases[4].first);
    put_bytes(twice, 3, spec);
    expect_refused(twice, cases[4].second);
}

TEST(HostileSentencePiece, RulesThatShareTheirEndsAreReadInLinearTime) {
    // Each base is reached by 255 bytes: 255^200 paths.
    constexpr std::size_t levels = 200;
    std::vector<std::uint32_t> units(256 * (levels + 2), 1u << 31);
    units[0] = unit(0, 256, 0);
    for (std::size_t i = 1; i <= levels; ++i)
        for (unsigned byte = 1; byte < 256; ++byte) units[256 * i ^ byte] = unit(256 * i ^ byte, 256 * (i + 1), byte);
    EXPECT_NO_THROW(check_character_map(map_of(units, std::string("x\0", 2))));
}

TEST(HostileSentencePiece, DamagedRulesAreRefusedOrHarmless) {
    const std::string model = trained();
    const std::string good(part(part(model, 3), 2));
    ASSERT_GT(good.size(), 100'000u);
    Sequence random(7);
    int refused = 0;
    for (int trial = 0; trial < 60; ++trial) {
        std::string map = good;
        // Changes the trie, whose first units matter most.
        const std::size_t reach = trial % 2 == 0 ? 4096 : map.size();
        for (int change = 0; change < 200; ++change) map[4 + random.below(reach - 4)] = static_cast<char>(random.below(256));
        if (!refusal(with_map(model, map)).empty()) ++refused;
    }
    EXPECT_GT(refused, 50);
}

// ---- tokens and the surrounding message

TEST(HostileSentencePiece, TokensThatTheLibraryCannotHoldAreRefused) {
    const std::string model = trained();
    const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    expect_refused(with_piece(model, piece("")), "token 45 has 0 bytes");
    expect_refused(with_piece(model, ""), "token 45 has 0 bytes");
    expect_refused(with_piece(model, piece(std::string("a\0b", 3))), "token 45 holds a NUL");
    expect_refused(with_piece(model, piece("\xc3(")), "token 45 is not UTF-8");
    expect_refused(with_piece(model, piece(std::string(longest_piece + 1, 'a'))), "token 45 has 1025 bytes");
    expect_refused(with_piece(model, piece(std::string(10'000'000, 'a'), 0, 4)), "token 45 has 10000000 bytes");
    for (const float score : {nan, infinity, -infinity})
        expect_refused(with_piece(model, piece("new", score)), "the score of token 45");
    expect_refused(changed(model, 2, [](std::string_view spec) { return std::string(spec) + "\xe2\x02\x01\xff"; }),
                   "the name of a special token");
}

TEST(HostileSentencePiece, UserDefinedSymbolsThatBeginAlikeAreBounded) {
    // 2^32 + 4 is truncated to the type 4, a user-defined symbol.
    for (const std::uint64_t type : {std::uint64_t{4}, (std::uint64_t{1} << 32) + 4}) {
        std::string model = trained();
        for (std::size_t size = 1; size <= most_nested_symbols; ++size)
            model = with_piece(model, piece("\u20ac" + std::string(size, 'a'), 0, type));
        EXPECT_EQ(refusal(model), "");
        model = with_piece(model, piece("\u20ac", 0, type));
        expect_refused(model, "more than 64 of its user-defined symbols begin alike");
    }
}

TEST(HostileSentencePiece, AMessageThatIsNoneIsRefused) {
    const std::string model = trained();
    expect_refused(model + "\x0a\xff\xff\xff\xff\x0f", "not a message");  // a length beyond the file
    expect_refused(model + "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "not a message");
    expect_refused(with_piece(model,
                              "\x0a\x05"
                              "abc"),
                   "not a message");                      // beyond its token
    expect_refused(model + "\x0b\x0c", "not a message");  // a group
    expect_refused(model + std::string(1, '\0'), "not a message");
    expect_refused(model + std::string(200'000, '\x0b'), "not a message");
    std::string many;
    for (int i = 0; i < 1000; ++i) put_bytes(many, 1, piece("t" + std::to_string(i)));
    std::string million;
    for (std::size_t i = 0; i <= most_pieces / 1000; ++i) million += many;
    expect_refused(million, "more than 1000000 tokens");
    expect_refused(std::string(largest_model + 1, '\n'), "a vocabulary has at most");
}

TEST(HostileSentencePiece, ItsSelfTestIsLeftOut) {
    // The library would run this self-test, which fails, and print its texts to stderr unchanged.
    std::string sample, samples, model = trained();
    put_bytes(sample, 1, "the fox");
    put_bytes(sample, 2, "\x1b[31mred");
    put_bytes(samples, 1, sample);
    put_bytes(model, 4, samples);
    testing::internal::CaptureStderr();
    EXPECT_EQ(refusal(model), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(load_sentencepiece(model, "model", false)->serialized(), model);
}

}  // namespace
}  // namespace heddle::app
