// Modules: a tree of named parameters, and the initial values of these.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/variable.h"
#include "core/random.h"
#include "core/tensor.h"

namespace heddle::nn {

class Module;
struct FlatParameters;
FlatParameters flatten(Module& module, DType dtype);

/// Tensors with dotted names, in order of construction, as for save_safetensors.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Rows [begin, end) of a leaf that have their own name in files.
struct ParameterSlice {
    std::string name;  ///< dotted, from the root
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

/// One leaf of the tape. Several weights that read the same input are one leaf (one matrix product), and `slices` are the
/// individual weights: they are disjoint and cover the leaf. Without slices the leaf uses its own name.
struct Parameter {
    std::string name;  ///< dotted, from the root: "encoder.layers.0.self_attention.query_key_value.weight"
    Variable variable;
    std::vector<ParameterSlice> slices = {};

    /// Splits `whole`, which has the leaf's shape (its value, gradient, or a moment), into its named parts, sharing storage.
    NamedTensors named(const Tensor& whole) const;
};

/// The base of all modules. A module is a member of its parent and is constructed with it, so its dotted name, the seed and the
/// dtype are fixed from the start:
///
///     struct Net : nn::Module {
///         nn::Linear hidden{*this, "hidden", 8, 16};
///         nn::Linear output{*this, "output", 16, 2};
///     };
///
/// Tied parameters are one leaf, registered by one module and used by another, so the functions below count them once.
class Module {
  public:
    /// A root. The initial values of all parameters are a function of `seed` and their dotted names: two roots of one type and
    /// seed begin alike. Without a seed all weights are zero: for a module that is then loaded from a file, as drawing numbers
    /// takes longer than reading them.
    explicit Module(std::optional<std::uint64_t> seed = 1, DType dtype = DType::f32);
    /// A child with the parent's device, dtype and mode. `name` may contain dots ("layers.0"). Error when the parent has a child
    /// with this name, was already converted to bf16, or an optimizer works on its parameters (nn::flatten).
    Module(Module& parent, std::string_view name);
    virtual ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    /// The type's name for tables: "Linear".
    virtual std::string_view kind() const { return "Module"; }
    /// Dotted name from the root, which has the empty name.
    const std::string& name() const { return name_; }
    /// "name.part", or "part" in the root.
    std::string dotted(std::string_view part) const;
    /// The dtype of the parameters.
    DType dtype() const { return dtype_; }
    /// The parameters' device; initially the CPU.
    Device device() const { return device_; }
    /// Moves all parameters and gradients to `device`, each to its own memory. Error while an optimizer, or the result of
    /// nn::flatten, uses their present memory: move first.
    void to(Device device);
    /// Converts all parameters to `dtype`, each in its own memory, without their gradients: f32, f64, bf16 (computations on CUDA
    /// only), or dual (exact derivatives on the CPU). Conversion to bf16 loses precision; for training in bf16, nn::flatten
    /// keeps the f32 weights. Error as to(Device).
    void to(DType dtype);
    const std::vector<Module*>& children() const { return children_; }

    /// Training mode (dropout is on) or evaluation mode, of this module and everything below it. Modules begin in training mode.
    void train(bool on = true);
    void eval() { train(false); }
    bool training() const { return training_; }

    /// The module's own parameters, then those of its children, in order of construction.
    std::vector<Parameter> parameters() const;
    const std::vector<Parameter>& own_parameters() const { return parameters_; }
    /// Elements of all parameters.
    std::int64_t parameter_count() const;
    /// Elements of all parameters that are trained.
    std::int64_t trainable_count() const;
    /// All parameters under their names in files, sharing the storage.
    NamedTensors named_tensors() const;

    /// Sets the gradients of all parameters to zero; those that none reached yet stay undefined.
    void zero_grad();

    /// Freezes (or unfreezes) the parameters whose dotted name from the root is `prefix` or begins with `prefix` and a dot; all
    /// of them for "". Returns how many leaves. Error when there is none, or when the prefix names a part of a leaf (the query of
    /// a fused projection), which can only be frozen as a whole.
    std::int64_t freeze(std::string_view prefix, bool frozen = true);

    /// The dropout of one call under "NAME.what": off in evaluation mode, otherwise with the thread generator's next key.
    DropoutMask dropout(double probability, std::string_view what) const;

  protected:
    /// Called by to() after the change, for data that a module keeps besides its parameters.
    virtual void moved() {}
    /// Registers `value` as a trained leaf, moved to the module's device. `part` is relative to this module; the slices' names
    /// are complete. Error when a name is taken, or the parameters were flattened and the result of nn::flatten is in use.
    Variable add_parameter(std::string_view part, const Tensor& value, std::vector<ParameterSlice> slices = {});
    /// The random key for the initial values of the parameter with this dotted name; none in a module without a seed.
    std::optional<std::uint64_t> initial_key(std::string_view dotted_name) const;

  private:
    friend FlatParameters flatten(Module& module, DType dtype);
    void set_flat(const Module& root, const std::shared_ptr<const FlatParameters>& flat);
    void check_flattened_from(const Module& root) const;
    void check_may_move() const;

    std::string name_;
    std::optional<std::uint64_t> seed_;
    DType dtype_;
    Device device_ = Device::cpu;
    bool training_ = true;
    Module* parent_ = nullptr;
    std::vector<Module*> children_;
    std::vector<Parameter> parameters_;
    std::weak_ptr<const FlatParameters> flat_;  // the arrays made by nn::flatten, while they are in use
    const Module* flat_root_ = nullptr;         // the module for which it was called
};

// ---- initial values of parameters

// Without a key all values are zero (see Module's seed).

/// Uniform in +-sqrt(6 / (rows + cols)) (Glorot and Bengio 2010, equation 16); weight [out, in].
void fill_xavier_uniform(Tensor weight, std::optional<std::uint64_t> key);
/// Normal with deviation cols^-0.5, so an embedding's elements times sqrt(d_model) have variance 1.
void fill_embedding(Tensor table, std::optional<std::uint64_t> key);
/// Normal with deviation 1.
void fill_unit(Tensor table, std::optional<std::uint64_t> key);

}  // namespace heddle::nn
