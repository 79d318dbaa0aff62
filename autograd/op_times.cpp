#include "autograd/op_times.h"

#include <algorithm>

namespace heddle {

thread_local OpTimer* OpTimer::current_ = nullptr;

OpTimer::OpTimer()
    : before_(current_),
      forward_(
          [this](const ObservedOp& op) { note(op.op, false, op.outputs.empty() ? Device::cpu : op.outputs.front().device()); }),
      last_(Clock::now()) {
    current_ = this;
}
OpTimer::~OpTimer() { current_ = before_; }

void OpTimer::start() { last_ = Clock::now(); }

void OpTimer::note(std::string_view op, bool backward, Device device) {
    if (device == Device::cuda) device::synchronize();
    const Clock::time_point now = Clock::now();
    OpTime& time = times_[std::string(op)];
    time.op = op;
    (backward ? time.backward : time.forward) +=
        std::max(0.0, std::chrono::duration<double>(now - last_).count());  // the clock may run backwards
    if (!backward) ++time.calls;
    last_ = now;
}

std::vector<OpTime> OpTimer::times() const {
    std::vector<OpTime> all;
    for (const auto& [op, time] : times_) all.push_back(time);
    std::stable_sort(all.begin(), all.end(), [](const OpTime& a, const OpTime& b) { return a.total() > b.total(); });
    return all;
}

}  // namespace heddle
