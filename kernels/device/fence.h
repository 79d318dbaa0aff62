// The last block of a grid: a reduction over all blocks in one launch, without a second kernel and without float atomics.
//
//     partial[blockIdx.x] = ...;                      written by any threads of the block
//     if (!last_block(ticket, gridDim.x, flag)) return;        every other block ends here
//     ...                                              the one block that comes last reads all of partial, in a fixed order
#pragma once

#include "kernels/device/cuda.h"

namespace heddle::device {

/// True in every thread of the block that comes here last of `blocks`; it then sees what all of them wrote before. `ticket` is
/// one unsigned in global memory, 0 before the launch and 0 again after it; `flag` is one int in shared memory. Every thread
/// must call it.
__device__ __forceinline__ bool last_block(unsigned* ticket, unsigned blocks, int* flag) {
    __syncthreads();  // the block's writes come before thread 0's fence
    if (thread_in_block() == 0) {
        __threadfence();  // release: they are visible before the ticket is drawn
        const bool last = atomicAdd(ticket, 1u) == blocks - 1;
        __threadfence();  // acquire: what was written before the other tickets is visible after this one
        if (last) *ticket = 0;
        *flag = last;
    }
    __syncthreads();  // the answer is there, and with it thread 0's view of memory
    const bool last = *flag != 0;
    __syncthreads();  // everybody has read it: the flag may be used again
    return last;
}

}  // namespace heddle::device
