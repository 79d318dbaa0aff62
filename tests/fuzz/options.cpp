#include <algorithm>
#include <sstream>

#include "apps/command/option_rows.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace heddle::fuzz {
namespace {

// --help writes to stdout, and --config reads any file.
bool is_left_out(const std::string& word) { return word == "-h" || word == "--help" || word.starts_with("--config"); }

std::string config_of(const std::string& config) {
    app::TrainSettings settings;
    app::OptionTable table = app::train_table(settings);
    std::istringstream stream(config);
    table.read_config(stream, "config.toml");
    return table.config();
}

void must_survive(const app::OptionTable& table) {
    const std::string config = table.config();
    must(config_of(config) == config, "the same options from the run's config.toml");
}

}  // namespace

// Words of `heddle train`, and behind U+001C a configuration file. Options that are understood are written to config.toml, and
// read from there as they were, before and after what follows from them is set.
void options(std::string_view bytes) {
    const Parts files = parted(bytes);
    std::vector<std::string> words;
    std::istringstream lines{std::string(files.first)};
    for (std::string word; std::getline(lines, word);)
        if (word.find('\0') == std::string::npos && !is_left_out(word)) words.push_back(word);
    std::vector<const char*> arguments;
    for (const std::string& word : words) arguments.push_back(word.c_str());
    app::TrainSettings settings;
    app::OptionTable table = app::train_table(settings);
    const bool understood = accepted([&] {
        app::parse_command_line(table, arguments);
        std::istringstream stream{std::string(files.second)};
        table.read_config(stream, "config.toml");
    });
    if (!understood) return;
    must_survive(table);
    const bool possible = accepted([&] {
        app::resolve(settings.model, settings.vocabulary);
        app::resolve(settings.training);
    });
    if (possible) must_survive(table);
}

}  // namespace heddle::fuzz
