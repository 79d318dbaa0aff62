// The inside of the tape, shared by its .cpp files only.
#pragma once

#include <deque>

#include "autograd/tape.h"

namespace heddle {

struct Variable::Slot {
    Tensor value;
    Tensor grad;
    bool requires_grad = false;
    std::string name;
    std::shared_ptr<Tape> tape;  // set for the outputs of recorded ops
    std::int64_t node = -1;
    int output = 0;

    Slot() = default;
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot();
};

class Tape {
  public:
    /// Adds a node; `self` is this tape, which the new Variables keep alive.
    static std::vector<Variable> append(const std::shared_ptr<Tape>& self, std::vector<Tensor> outputs, Record&& entry);
    void walk(std::span<const Variable> outputs, std::span<const Tensor> cotangents, bool retain);
    /// One Variable less holds an output of node `number`.
    void release(std::int64_t number);
    std::int64_t size() const { return static_cast<std::int64_t>(nodes_.size()); }
    std::vector<SavedMemory> saved_memory() const;
    std::string as_dot() const;

  private:
    class Sink;

    struct Saved {
        Tensor tensor;
        std::uint64_t version;
    };
    struct Input {
        std::shared_ptr<Variable::Slot> leaf;  // or an earlier node's output:
        std::int64_t node = -1;
        int output = 0;
        bool needs = false;
        Shape shape;
        DType dtype = DType::f32;
    };
    struct Node {
        const char* op = "";
        Where where;
        std::vector<Input> inputs;
        std::vector<Saved> saved;
        Backward backward;
        std::vector<Tensor> gradients;  // of the outputs, while a walk goes on
        std::vector<Shape> shapes;
        std::vector<DType> dtypes;
        std::int64_t handles = 0;  // Variables that hold one of the outputs
        bool freed = false;
    };

    Node& node(std::int64_t number) { return nodes_[static_cast<std::size_t>(number - base_)]; }
    Input input_of(const Variable& variable) const;
    Tensor& target(const Input& input);
    std::int64_t seed(const Variable& output, const Tensor& cotangent);
    void visit(Node& node, bool retain);
    void forget_freed();

    std::deque<Node> nodes_;
    std::int64_t base_ = 0;  // the number of the first node
    bool walking_ = false;
};

}  // namespace heddle
