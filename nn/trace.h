// The ops of a pass through a model, attributed to its modules.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "autograd/observe.h"
#include "nn/module.h"

namespace heddle::nn {

/// A part of a model: the module with a dotted name and everything below it; "" is the whole model. With a star at the end, all
/// modules whose names begin with it: "encoder.layers.0.feed_forward*" is the sublayer and its norm.
class Part {
  public:
    explicit Part(std::string text = "");
    bool has(std::string_view module) const;

  private:
    std::string begin_;
    bool star_;
};

/// Statistics of a module and everything below it in a pass.
struct ModuleTrace {
    std::vector<Shape> inputs;       ///< of tensors from outside, without parameters; equal shapes once
    std::optional<Shape> output;     ///< of its last op; empty if it had none (one op did the work of several modules)
    std::int64_t input_bytes = 0;    ///< of tensors from outside
    std::int64_t tokens = 0;         ///< read by embeddings
    std::int64_t multiply_adds = 0;  ///< of all matrix products
    std::int64_t attention = 0;      ///< of these, products of queries with keys, and of weights with values
    std::int64_t kept = 0;  ///< bytes that its ops save for backward, without parameters; shared tensors count for the first op
    std::int64_t gradients = 0;     ///< bytes of the gradients of its ops' outputs, if all existed at the same time
    std::int64_t listed_adds = 0;   ///< as torchinfo counts multiply-adds: elements of the parameters that an op reads
    std::int64_t listed_bytes = 0;  ///< as torchinfo counts activations: outputs of modules with parameters
};

/// Records every op of this thread while it exists.
class Trace {
  public:
    /// `model` must outlive it.
    explicit Trace(const Module& model);
    ModuleTrace of(const Part& part) const;

  private:
    /// Identifies a tensor regardless of its shape: its storage and its start there.
    using Id = std::pair<std::uint64_t, const void*>;
    struct Seen {
        Id id;
        Shape shape;
        std::int64_t bytes;
    };
    struct Op {
        std::string module;
        bool attention;
        std::int64_t tokens;
        std::vector<Seen> inputs;
        std::vector<Seen> outputs;
        std::int64_t multiply_adds;
        std::int64_t kept;
        std::int64_t gradients;
        std::int64_t listed_adds;
        std::int64_t listed_bytes;
    };

    static Seen seen(const Tensor& tensor);
    void note(const ObservedOp& observed);

    std::map<Id, std::string> parameters_;  // with the module to which each belongs
    std::set<Id> kept_;
    std::vector<Op> ops_;
    ObserveOps observer_;
};

}  // namespace heddle::nn
