// Helper that parses command lines of heddle train.
#pragma once

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "apps/command/option_rows.h"
#include "core/error.h"

namespace heddle::app {

/// The settings after `heddle train WORDS...`.
inline TrainSettings parsed(const std::string& arguments, const std::string& config = "") {
    std::istringstream parts(arguments);
    const std::vector<std::string> texts{std::istream_iterator<std::string>(parts), {}};
    std::vector<const char*> words;
    for (const std::string& text : texts) words.push_back(text.c_str());
    TrainSettings settings;
    OptionTable table = train_table(settings);
    EXPECT_TRUE(parse_command_line(table, words));
    std::istringstream stream(config);
    table.read_config(stream, "test.toml");
    return settings;
}

inline std::string usage_error(const std::string& arguments, const std::string& config = "") {
    try {
        parsed(arguments, config);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace heddle::app
