#include "core/dtype.h"

#include "core/dispatch.h"

namespace heddle {

std::string_view name(DType dtype) {
    switch (dtype) {
        case DType::f64: return "f64";
        case DType::f32: return "f32";
        case DType::bf16: return "bf16";
        case DType::i32: return "i32";
        case DType::u8: return "u8";
        case DType::dual: return "dual";
    }
    fail("dtype: no such element type");
}

void fail_float_only(const char* op, DType dtype) {
    if (dtype == DType::dual)
        fail(std::string(op) + ": its loops do not take dual numbers, which exact_check needs; dispatch with " +
             "dispatch_real and sum in Accumulator<T> (core/dual.h)");
    fail(std::string(op) + ": the CPU computes in f32 or f64, but was given " + std::string(name(dtype)) + "; convert with to()");
}

std::string_view name(Device device) { return device == Device::cpu ? "cpu" : "cuda"; }

std::int64_t size_of(DType dtype) {
    switch (dtype) {
        case DType::f64: return 8;
        case DType::f32: return 4;
        case DType::bf16: return 2;
        case DType::i32: return 4;
        case DType::u8: return 1;
        case DType::dual: return 16;
    }
    fail("dtype: no such element type");
}

}  // namespace heddle
