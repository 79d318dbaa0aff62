// Modules and functions applied in sequence, and lists of modules.
#pragma once

#include <concepts>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "nn/module.h"

namespace heddle::nn {

/// Layers that each read what the one before returned. A layer is a module that is called with a Variable, which the container
/// makes and owns, or a function of a Variable. (A Sequential within one is made as a member of a module of its own.) Modules are
/// named by their place, functions counted, as in PyTorch:
///
///     nn::Sequential net;                                          // a root; or a member: {*this, "layers"}
///     net.add<nn::Linear>(2, 64).add(relu).add<nn::Linear>(64, 3);  // parameters 0.weight, 0.bias, 2.weight, 2.bias
class Sequential : public Module {
  public:
    using Module::Module;

    std::string_view kind() const override { return "Sequential"; }

    /// Adds a module Layer(*this, NUMBER, arguments...).
    template <std::derived_from<Module> Layer, class... Arguments>
    Sequential& add(Arguments&&... arguments) {
        const auto layer = std::make_shared<Layer>(*this, std::to_string(size()), std::forward<Arguments>(arguments)...);
        layers_.push_back([layer](const Variable& x, [[maybe_unused]] Where where) -> Variable {
            if constexpr (requires { layer->forward(x, where); })
                return layer->forward(x, where);
            else
                return (*layer)(x);
        });
        return *this;
    }
    /// Adds an op, such as relu or tanh.
    Sequential& add(Variable (*op)(const Variable&, Where)) {
        layers_.emplace_back(op);
        return *this;
    }
    /// Adds any function of a Variable, such as a lambda.
    template <class Function>
    requires std::is_invocable_r_v<Variable, Function, const Variable&> Sequential& add(Function function) {
        layers_.push_back([function = std::move(function)](const Variable& x, Where) { return function(x); });
        return *this;
    }

    /// Number of modules and functions.
    std::int64_t size() const { return static_cast<std::int64_t>(layers_.size()); }
    /// The layers' results, each layer applied to that of the one before, first to x; x itself if there are none. Shape, dtype
    /// and errors are those of the layers: the first takes x, and the last gives the result.
    Variable forward(const Variable& x, Where where = Where::current()) const {
        Variable value = x;
        for (const auto& layer : layers_) value = layer(value, where);
        return value;
    }
    Variable operator()(const Variable& x, Where where = Where::current()) const { return forward(x, where); }

  private:
    std::vector<std::function<Variable(const Variable&, Where)>> layers_;
};

/// Modules of one type, which the list makes and owns, named by their places; the program says how they are called:
///
///     nn::ModuleList<nn::Linear> layers{*this, "layers"};  // parameters layers.0.weight, ...
///     for (int i = 0; i < 3; ++i) layers.add(64, 64);
///     for (const nn::Linear& layer : layers) x = relu(layer(x));
template <std::derived_from<Module> Layer>
class ModuleList : public Module {
  public:
    using Module::Module;

    std::string_view kind() const override { return "ModuleList"; }

    /// Adds a module Layer(*this, NUMBER, arguments...).
    template <class... Arguments>
    Layer& add(Arguments&&... arguments) {
        return layers_.emplace_back(*this, std::to_string(layers_.size()), std::forward<Arguments>(arguments)...);
    }

    std::int64_t size() const { return static_cast<std::int64_t>(layers_.size()); }
    /// std::out_of_range when there is no such module.
    Layer& operator[](std::int64_t i) { return layers_.at(static_cast<std::size_t>(i)); }
    const Layer& operator[](std::int64_t i) const { return layers_.at(static_cast<std::size_t>(i)); }
    auto begin() { return layers_.begin(); }
    auto end() { return layers_.end(); }
    auto begin() const { return layers_.begin(); }
    auto end() const { return layers_.end(); }

  private:
    std::deque<Layer> layers_;  // which moves none of them
};

}  // namespace heddle::nn
