#include <sstream>
#include <vector>

#include "apps/translation/run/toml.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace heddle::fuzz {
namespace {

std::vector<app::TomlItem> read_items(const std::string& text) {
    std::istringstream stream(text);
    return app::read_toml(stream, "input");
}

}  // namespace

// What was read can be written, and is read again as it was.
void toml(std::string_view bytes) {
    std::vector<app::TomlItem> items;
    if (!accepted([&] { items = read_items(std::string(bytes)); })) return;
    std::string text;
    for (const app::TomlItem& item : items) {
        text += app::toml_string(item.key) + " = [";
        for (const std::string& value : item.values) text += app::toml_string(value) + ", ";
        text += "]\n";
    }
    const std::vector<app::TomlItem> again = read_items(text);
    must(again.size() == items.size(), "as many items");
    for (std::size_t i = 0; i < items.size(); ++i)
        must(again[i].key == items[i].key && again[i].values == items[i].values, "the same key and values");
}

}  // namespace heddle::fuzz
