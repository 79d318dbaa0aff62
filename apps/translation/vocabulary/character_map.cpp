#include "apps/translation/vocabulary/character_map.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "apps/translation/vocabulary/protobuf.h"
#include "core/error.h"
#include "core/format.h"

namespace heddle::app {
namespace {

// Writes the trie; character_map_check.cpp, which reads it, explains units, bases and labels. Nodes with equal subtrees share
// them, since all ways to write a character lead to one text.
class DoubleArrayWriter {
  public:
    explicit DoubleArrayWriter(const CharacterRules& rules) {
        for (const auto& [from, to] : rules) {
            const auto [text, is_new] = offsets_.try_emplace(to, texts_.size());
            if (is_new) texts_.append(to).push_back('\0');
            keys_.push_back({from, static_cast<std::uint32_t>(text->second)});
        }
        add_block();
        used_[0] = is_base_[0] = true;  // the root
        put_node(0, 0, write(0, keys_.size(), 0));
    }

    std::string map() const {
        std::string out;
        put_fixed(out, static_cast<std::uint32_t>(units_.size() * sizeof(std::uint32_t)));
        for (const std::uint32_t unit : units_) put_fixed(out, unit);
        return out + texts_;
    }

  private:
    static constexpr std::size_t block = 256;
    static constexpr std::uint32_t is_value = 1u << 31, has_leaf = 1u << 8;

    struct Key {
        std::string_view bytes;
        std::uint32_t value;
    };
    // A subtree's base and contents. Nodes with equal children share one base.
    struct Below {
        std::size_t base;
        bool leaf;
    };
    struct Child {
        std::size_t label;
        Below below;
    };

    // Writes the subtree of the keys [begin, end), which agree in their first `depth` bytes.
    Below write(std::size_t begin, std::size_t end, std::size_t depth) {
        const bool leaf = keys_[begin].bytes.size() == depth;  // sorted: a key precedes those that it begins
        const std::uint32_t value = keys_[begin].value;
        std::vector<Child> children;
        for (std::size_t i = begin + leaf, next = i; i < end; i = next) {
            const char label = keys_[i].bytes[depth];
            while (next < end && keys_[next].bytes[depth] == label) ++next;
            children.push_back({static_cast<unsigned char>(label), write(i, next, depth + 1)});
        }
        std::vector<std::size_t> content{leaf, leaf ? value : 0};
        for (const auto& [label, below] : children) content.insert(content.end(), {label, below.base, below.leaf});
        const auto [known, is_new] = bases_.try_emplace(std::move(content), 0);
        if (!is_new) return {known->second, leaf};
        std::vector<std::size_t> labels;
        if (leaf) labels.push_back(0);
        for (const Child& child : children) labels.push_back(child.label);
        const std::size_t base = known->second = free_base(labels);
        is_base_[base] = true;
        for (const std::size_t label : labels) used_[base ^ label] = true;
        if (leaf) units_[base] = is_value | value;
        for (const auto& [label, below] : children) put_node(base ^ label, label, below);
        return {base, leaf};
    }

    void put_node(std::size_t node, std::size_t label, const Below& below) {
        const std::size_t offset = node ^ below.base;
        check(offset < 1u << 21, "character map: {} rules are too many", keys_.size());
        units_[node] = static_cast<std::uint32_t>(offset << 10 | label) | (below.leaf ? has_leaf : 0);
    }

    // An unused base for which the units of all these labels are free. Skips blocks that are nearly full.
    std::size_t free_base(const std::vector<std::size_t>& labels) {
        constexpr std::size_t blocks_searched = 3;
        const std::size_t size = units_.size(), searched = std::min(size, blocks_searched * block);
        for (std::size_t unit = size - searched; unit < size; ++unit) {
            const std::size_t base = unit ^ labels.front();
            if (used_[unit] || is_base_[base]) continue;
            if (std::ranges::none_of(labels, [&](std::size_t label) { return used_[base ^ label]; })) return base;
        }
        add_block();
        return size;
    }

    // A free unit has a label that is not a byte.
    void add_block() {
        units_.resize(units_.size() + block, is_value);
        used_.resize(units_.size());
        is_base_.resize(units_.size());
    }

    std::vector<Key> keys_;
    std::unordered_map<std::string, std::size_t> offsets_;
    std::string texts_;
    std::map<std::vector<std::size_t>, std::size_t> bases_;
    std::vector<std::uint32_t> units_;
    std::vector<char> used_, is_base_;  // used as bools
};

}  // namespace

std::string make_character_map(const CharacterRules& rules) {
    if (rules.empty()) return {};
    return DoubleArrayWriter(rules).map();
}

}  // namespace heddle::app
