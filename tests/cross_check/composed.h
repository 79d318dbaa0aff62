// The functions of heddle/functions.h and heddle/einsum.cpp, which are made of ops: their proofs and random calls, in the form of
// an op's table.
#pragma once

#include "autograd/cases/op_cases.h"

namespace heddle::cross_check {

const OpCases& composed_functions();

}  // namespace heddle::cross_check
