// Several linear maps of one input in one product, where their weights lie one behind the other in memory: on a GPU the launches
// of small products cost more than the products. The keys and values that all decoder layers make of the encoder's result are
// such maps (Wang et al., "LightSeq: a high performance inference library for transformers", 2021, section 3.2).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "autograd/ops.h"
#include "nn/linear.h"

namespace heddle::nn {

/// The weights and biases of all decoder layers' maps of the memory below `module`, in groups that one product reads: flatten()
/// lays the leaves of each group one behind the other on a device.
std::vector<std::vector<Variable>> leaves_read_together(const Module& module);

/// While one exists, keys and values of a memory come from one product for all layers of this thread.
class JoinedMemory {
  public:
    /// Computes the keys and values of `memory` [rows, d_model] for all cross-attention below `decoder`, [rows, 2 key widths of
    /// all layers]. Computes nothing, so that each layer has its own product, on the CPU, whose bits stay those of single
    /// products; where the leaves do not lie one behind the other, or some of them are frozen; and while a hook observes ops.
    JoinedMemory(const Module& decoder, const Variable& memory, Where where = Where::current());
    ~JoinedMemory();
    JoinedMemory(const JoinedMemory&) = delete;
    JoinedMemory& operator=(const JoinedMemory&) = delete;

    /// The columns that `map` computes of this memory; none if they were not computed.
    static std::optional<ops::ColumnsOf> columns(const Linear& map, const Variable& memory);

  private:
    JoinedMemory();

    JoinedMemory* outer_;
    std::vector<const Linear*> maps_;
    Variable memory_, product_;
};

/// The memory of leaves that lie one behind the other in arrays of flatten(): values [sum of the first extents, rest] and
/// gradients of this shape.
struct JoinedLeaves {
    Tensor value, gradient;
};
/// Nothing where they do not, or a gradient lies elsewhere.
std::optional<JoinedLeaves> joined(std::span<const Variable> leaves);

}  // namespace heddle::nn
