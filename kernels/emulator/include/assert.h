// In place of the C library's <assert.h>: an assertion that fails in a kernel names its block and thread. As there, each
// inclusion follows NDEBUG anew.
#undef assert

#if !defined(HEDDLE_EMULATOR_ASSERT_H)
#define HEDDLE_EMULATOR_ASSERT_H
#include "kernels/emulator/foreign.h"
#endif

#if defined(NDEBUG)
#define assert(...) (static_cast<void>(0))
#else
#define assert(...)                 \
    (static_cast<bool>(__VA_ARGS__) \
         ? static_cast<void>(0)     \
         : ::heddle::emulator::failed_assertion(#__VA_ARGS__, __FILE__, __LINE__, __extension__ __PRETTY_FUNCTION__))
#endif
