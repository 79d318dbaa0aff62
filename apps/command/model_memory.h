// Whether this machine's memory can hold a model, asked before the model is built.
#pragma once

#include "apps/translation/training/options.h"
#include "core/device.h"

namespace heddle::app {

/// Bytes that a process may have here: the machine's memory, or less under a limit (ulimit -v).
double machine_memory();

/// Bytes for each parameter of a model that one process trains: the weight, its gradient and the optimizer's moments. Only the
/// weight where the rest lies on a device.
double training_bytes(const TrainingOptions& options, Device device);

/// Error when a model of these options needs more than machine_memory(): how much, and which options to lower. The need
/// is a lower bound: the matrices, at so many bytes for each element, and what each layer takes beside them.
void check_model_fits(const nn::TransformerOptions& model, double bytes_per_parameter = sizeof(float));

}  // namespace heddle::app
