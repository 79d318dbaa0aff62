#include "kernels/matmul/batch_invariant.h"

#include <atomic>

namespace heddle::kernels {
namespace {

std::atomic<bool> invariant = false;

}  // namespace

bool batch_invariant() { return invariant; }
void set_batch_invariant(bool on) { invariant = on; }

}  // namespace heddle::kernels
