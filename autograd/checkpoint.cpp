#include "autograd/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "autograd/tape_impl.h"
#include "core/format.h"
#include "core/random.h"

namespace heddle {
namespace {

thread_local bool checkpointing = false;

class InCheckpoint {
  public:
    InCheckpoint() : before_(std::exchange(checkpointing, true)) {}
    ~InCheckpoint() { checkpointing = before_; }
    InCheckpoint(const InCheckpoint&) = delete;
    InCheckpoint& operator=(const InCheckpoint&) = delete;

  private:
    bool before_;
};

using Function = std::function<Variable(std::span<const Variable>)>;

// 64 bits that depend on all of a value's bits, to detect that the second run differs from the first.
std::uint64_t fingerprint(const Tensor& made) {
    const Tensor value = made.to(Device::cpu);
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    const std::byte* bytes = value.bytes_data();
    for (std::int64_t at = 0; at < value.bytes(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes + at, static_cast<std::size_t>(std::min<std::int64_t>(8, value.bytes() - at)));
        hash = (hash ^ (hash >> 29) ^ word) * 0x100000001b3ULL;
    }
    return hash;
}

struct Inside {
    Function function;
    Generator random;  // state before the first run
    std::vector<bool> defined;
    std::uint64_t value = 0;
    Where where;
};

// The function's inputs as leaves of the fresh tape. Their gradients start from those that have arrived so far, so that every
// sum has the order, and the bits, of a run without checkpoints.
std::vector<Variable> leaves_of(Gradients& g, const Inside& inside) {
    std::vector<Variable> leaves;
    int saved = 0;
    for (std::size_t i = 0; i < inside.defined.size(); ++i) {
        const int at = static_cast<int>(i);
        leaves.push_back(inside.defined[i] ? Variable(g.saved(saved++), g.needs(at)) : Variable());
        if (g.needs(at)) leaves.back().set_grad(g.so_far(at));
    }
    return leaves;
}

void go_back(Gradients& g, const Inside& inside) {
    std::vector<bool> started;
    for (std::size_t i = 0; i < inside.defined.size(); ++i) started.push_back(g.so_far(static_cast<int>(i)).defined());
    std::vector<Variable> leaves = leaves_of(g, inside);
    {
        const FreshTape fresh;
        Variable output;
        {
            const RandomState state(inside.random);
            const InCheckpoint in_checkpoint;
            output = inside.function(leaves);
        }
        check(output.value().shape() == g.output().shape() && fingerprint(output.value()) == inside.value,
              "checkpoint at {}: the second run gave another value than the first; a parameter was changed in place between "
              "forward "
              "and backward, or the function depends on something that changed",
              inside.where);
        // The output is a leaf if the function returned an input, or nothing inside requires a gradient.
        check(!output.is_leaf() || !output.requires_grad(), "checkpoint at {}: the function returns one of its inputs",
              inside.where);
        if (output.requires_grad()) backward(output, g.take_output());
    }
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        const int at = static_cast<int>(i);
        if (!g.needs(at) || started[i]) continue;  // complete already: it was added to in place
        Tensor gradient = leaves[i].grad();
        leaves[i] = Variable();
        if (gradient.defined()) g.give(at, std::move(gradient));
    }
}

}  // namespace

bool in_checkpoint() { return checkpointing; }

Variable checkpoint(const Function& function, const std::vector<Variable>& inputs, Where where) {
    Inside inside{function, generator(), {}, 0, where};
    Record entry{.op = "checkpoint", .where = where, .inputs = inputs, .always = true};
    for (const Variable& input : inputs) {
        inside.defined.push_back(input.defined());
        if (input.defined()) entry.saved.push_back(input.value());
    }
    Variable output;
    {
        const NoGrad no_grad;
        const InCheckpoint in_checkpoint;
        output = function(inputs);
    }
    inside.value = fingerprint(output.value());
    entry.backward = [inside = std::move(inside)](Gradients& g) { go_back(g, inside); };
    return record(output.value(), std::move(entry));
}

}  // namespace heddle
