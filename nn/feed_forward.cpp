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
    return ops::feed_forward(x, inner_.weight(), inner_.bias(), outer_.weight(), outer_.bias(), activation_,
                             dropout(dropout_, "dropout"), where);
}

}  // namespace heddle::nn
