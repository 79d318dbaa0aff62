// The tape: the ops that ran, in order, with the data that backward needs for each.
//
// Nodes are in creation order, so every node's inputs precede it and backward is one walk from the end. Nodes refer
// to each other by number, never by pointer: there are no chains to follow, and none to destroy. A node lives as long as a
// Variable can reach it and no backward has freed it.
//
// A tape belongs to its thread, and so do the Variables recorded on it. Leaves may be shared, but two threads that accumulate
// gradients into the same leaf at the same time race.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "autograd/variable.h"

namespace heddle {

struct TapeNode;

/// The argument of a node's backward function: gradients of the op's outputs, tensors that it saved, gradients of its inputs.
class Gradients {
  public:
    /// True if output `i` received a gradient; always true for an op's only output.
    bool has_output(int i) const;
    /// The gradient of output `i`, with the output's shape; zeros if none arrived.
    Tensor output(int i = 0);
    /// Like output(), but moved out of the node, so that an op that only passes the gradient on can give() it without a copy.
    Tensor take_output(int i = 0);
    /// The i-th tensor that the op saved. Error that names both places if it was changed in place since.
    const Tensor& saved(int i) const;
    /// True if input `i` needs a gradient.
    bool needs(int i) const;
    /// Passes on the gradient of input `i`. Several calls add up; ignored if none is needed.
    void give(int i, Tensor gradient);
    /// A tensor with input i's shape that holds its gradient so far (initially zeros), for ops that add in place, which saves a
    /// dense temporary and a second pass for weights.
    Tensor accumulate_into(int i);
    /// The gradient of input `i` so far, including what was added in place; undefined if none arrived yet.
    Tensor so_far(int i);

  private:
    friend class Tape;
    Gradients(Tape& tape, TapeNode& node) : tape_(tape), node_(node) {}
    void finish() const;

    Tape& tape_;
    TapeNode& node_;
    std::vector<int> accumulated_;  // inputs whose gradients the op adds to in place
};

using Backward = std::function<void(Gradients&)>;

/// True when grad mode is on and one of `inputs` requires a gradient: the op will be recorded, so what backward needs must
/// be kept.
bool will_record(std::initializer_list<Variable> inputs);
bool will_record(std::span<const Variable> inputs);

/// Whether this thread runs the function of a checkpoint, for the first or the second time. An op that computes in another way
/// while it is not recorded must not do so then: both runs have to give the same bits.
bool in_checkpoint();

/// An op's data for the tape.
struct Record {
    const char* op;                  ///< the op's name; a string literal
    Where where;                     ///< the caller's source line
    std::vector<Variable> inputs;    ///< undefined ones (an absent bias) are allowed and never need a gradient
    std::int64_t multiply_adds = 0;  ///< of its matrix products, without biases, for hooks (autograd/observe.h);
                                     ///< for attention, of the pairs that spans and the causal rule allow
    std::vector<Tensor> saved = {};  ///< tensors that backward reads, with their present versions
    Backward backward = {};
    bool always = false;  ///< record even when no input requires a gradient (activation checkpointing)
};

/// Makes `output` a Variable and, when an input requires a gradient, a node of the tape. In anomaly mode a NaN or Inf in
/// `output` is an Error with the op's name, module, shape and source line.
Variable record(Tensor output, Record entry);
/// Like record(), for an op with several outputs.
std::vector<Variable> record_many(std::vector<Tensor> outputs, Record entry);

/// Runs backward from a one-element `loss` with gradient 1. Adds to the leaves' existing gradients. Frees the nodes that it
/// visits unless `retain`. Error when the loss was not recorded or its nodes were freed.
void backward(const Variable& loss, bool retain = false);
/// Runs backward from `output` with a given gradient, its cotangent. Both may have any shape.
void backward(const Variable& output, const Tensor& cotangent, bool retain = false);
/// Runs backward from several outputs at once.
void backward(std::span<const Variable> outputs, std::span<const Tensor> cotangents, bool retain = false);

/// While one exists, ops on this thread are not recorded.
class NoGrad {
  public:
    NoGrad();
    ~NoGrad();
    NoGrad(const NoGrad&) = delete;
    NoGrad& operator=(const NoGrad&) = delete;

  private:
    bool before_;
};

/// While one exists, the outputs and gradients of every op of this thread are checked for NaN and Inf.
class AnomalyMode {
  public:
    AnomalyMode();
    ~AnomalyMode();
    AnomalyMode(const AnomalyMode&) = delete;
    AnomalyMode& operator=(const AnomalyMode&) = delete;

  private:
    bool before_;
};

/// While one exists, ops that this thread records are attributed to this module, which anomaly mode reports. Only the innermost
/// one applies. `name` must outlive it.
class InModule {
  public:
    explicit InModule(const std::string& name);
    ~InModule();
    InModule(const InModule&) = delete;
    InModule& operator=(const InModule&) = delete;

  private:
    const std::string* before_;
};

/// While one exists, this thread records on a fresh tape; activation checkpointing recomputes on one.
class FreshTape {
  public:
    FreshTape();
    ~FreshTape();
    FreshTape(const FreshTape&) = delete;
    FreshTape& operator=(const FreshTape&) = delete;

  private:
    std::shared_ptr<Tape> before_;
    bool grad_before_;
};

/// Number of nodes on this thread's tape that a Variable can still reach.
std::int64_t tape_size();

/// Memory kept for backward by the recorded ops with one name.
struct SavedMemory {
    std::string op;
    std::int64_t nodes = 0;
    std::int64_t bytes = 0;  ///< a tensor or view that several nodes saved counts once, for the first
};

/// Saved memory per op of this thread's tape, largest first.
std::vector<SavedMemory> saved_memory();
/// This thread's tape as a Graphviz digraph: ops with output shapes and source lines, leaves with their names.
std::string tape_as_dot();

}  // namespace heddle
