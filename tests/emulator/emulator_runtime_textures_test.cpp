// Textures: what kernels read from them, by CUDA's rules.
#include <cmath>
#include <cstring>

#include "kernels/emulator/run/checker_hooks.h"
#include "tests/emulator/emulator_runtime_support.h"

namespace heddle::emulator {
namespace {

/// An array with these elements, and a texture of it.
class Texture {
  public:
    template <class T>
    Texture(const std::vector<T>& elements, std::size_t width, std::size_t height, cudaTextureDesc reading) {
        const cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
        expect_ok(cudaMallocArray(&array_, &format, width, height));
        expect_ok(cudaMemcpyToArray(array_, 0, 0, elements.data(), elements.size() * sizeof(T), cudaMemcpyHostToDevice));
        cudaResourceDesc resource = {};
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array_;
        expect_ok(cudaCreateTextureObject(&texture_, &resource, &reading, nullptr));
    }
    ~Texture() {
        expect_ok(cudaDestroyTextureObject(texture_));
        expect_ok(cudaFreeArray(array_));
    }
    Texture(const Texture&) = delete;
    Texture& operator=(const Texture&) = delete;
    operator cudaTextureObject_t() const { return texture_; }

  private:
    cudaArray_t array_ = nullptr;
    cudaTextureObject_t texture_ = 0;
};

cudaTextureDesc reading(cudaTextureAddressMode address, cudaTextureFilterMode filter, bool normalised) {
    cudaTextureDesc made = {};
    made.addressMode[0] = made.addressMode[1] = made.addressMode[2] = address;
    made.filterMode = filter;
    made.readMode = cudaReadModeElementType;
    made.normalizedCoords = normalised ? 1 : 0;
    return made;
}

std::vector<float> read_at(cudaTextureObject_t texture, int dimensions, const std::vector<float2>& at, bool fetches = false) {
    DeviceArray<float2> x(at.size());
    DeviceArray<float> y(at.size());
    expect_ok(cudaMemcpy(x, at.data(), at.size() * sizeof(float2), cudaMemcpyHostToDevice));
    expect_ok(sample(texture, dimensions, fetches, x, y, static_cast<int>(at.size()), nullptr));
    return y.values();
}
std::vector<float> read_line(cudaTextureObject_t texture, const std::vector<float>& at, bool fetches = false) {
    std::vector<float2> pairs;
    for (const float x : at) pairs.push_back({x, 0});
    return read_at(texture, 1, pairs, fetches);
}

const std::vector<float> kLine = {10, 20, 30, 40};

TEST(EmulatorRuntimeTextures, ReadsTheNearestElement) {
    const Texture texture(kLine, 4, 0, reading(cudaAddressModeClamp, cudaFilterModePoint, false));
    EXPECT_EQ(read_line(texture, {0, 0.99f, 1, 3.5f, -7, 4, 1e30f}), (std::vector<float>{10, 10, 20, 40, 10, 40, 40}));
}

TEST(EmulatorRuntimeTextures, HasFourAddressModes) {
    const std::vector<float> at = {-0.25f - 1, -0.1f, 0.1f, 0.9f, 1.1f, 1.6f};  // elements -5, -1, 0, 3, 4, 6 of 4
    const auto read = [&](cudaTextureAddressMode mode) {
        return read_line(Texture(kLine, 4, 0, reading(mode, cudaFilterModePoint, true)), at);
    };
    EXPECT_EQ(read(cudaAddressModeClamp), (std::vector<float>{10, 10, 10, 40, 40, 40}));
    EXPECT_EQ(read(cudaAddressModeWrap), (std::vector<float>{40, 40, 10, 40, 10, 30}));
    EXPECT_EQ(read(cudaAddressModeMirror), (std::vector<float>{40, 10, 10, 40, 40, 20}));
    EXPECT_EQ(read(cudaAddressModeBorder), (std::vector<float>{0, 0, 10, 40, 0, 0}));
    // Without normalised coordinates there is nothing to wrap.
    const Texture plain(kLine, 4, 0, reading(cudaAddressModeWrap, cudaFilterModePoint, false));
    EXPECT_EQ(read_line(plain, {-1, 5}), (std::vector<float>{10, 40}));
}

TEST(EmulatorRuntimeTextures, FiltersWithWeightsOfNineBits) {
    const Texture texture(kLine, 4, 0, reading(cudaAddressModeClamp, cudaFilterModeLinear, false));
    // An element's value lies at its middle; the weight of the next one is a multiple of 1/256.
    EXPECT_EQ(read_line(texture, {0.5f, 1, 1.25f, 0, 4}), (std::vector<float>{10, 15, 17.5f, 10, 40}));
    const float third = std::floor(256.0f / 3 + 0.5f) / 256;
    EXPECT_EQ(read_line(texture, {0.5f + 1.0f / 3}), (std::vector<float>{10 + 10 * third}));
    EXPECT_NE(third, 1.0f / 3);
    const Texture wrapped(kLine, 4, 0, reading(cudaAddressModeWrap, cudaFilterModeLinear, true));
    EXPECT_EQ(read_line(wrapped, {0, 1}), (std::vector<float>{25, 25}));
}

TEST(EmulatorRuntimeTextures, FiltersInTwoDimensions) {
    const Texture texture(std::vector<float>{0, 8, 16, 24}, 2, 2, reading(cudaAddressModeClamp, cudaFilterModeLinear, false));
    EXPECT_EQ(read_at(texture, 2, {{0.5f, 0.5f}, {1.5f, 1.5f}, {1, 1}, {0.75f, 1.25f}}), (std::vector<float>{0, 24, 12, 14}));
}

TEST(EmulatorRuntimeTextures, ReadsIntegersAsTheyAreOrNormalised) {
    const std::vector<unsigned char> bytes = {0, 51, 255, 102};
    cudaTextureDesc as_float = reading(cudaAddressModeClamp, cudaFilterModePoint, false);
    const Texture plain(bytes, 4, 0, as_float);
    DeviceArray<unsigned char> y(4);
    expect_ok(sample_bytes(plain, y, 4, nullptr));
    EXPECT_EQ(y.values(), bytes);
    as_float.readMode = cudaReadModeNormalizedFloat;
    const Texture unit(bytes, 4, 0, as_float);
    EXPECT_EQ(read_line(unit, {0, 1, 2, 3}), (std::vector<float>{0, 51 / 255.0f, 1, 102 / 255.0f}));
    const Texture both_signs(std::vector<signed char>{-128, -127, 0, 127}, 4, 0, as_float);
    EXPECT_EQ(read_line(both_signs, {0, 1, 2, 3}), (std::vector<float>{-1, -1, 0, 1}));
    DeviceArray<float> x(1);
    DeviceArray<float2> at(1, float2{0, 0});
    expect_ok(sample(plain, 1, false, at, x, 1, nullptr));
    expect_report(cudaDeviceSynchronize(), "as floats, but the texture has integers");
}

TEST(EmulatorRuntimeTextures, FetchesFromLinearMemory) {
    DeviceArray<float> memory(8, 2.0f);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear = {static_cast<float*>(memory), cudaCreateChannelDesc<float>(), 32};
    cudaTextureDesc plain = reading(cudaAddressModeClamp, cudaFilterModePoint, false);
    cudaTextureObject_t texture = 0;
    expect_ok(cudaCreateTextureObject(&texture, &resource, &plain, nullptr));
    EXPECT_EQ(read_line(texture, {0, 7, 8, -1}, true), (std::vector<float>{2, 2, 0, 0}));
    DeviceArray<float> y(1);
    DeviceArray<float2> at(1, float2{0, 0});
    expect_ok(sample(texture, 1, false, at, y, 1, nullptr));
    expect_report(cudaDeviceSynchronize(), "which only tex1Dfetch reads");
    expect_ok(cudaDestroyTextureObject(texture));
    expect_ok(sample(texture, 1, true, at, y, 1, nullptr));
    expect_report(cudaDeviceSynchronize(), "does not exist, or was destroyed");
    plain.filterMode = cudaFilterModeLinear;
    expect_refused(cudaCreateTextureObject(&texture, &resource, &plain, nullptr), cudaErrorInvalidValue, "whole numbers");
    resource.res.linear.sizeInBytes = 36;
    expect_refused(cudaCreateTextureObject(&texture, &resource, &plain, nullptr), cudaErrorInvalidValue, "not so much memory");
}

TEST(EmulatorRuntimeTextures, ShowsPitchedMemory) {
    float* x = nullptr;
    std::size_t pitch = 0;
    expect_ok(cudaMallocPitch(&x, &pitch, 8, 2));
    const float from[] = {1, 2, 3, 4};
    expect_ok(cudaMemcpy2D(x, pitch, from, 8, 8, 2, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D = {x, cudaCreateChannelDesc<float>(), 2, 2, pitch};
    const cudaTextureDesc plain = reading(cudaAddressModeClamp, cudaFilterModePoint, false);
    cudaTextureObject_t texture = 0;
    expect_ok(cudaCreateTextureObject(&texture, &resource, &plain, nullptr));
    EXPECT_EQ(read_at(texture, 2, {{0, 0}, {1, 0}, {0, 1}, {5, 5}}), (std::vector<float>{1, 2, 3, 4}));
    expect_ok(cudaDestroyTextureObject(texture));
    expect_ok(cudaFree(x));
}

TEST(EmulatorRuntimeTextures, RefusesWhatAGpuRefuses) {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    cudaArray_t array = nullptr;
    expect_ok(cudaMallocArray(&array, &format, 4));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureObject_t texture = 0;
    cudaTextureDesc wanted = reading(cudaAddressModeClamp, cudaFilterModeLinear, false);
    expect_refused(cudaCreateTextureObject(&texture, &resource, &wanted, nullptr), cudaErrorInvalidFilterSetting,
                   "linear filtering");
    wanted.readMode = cudaReadModeNormalizedFloat;
    expect_refused(cudaCreateTextureObject(&texture, &resource, &wanted, nullptr), cudaErrorInvalidNormSetting, "8 and 16 bits");
    expect_ok(cudaFreeArray(array));
    expect_refused(cudaCreateTextureObject(&texture, &resource, &wanted, nullptr), cudaErrorInvalidValue, "was freed");
}

}  // namespace
}  // namespace heddle::emulator
