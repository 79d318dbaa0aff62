// Helper that parses command lines of heddle train.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "apps/command/option_rows.h"
#include "core/error.h"

namespace heddle::app {

// The settings after `heddle train WORDS...`.
inline TrainSettings parsed(std::vector<const char*> words, const std::string& config = "") {
    TrainSettings settings;
    OptionTable table = train_table(settings);
    EXPECT_TRUE(parse_command_line(table, words));
    std::istringstream stream(config);
    table.read_config(stream, "test.toml");
    return settings;
}

inline std::string usage_error(std::vector<const char*> words, const std::string& config = "") {
    try {
        parsed(std::move(words), config);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace heddle::app
