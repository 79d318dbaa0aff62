// cuRAND's generators that the host starts: number i of a generator is number i of Philox's subsequence 0.
#include <cmath>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "kernels/emulator/include/curand.h"
#include "kernels/emulator/include/curand_kernel.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/runtime/access.h"
#include "kernels/emulator/runtime/runtime.h"

using namespace heddle::emulator;

struct curandGenerator_st {
    bool on_host = false;
    std::uint64_t seed = 0, position = 0, key = 0;
    cudaStream_t stream = nullptr;
};

namespace {

struct Generators {
    std::mutex mutex;
    std::set<curandGenerator_t> living;
};
Generators& generators() {
    static auto* const all = new Generators;
    return *all;
}
bool is_generator(curandGenerator_t generator) {
    const std::lock_guard lock(generators().mutex);
    return generators().living.contains(generator);
}

curandStatus_t create(curandGenerator_t* generator, curandRngType_t type, bool on_host, const char* call) {
    if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
    const bool xorwow = type == CURAND_RNG_PSEUDO_DEFAULT || type == CURAND_RNG_PSEUDO_XORWOW;
    if (!xorwow && type != CURAND_RNG_PSEUDO_PHILOX4_32_10) {
        refuse(cudaErrorNotSupported,
               std::string(call) + ": the emulator has XORWOW and Philox, not generator " + std::to_string(type));
        return CURAND_STATUS_TYPE_ERROR;
    }
    auto* const made = new curandGenerator_st;
    made->on_host = on_host;
    made->key = xorwow ? std::uint64_t{0x786f72776f77} << 16 : 0;
    *generator = made;
    const std::lock_guard lock(generators().mutex);
    generators().living.insert(made);
    return CURAND_STATUS_SUCCESS;
}

template <class Set>
curandStatus_t change(curandGenerator_t generator, Set&& set) {
    if (!is_generator(generator)) return CURAND_STATUS_NOT_INITIALIZED;
    set(*generator);
    return CURAND_STATUS_SUCCESS;
}

/// Writes n numbers of T, which fill(state, to, n) draws; each takes `words` of the generator.
template <class T, class Fill>
curandStatus_t generate(const char* call, curandGenerator_t generator, T* to, std::size_t n, std::size_t words, Place place,
                        Fill fill) {
    if (!is_generator(generator)) return CURAND_STATUS_NOT_INITIALIZED;
    if (n == 0) return CURAND_STATUS_SUCCESS;
    curand::State state;
    state.start(generator->seed ^ generator->key, 0, generator->position);
    generator->position += n * words;
    if (generator->on_host) {
        fill(state, to, n);
        return CURAND_STATUS_SUCCESS;
    }
    const Rows rows = Rows::of(to, n * sizeof(T));
    if (const std::string why = device_error(rows, "writes"); !why.empty()) {
        refuse(cudaErrorInvalidValue, std::string(call) + " at " + text_of(place) + ": " + why);
        return CURAND_STATUS_LAUNCH_FAILURE;
    }
    Operation operation;
    operation.what = call;
    operation.place = place;
    operation.writes = {rows};
    operation.work = [=, name = title(operation)]() mutable {
        if (const std::string why = device_error(rows, "writes"); !why.empty())
            throw Violation(name + " " + why, "out-of-bounds");
        fill(state, to, n);
        wrote(rows);
    };
    return submit(generator->stream, std::move(operation)) == cudaSuccess ? CURAND_STATUS_SUCCESS : CURAND_STATUS_LAUNCH_FAILURE;
}

template <class T>
void fill_normal(curand::State& state, T* to, std::size_t n, T mean, T deviation, bool logarithm) {
    const auto put = [&](std::size_t i, T value) {
        const T x = mean + deviation * value;
        to[i] = logarithm ? std::exp(x) : x;
    };
    for (std::size_t i = 0; i < n; i += 2) {
        std::uint32_t word[4] = {};
        for (int k = 0; k < (sizeof(T) == 4 ? 2 : 4); ++k) word[k] = state.next();
        if constexpr (sizeof(T) == 4) {
            const float2 pair = curand::normal_pair(word[0], word[1]);
            put(i, pair.x), put(i + 1, pair.y);
        } else {
            const double2 pair = curand::normal_pair_double(word[0], word[1], word[2], word[3]);
            put(i, pair.x), put(i + 1, pair.y);
        }
    }
}
template <class T>
curandStatus_t normal(const char* call, curandGenerator_t generator, T* to, std::size_t n, T mean, T deviation, bool logarithm,
                      Place place) {
    if (n % 2 != 0) {
        refuse(cudaErrorInvalidValue,
               std::string(call) + " at " + text_of(place) + ": " + std::to_string(n) + " numbers, but they come in pairs");
        return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
    }
    return generate(call, generator, to, n, sizeof(T) / 4, place, [=](curand::State& state, T* at, std::size_t count) {
        fill_normal(state, at, count, mean, deviation, logarithm);
    });
}

}  // namespace

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type) {
    return create(generator, type, false, "curandCreateGenerator");
}
curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator, curandRngType_t type) {
    return create(generator, type, true, "curandCreateGeneratorHost");
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
    {
        const std::lock_guard lock(generators().mutex);
        if (generators().living.erase(generator) == 0) return CURAND_STATUS_NOT_INITIALIZED;
    }
    delete generator;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetVersion(int* version) {
    if (version == nullptr) return CURAND_STATUS_OUT_OF_RANGE;
    *version = CURAND_VERSION;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetProperty(libraryPropertyType type, int* value) {
    if (value == nullptr) return CURAND_STATUS_OUT_OF_RANGE;
    *value = type == MAJOR_VERSION ? CURAND_VER_MAJOR : type == MINOR_VERSION ? CURAND_VER_MINOR : 0;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
    return change(generator, [stream](curandGenerator_st& g) { g.stream = stream; });
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
    return change(generator, [seed](curandGenerator_st& g) { g.seed = seed, g.position = 0; });
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
    return change(generator, [offset](curandGenerator_st& g) { g.position = offset; });
}
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t) {
    return change(generator, [](curandGenerator_st&) {});
}
curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
    return change(generator, [](curandGenerator_st&) {});
}

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned* to, std::size_t n, Place place) {
    return generate("curandGenerate", generator, to, n, 1, place, [](curand::State& state, unsigned* at, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) at[i] = state.next();
    });
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* to, std::size_t n, Place place) {
    return generate("curandGenerateUniform", generator, to, n, 1, place, [](curand::State& state, float* at, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) at[i] = curand::uniform(state.next());
    });
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* to, std::size_t n, Place place) {
    return generate("curandGenerateUniformDouble", generator, to, n, 2, place,
                    [](curand::State& state, double* at, std::size_t count) {
                        for (std::size_t i = 0; i < count; ++i) {
                            const std::uint32_t x = state.next();
                            at[i] = curand::uniform_double(x, state.next());
                        }
                    });
}
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* to, std::size_t n, float mean, float deviation,
                                    Place place) {
    return normal("curandGenerateNormal", generator, to, n, mean, deviation, false, place);
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* to, std::size_t n, double mean, double deviation,
                                          Place place) {
    return normal("curandGenerateNormalDouble", generator, to, n, mean, deviation, false, place);
}
curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* to, std::size_t n, float mean, float deviation,
                                       Place place) {
    return normal("curandGenerateLogNormal", generator, to, n, mean, deviation, true, place);
}
curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double* to, std::size_t n, double mean,
                                             double deviation, Place place) {
    return normal("curandGenerateLogNormalDouble", generator, to, n, mean, deviation, true, place);
}
curandStatus_t curandGeneratePoisson(curandGenerator_t generator, unsigned* to, std::size_t n, double mean, Place place) {
    if (!(mean > 0)) return CURAND_STATUS_OUT_OF_RANGE;
    return generate("curandGeneratePoisson", generator, to, n, 1, place,
                    [mean](curand::State& state, unsigned* at, std::size_t count) {
                        const std::uint64_t first = state.position;
                        for (std::size_t i = 0; i < count;
                             ++i) {  // each from a subsequence of its own: it takes a number of draws that varies
                            curand::State own;
                            own.start(state.seed, state.subsequence + 1 + first + i, 0);
                            at[i] = curand::poisson([&own] { return own.next(); }, mean);
                        }
                    });
}
