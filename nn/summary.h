// A model as a table.
#pragma once

#include "nn/module.h"

namespace heddle::nn {

/// A module that has parameters of its own.
struct SummaryRow {
    std::string module;  ///< dotted name
    std::string kind;    ///< "Linear"
    std::string shape;   ///< "query.weight [128, 128], ..."
    std::int64_t parameters = 0;
    bool frozen = false;
};

/// One row per module with parameters, in order of construction; tied parameters stand in the row of the module that owns them.
std::vector<SummaryRow> summary(const Module& module);

}  // namespace heddle::nn
