// Draws steps and computes their values as it goes, so that each step can be chosen to suit what is there: shapes fit, and
// nothing lies at a kink or grows beyond bounds.
#pragma once

#include "autograd/cases/draw.h"
#include "tests/cross_check/graph.h"

namespace heddle::cross_check {

class Drawing : public cases::Draw {
  public:
    using Draw::Draw;

    /// Draws a step of this op and appends its values; false, and nothing changed, when the draw does not suit.
    bool add(std::string_view op);
    /// The same for an op drawn from all.
    bool add_any();
    /// The same for a block ("checkpoint" or "no_grad") of a few steps.
    bool add_block(const std::string& kind, int most_steps);

    /// What was drawn: leaves that all need a gradient, and the steps.
    Graph take();
    const std::vector<Tensor>& values() const { return values_; }
    const std::vector<Step>& steps() const { return steps_; }

  private:
    bool append(Step step);
    bool suits(const Step& step, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) const;

    std::vector<Step> steps_;
};

}  // namespace heddle::cross_check
