// parallel_for, the only way in which work is threaded.
#pragma once

#include <cstdint>
#include <type_traits>

namespace heddle {

/// A reference to a callable `void(std::int64_t begin, std::int64_t end)`; it must outlive the call, nothing is copied.
class RangeBody {
  public:
    template <class Body>
    requires(!std::is_same_v<std::remove_cvref_t<Body>, RangeBody>)
        RangeBody(const Body& body)  // NOLINT: made to be converted to
        : object_(&body), call_([](const void* object, std::int64_t begin, std::int64_t end) {
              (*static_cast<const Body*>(object))(begin, end);
          }) {}
    void operator()(std::int64_t begin, std::int64_t end) const { call_(object_, begin, end); }

  private:
    const void* object_;
    void (*call_)(const void*, std::int64_t, std::int64_t);
};

/// Splits [0, n) into pieces of `grain` (the last may be shorter) and runs `body(begin, end)` on each, on several threads; free
/// threads take the next piece. The pieces depend only on `n` and `grain`, not on the number of threads: a body whose
/// pieces write disjoint results gives the same bits for any number of threads. An exception of a body is
/// rethrown in the caller. A parallel_for inside a body runs on that body's thread only.
void parallel_for(std::int64_t n, std::int64_t grain, RangeBody body);

/// The number of threads that parallel_for uses; by default the number of processors available to this process.
int threads();
/// Error unless `count` is 1 to 1024.
void set_threads(int count);

/// A grain for bodies that cost about `work` elementary operations per index: pieces worth about 30 microseconds.
std::int64_t grain_for(std::int64_t work);

}  // namespace heddle
