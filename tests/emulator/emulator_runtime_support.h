// Shared by the tests of the emulated runtime.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/emulator/run/run.h"
#include "tests/emulator/emulator_runtime_kernels.h"

namespace heddle::emulator {

inline void expect_ok(int error) { EXPECT_EQ(error, cudaSuccess) << cudaGetErrorString(static_cast<cudaError_t>(error)); }

/// Expects that the call was refused with this code and a message that contains `part`.
inline void expect_refused(int error, cudaError_t code, const std::string& part) {
    EXPECT_EQ(error, code) << cudaGetErrorName(static_cast<cudaError_t>(error));
    const std::string text = cudaGetErrorString(code);
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is not in \"" << text << "\"";
}
/// Expects that a wait reported an error that contains `part`, and that the next wait reports nothing.
inline void expect_report(int error, const std::string& part) {
    expect_refused(error, cudaErrorLaunchFailure, part);
    expect_ok(cudaDeviceSynchronize());
}

/// A stream that does not wait for the default stream.
class Stream {
  public:
    explicit Stream(unsigned flags = cudaStreamNonBlocking) { expect_ok(cudaStreamCreateWithFlags(&stream_, flags)); }
    ~Stream() { expect_ok(cudaStreamDestroy(stream_)); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    operator cudaStream_t() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

class Event {
  public:
    Event() { expect_ok(cudaEventCreate(&event_)); }
    ~Event() { expect_ok(cudaEventDestroy(event_)); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    operator cudaEvent_t() const { return event_; }

  private:
    cudaEvent_t event_ = nullptr;
};

/// n elements on the device, initialised if a value is given.
template <class T>
class DeviceArray {
  public:
    explicit DeviceArray(std::size_t n) : n_(n) { expect_ok(cudaMalloc(&data_, n * sizeof(T))); }
    DeviceArray(std::size_t n, T value) : DeviceArray(n) {
        const std::vector<T> values(n, value);
        expect_ok(cudaMemcpy(data_, values.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~DeviceArray() { cudaFree(data_); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    operator T*() const { return data_; }
    std::vector<T> values() const {
        std::vector<T> values(n_);
        expect_ok(cudaMemcpy(values.data(), data_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return values;
    }

  private:
    T* data_ = nullptr;
    std::size_t n_;
};

template <class T>
class PinnedArray {
  public:
    PinnedArray(std::size_t n, T value) : n_(n) {
        expect_ok(cudaMallocHost(&data_, n * sizeof(T)));
        fill(value);
    }
    ~PinnedArray() { cudaFreeHost(data_); }
    PinnedArray(const PinnedArray&) = delete;
    PinnedArray& operator=(const PinnedArray&) = delete;
    operator T*() const { return data_; }
    std::size_t bytes() const { return n_ * sizeof(T); }
    void fill(T value) { std::fill_n(data_, n_, value); }

  private:
    T* data_ = nullptr;
    std::size_t n_;
};

/// Calls body in each of 20 random orders.
template <class Body>
void in_orders(Body&& body) {
    for (std::uint64_t order = 0; order < 20; ++order) {
        SCOPED_TRACE("seed " + std::to_string(order));
        set_seed(order);
        body();
    }
}

}  // namespace heddle::emulator
