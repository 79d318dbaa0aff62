#include "nn/feed_forward.h"

namespace heddle::nn {

FeedForward::FeedForward(Module& parent, std::string_view name, std::int64_t d_model, std::int64_t d_ff,
                         ops::Activation activation, bool bias, double dropout)
    : Module(parent, name),
      activation_(activation),
      dropout_(dropout),
      inner_(*this, "inner", d_model, d_ff, bias),
      outer_(*this, "outer", d_ff, d_model, bias) {}

Variable FeedForward::forward(const Variable& x, Where where) const {
    const InModule in_module(name());
    const Dropout drop = dropout(dropout_, "dropout");
    const bool records = will_record({x, inner_.weight(), inner_.bias(), outer_.weight(), outer_.bias()});
    if (drop.active() || records || x.value().device() == Device::cuda)
        return ops::feed_forward(x, inner_.weight(), inner_.bias(), outer_.weight(), outer_.bias(), activation_, drop, where);
    // On the CPU three separate ops compute the same: a decoding step has few rows, and the two Linears keep packed weights.
    const Variable u = inner_.forward(x, where);
    const Variable h = activation_ == ops::Activation::relu ? ops::relu(u, where)
                                                            : ops::gelu(u, activation_ == ops::Activation::gelu_tanh, where);
    return outer_.forward(h, where);
}

void FeedForward::step(FewRows& stream, const LayerNorm* next) const {
    stream.add(stream.read(inner_, activation_), outer_, next);
}

}  // namespace heddle::nn
