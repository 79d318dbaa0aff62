// cooperative_groups::memcpy_async, wait and wait_prior.
#pragma once

#include "kernels/emulator/cuda/block_copy.h"
#include "kernels/emulator/include/cooperative_groups.h"

#define HEDDLE_PLACE ::heddle::emulator::Place place = ::heddle::emulator::Place::current()

namespace cooperative_groups {

/// The group copies `bytes` bytes.
template <class Group, class T, class Size>
void memcpy_async(const Group& group, T* to, const T* from, const Size& bytes, HEDDLE_PLACE) {
    heddle::emulator::cuda::copy_share(to, from, static_cast<std::size_t>(bytes), static_cast<std::size_t>(group.thread_rank()),
                                       static_cast<std::size_t>(group.size()), place);
    heddle::emulator::copy_commit();
}
/// The same for numbers of elements: the smaller one.
template <class Group, class T, class To, class From>
void memcpy_async(const Group& group, T* to, const To& to_elements, const T* from, const From& from_elements, HEDDLE_PLACE) {
    const auto a = static_cast<std::size_t>(to_elements), b = static_cast<std::size_t>(from_elements);
    memcpy_async(group, to, from, (a < b ? a : b) * sizeof(T), place);
}
/// Waits for all but the last Stages copies of the group.
template <unsigned Stages, class Group>
void wait_prior(const Group& group, HEDDLE_PLACE) {
    heddle::emulator::copy_wait(static_cast<int>(Stages), place);
    group.sync(place);
}
template <class Group>
void wait(const Group& group, HEDDLE_PLACE) {
    wait_prior<0>(group, place);
}

}  // namespace cooperative_groups

#undef HEDDLE_PLACE
