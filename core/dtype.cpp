#include "core/dtype.h"

#include "core/error.h"

namespace heddle {

std::string_view name(DType dtype) {
    switch (dtype) {
        case DType::f64: return "f64";
        case DType::f32: return "f32";
        case DType::bf16: return "bf16";
        case DType::i32: return "i32";
        case DType::u8: return "u8";
    }
    fail("dtype: no such element type");
}

std::string_view name(Device device) { return device == Device::cpu ? "cpu" : "cuda"; }

std::int64_t size_of(DType dtype) {
    switch (dtype) {
        case DType::f64: return 8;
        case DType::f32: return 4;
        case DType::bf16: return 2;
        case DType::i32: return 4;
        case DType::u8: return 1;
    }
    fail("dtype: no such element type");
}

}  // namespace heddle
