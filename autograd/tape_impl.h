// Internals of the tape, used only by its .cpp files.
#pragma once

#include <deque>

#include "autograd/tape.h"
#include "core/format.h"

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

/// A recorded op.
struct TapeNode {
    struct Input {
        std::shared_ptr<Variable::Slot> leaf;  // or else an output of an earlier node:
        std::int64_t node = -1;
        int output = 0;
        bool needs = false;
        Shape shape;
        DType dtype = DType::f32;
        Device device = Device::cpu;
    };
    struct Saved {
        Tensor tensor;
        std::uint64_t version;
    };
    struct Output {
        Shape shape;
        DType dtype;
        Device device;
        Tensor gradient;  // during a walk
    };

    std::int64_t number = 0;  // in creation order, never reused
    const char* op = "";
    Where where;
    std::string module;  // only in anomaly mode
    std::vector<Input> inputs;
    std::vector<Saved> saved;
    Backward backward;
    std::vector<Output> outputs;
    std::int64_t holders = 0;  // Variables that hold an output, and later nodes that take one as an input
    bool always = false;       // recorded for leaves that are not among its inputs (Record::always)
    bool dead = false;         // freed by a walk, or no longer reachable
};

class Tape {
  public:
    /// Adds a node; `self` is this tape, which the new Variables keep alive.
    static std::vector<Variable> append(const std::shared_ptr<Tape>& self, std::vector<Tensor> outputs, Record&& entry);
    /// `ours`: nobody but the caller, who leaves them alone, can reach the cotangents, so they need no copy.
    void walk(std::span<const Variable> outputs, std::span<const Tensor> cotangents, bool retain, bool ours = false);
    /// Called when a Variable that held an output of node `number` is destroyed.
    void release(std::int64_t number);
    /// The gradient of an input of `consumer`, during a walk. Error if an earlier walk freed the node that made the input.
    Tensor& target(const TapeNode& consumer, const TapeNode::Input& input);
    std::int64_t size() const { return static_cast<std::int64_t>(nodes_.size()) - dead_; }
    std::vector<SavedMemory> saved_memory() const;
    std::string as_dot() const;

  private:
    class LeafHook;

    TapeNode* find(std::int64_t number);
    const TapeNode* find(std::int64_t number) const { return const_cast<Tape*>(this)->find(number); }
    TapeNode::Input input_of(const Variable& variable, const Record& entry) const;
    std::int64_t seed(const Variable& output, const Tensor& cotangent, bool copy);
    bool may_write(const Tensor& cotangent, const Variable& output) const;
    void visit(TapeNode& node, bool retain);
    void bury(TapeNode& node);
    void bury_pending();
    void end_walk();
    void compact();

    std::deque<TapeNode> nodes_;
    std::int64_t next_number_ = 0;
    std::int64_t dead_ = 0;             // nodes that wait for compact()
    std::vector<std::int64_t> unheld_;  // nodes without holders that wait to be buried
    bool burying_ = false;
    bool walking_ = false;
};

/// The op that made a tensor, for the messages of anomaly mode.
struct Origin {
    const char* op;
    const Where& where;
    const std::string& module;
};

/// The innermost InModule's name in anomaly mode; otherwise empty.
const std::string& module_to_record();

bool in_anomaly_mode();

/// In anomaly mode, throws an Error with op, module, shape, place and element if `tensor` contains a NaN or Inf.
void search_for_anomaly(const Tensor& tensor, const Origin& origin, const char* what, int number);

}  // namespace heddle

/// "file:line"
template <>
struct fmt::formatter<heddle::Where> : heddle::TextFormatter {
    auto format(const heddle::Where& where, format_context& context) const {
        return fmt::format_to(context.out(), "{}:{}", where.file_name(), where.line());
    }
};
