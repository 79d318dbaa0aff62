//: Exercise async-copy: each tile of 256 numbers backwards, with asynchronous copies. The page is async-copy.md.
#include "exercise.h"

//: x [256 tiles], y [256 tiles]; one block of 64 threads.
__global__ void reverse_tiles(const float* x, float* y, int tiles) {
    SharedArena arena;
#ifndef STARTER
    float* buffer = arena.take<float>(512);
    const int t = static_cast<int>(threadIdx.x);
    Pipeline<2> pipeline;
    const auto begin_copy = [&](int s) { copy_async<16>(buffer + s % 2 * 256 + 4 * t, x + s * 256 + 4 * t); };
    begin_copy(0);
    pipeline.commit();
    for (int s = 0; s < tiles; ++s) {
        if (s + 1 < tiles) begin_copy(s + 1);
        pipeline.commit();  // behind the last tile an empty stage, so that wait() still waits for tile s
        pipeline.wait();    // this thread's part of tile s is here
        __syncthreads();    // and the other threads' parts
        for (int j = t; j < 256; j += 64) y[s * 256 + j] = buffer[s % 2 * 256 + 255 - j];
        __syncthreads();  // nobody reads this buffer any more: the next copy may overwrite it
#else
    float* tile = arena.take<float>(256);
    const int t = static_cast<int>(threadIdx.x);
    for (int s = 0; s < tiles; ++s) {
        for (int j = t; j < 256; j += 64) tile[j] = x[s * 256 + j];  // waits for each load
        __syncthreads();
        for (int j = t; j < 256; j += 64) y[s * 256 + j] = tile[255 - j];
        __syncthreads();
#endif
    }
}
