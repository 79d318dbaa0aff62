// Measured peak rates of this machine, for comparison with the ops' rates.
#pragma once

namespace heddle::app {

struct MachineRates {
    double gflops = 0;          ///< f32 fused multiply-adds on all threads, two operations each, at the level in use
    double copy_gb_second = 0;  ///< bytes read and written by a copy far larger than the caches, on all threads
};

/// Takes about half a second.
MachineRates measure_machine();

}  // namespace heddle::app
