// Branches of a build without CUDA: there is no stream to fork from.
#include "core/branch.h"

namespace heddle::device {

Branches::Branches() : outermost_(false) {}
Branches::~Branches() { static_cast<void>(outermost_); }  // clang warns of members that nothing reads
void Branches::run(std::vector<Tensor>, const Tensor&, const std::function<void()>& body) { body(); }
bool Branches::writes(const Tensor&) { return false; }
void Branches::before_use_of(const Tensor&) {}
void Branches::join() {}

}  // namespace heddle::device
