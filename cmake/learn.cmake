# The headers that answers of `heddle learn` include, and what these include: an answer sees no others, installed or not. The ops of
# autograd/ops.h would be answers.
set(HEDDLE_LEARN_HEADERS
    autograd/tape.h autograd/variable.h core/dtype.h core/shape.h core/storage.h core/tensor.h core/where.h kernels/device/cuda.h
    kernels/device/number.h kernels/device/pipeline.h kernels/device/ptx.h kernels/device/shared.h kernels/device/vector.h
    kernels/emulator/kernel.h kernels/emulator/place.h kernels/emulator/include/vector_types.h)
