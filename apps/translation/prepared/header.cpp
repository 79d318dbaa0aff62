#include "apps/translation/prepared/header.h"

#include <nlohmann/json.hpp>

#include "apps/translation/run/json.h"
#include "core/format.h"

namespace heddle::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* format_name = "heddle prepared text";

// Applies `field` to every field with its JSON name; used for writing and for reading.
template <class Header, class Field>
void visit(Header& header, Field&& field) {
    field("pairs", header.pairs);
    field("left_out", header.left_out);
    field("source_vocabulary", header.source_vocabulary);
    field("target_vocabulary", header.target_vocabulary);
    field("vocabulary_digest", header.vocabulary_digest);
    field("text_digest", header.text_digest);
    field("options", header.options);
}
template <class Shard, class Field>
void visit_shard(Shard& shard, Field&& field) {
    field("pairs", shard.pairs);
    field("tokens", shard.tokens);
    field("lengths_digest", shard.lengths_digest);
    field("ids_digest", shard.ids_digest);
}

std::int64_t count_at(const nlohmann::json& value) {
    // Checked by type, since the library would convert any number, even 1e300.
    constexpr std::int64_t most = std::int64_t{1} << 48;  // products and sums of a few such numbers fit into 64 bits
    if (!value.is_number_integer()) throw Error("a count is no integer");
    const auto number = value.get<std::int64_t>();
    check(number >= 0 && number <= most, "{} is no count", number);
    return number;
}

void take(const nlohmann::json& object, const char* name, auto& field) {
    try {
        const nlohmann::json& value = object.at(name);
        if constexpr (std::is_same_v<decltype(field), std::int64_t&>)
            field = count_at(value);
        else
            value.get_to(field);
    } catch (const nlohmann::json::exception&) {
        fail_with("{} is missing or of another type", name);
    }
}

void check_sums(const PreparedHeader& header) {
    constexpr std::int64_t fewest = 4, most = std::int64_t{1} << 31;  // at least the special ids; ids have 32 bits
    for (const std::int64_t size : {header.source_vocabulary, header.target_vocabulary})
        check(size >= fewest && size < most, "a vocabulary of {} tokens", size);
    std::int64_t pairs = 0;
    for (const PreparedShard& shard : header.shards) {
        check(shard.pairs > 0, "a shard without pairs");
        pairs += shard.pairs;
        if (pairs > header.pairs) break;  // stops before the sum could exceed 64 bits
    }
    check(pairs == header.pairs, "{} pairs, but its shards have {}", header.pairs, pairs);
}

}  // namespace

std::int64_t PreparedHeader::id_bytes() const { return std::max(source_vocabulary, target_vocabulary) <= 1 << 16 ? 2 : 4; }

std::int64_t PreparedHeader::tokens() const {
    std::int64_t sum = 0;
    for (const PreparedShard& shard : shards) sum += shard.tokens;
    return sum;
}

std::string PreparedHeader::serialized() const {
    Json object = {{"format", format_name}, {"version", prepared_version}};
    visit(*this, [&](const char* name, const auto& field) { object[name] = field; });
    if (!made_of.empty()) object["made_of"] = made_of;
    object["shards"] = Json::array();
    for (const PreparedShard& shard : shards) {
        Json one;
        visit_shard(shard, [&](const char* name, const auto& field) { one[name] = field; });
        object["shards"].push_back(std::move(one));
    }
    return sealed_json(object);
}

PreparedHeader PreparedHeader::parse(std::string_view text, std::string_view name) {
    const nlohmann::json object = bounded_json(text);
    const auto is = [&](const char* field, const auto& wanted) {
        return object.is_object() && object.contains(field) && object[field] == wanted;
    };
    check(is("format", format_name), "{}: this is not the header of a prepared text; {}", name, prepare_again);
    // Checked before the digest, which another version may compute differently.
    check(is("version", prepared_version), "{}: it was prepared by another version of heddle (its layout is not {}); {}", name,
          prepared_version, prepare_again);
    check(is_sealed_json(text), "{}: the file is damaged or was changed since it was written; {}", name, prepare_again);
    try {
        PreparedHeader header;
        visit(header, [&](const char* field_name, auto& field) { take(object, field_name, field); });
        if (object.contains("made_of")) take(object, "made_of", header.made_of);
        check(object.contains("shards") && object["shards"].is_array(), "shards is missing or of another type");
        for (const nlohmann::json& each : object["shards"]) {
            PreparedShard& shard = header.shards.emplace_back();
            visit_shard(shard, [&](const char* field_name, auto& field) { take(each, field_name, field); });
        }
        check_sums(header);
        check(header.serialized() == text, "it is not as heddle prepare writes it");
        return header;
    } catch (const Error& error) {
        fail_with("{}: the file is damaged: {}; {}", name, error.what(), prepare_again);
    }
}

std::filesystem::path lengths_file(const std::filesystem::path& folder, std::size_t shard) {
    return folder / fmt::format("{:05}.lengths", shard);
}
std::filesystem::path ids_file(const std::filesystem::path& folder, std::size_t shard) {
    return folder / fmt::format("{:05}.ids", shard);
}

}  // namespace heddle::app
