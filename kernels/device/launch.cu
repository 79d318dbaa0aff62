#include "kernels/device/launch.h"
