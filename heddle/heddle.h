// The whole library: tensors, Variables with operators, ops, modules, optimizers, batches, printing.
//
//     #include <heddle/heddle.h>
//     using namespace heddle;
//
// docs/install.md shows a whole program, docs/examples more of them.
#pragma once

#include "autograd/checkpoint.h"
#include "autograd/exact_check.h"
#include "autograd/gradcheck.h"
#include "autograd/operators.h"
#include "core/device.h"
#include "core/parallel.h"
#include "core/random.h"
#include "core/safetensors.h"
#include "heddle/batches.h"
#include "heddle/functions.h"
#include "heddle/optimizers.h"
#include "nn/conv1d.h"
#include "nn/dropout.h"
#include "nn/language_model.h"
#include "nn/recurrent.h"
#include "nn/sequential.h"
#include "nn/serialize.h"
#include "optim/schedule.h"
