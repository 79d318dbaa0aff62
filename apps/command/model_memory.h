// Checks, before a model is built, that it fits into this machine's memory.
#pragma once

#include "apps/translation/training/options.h"
#include "core/device.h"

namespace heddle::app {

/// Bytes that this process may use: the machine's memory, or less under a limit (ulimit -v).
double machine_memory();

/// Bytes per parameter when one process trains: the weight, its gradient and the optimizer's moments; on a device, only the
/// weight's copy on the host.
double training_bytes(const TrainingOptions& options, Device device);

/// Error when a model of these options needs more than machine_memory(): how much, and which options to lower. The need
/// is a lower bound: the matrices, at so many bytes for each element, and what each layer takes beside them.
void check_model_fits(const nn::TransformerOptions& model, double bytes_per_parameter = sizeof(float));

}  // namespace heddle::app
