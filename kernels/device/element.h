// One element of global or shared memory, for teaching kernels: to a GPU a plain access. On the emulated device, which cannot
// count what goes through a plain *pointer, it is counted as vectors are (kernels/emulator/trace/traffic.h).
#pragma once

#include <type_traits>

#include "kernels/device/vector.h"

namespace heddle::device {

#if defined(__CUDACC__)
template <class T>
__device__ __forceinline__ T read_one(const T* from) {
    return *from;
}
template <class T>
__device__ __forceinline__ void write_one(T* to, std::type_identity_t<T> value) {
    *to = value;
}
#else
template <class T>
inline T read_one(const T* from, emulator::Place place = emulator::Place::current()) {
    return load_vector<1>(from, place)[0];
}
template <class T>
inline void write_one(T* to, std::type_identity_t<T> value, emulator::Place place = emulator::Place::current()) {
    store_vector(to, Vector<T, 1>{{value}}, place);
}
#endif

}  // namespace heddle::device
