// A model's summary as a table.
#pragma once

#include "nn/trace.h"
#include "nn/transformer.h"

namespace heddle::nn {

/// Statistics of a module and everything below it.
struct SummaryRow {
    std::string module;           ///< dotted name; empty for the root
    std::string kind;             ///< "Linear"
    int depth = 0;                ///< 0 for the root
    std::string weights = {};     ///< its own parameters: "weight [128, 128], bias [128]"
    std::int64_t parameters = 0;  ///< tied ones count in the module that owns them
    std::int64_t trained = 0;     ///< those that are not frozen
    ModuleTrace forward = {};     ///< in a pass in evaluation mode
    ModuleTrace training = {};    ///< in a recorded pass, including dropout
};

/// One row per module, in order of construction, without a pass.
std::vector<SummaryRow> summary(const Module& module);

/// The modules of `model` selected by `name`, as described at Part. Error that names the parts when there is none.
Part part_of(const Module& model, const std::string& name);

/// The shape of the batch for a summary: a number of sentence pairs, with one length on each side.
struct SummaryBatch {
    std::int64_t sentences = 1;
    std::int64_t source = 32;  ///< tokens
    std::int64_t target = 32;
};

struct ModelSummary {
    std::vector<SummaryRow> rows;  ///< of the modules of the part
    SummaryRow total;              ///< of the whole part
    /// Memory of the whole model besides weights and gradients, as counted by the allocator: bytes in use between forward and
    /// backward, and the peak during backward.
    std::int64_t held = 0;
    std::int64_t peak = 0;
};

/// Runs a batch through the model and traces it: once in evaluation mode, with the generator, and once as in training, with
/// backward. Restores the model, its gradients and the thread's generator. `part` is for part_of(). Error when the model has no
/// such part, or the batch does not fit it.
ModelSummary summarize(Transformer& model, const SummaryBatch& batch, const std::string& part = "");

/// torchinfo's table for a module: mult-adds are parameters times the first extent of the output, ignoring the other extents;
/// products of activations are not counted; each output of a module with parameters counts twice, for its gradient.
struct ListedSummary {
    std::int64_t multiply_adds = 0;
    std::int64_t input_bytes = 0;
    std::int64_t activation_bytes = 0;
    std::int64_t parameter_bytes = 0;
    std::int64_t total_bytes() const { return input_bytes + activation_bytes + parameter_bytes; }
};
/// `first` is the first extent, which is the number of sentences.
ListedSummary listed(const ModuleTrace& forward, std::int64_t parameters, std::int64_t first);

}  // namespace heddle::nn
