// Variables of the device: `__device__`, `__constant__` and `__managed__` objects, and the runtime's functions for them.
#pragma once

#include "kernels/emulator/cuda/shared.h"
#include "kernels/emulator/include/driver_types.h"
#include "kernels/emulator/place.h"

namespace heddle::emulator::cuda {

/// Makes a variable known as device memory that is written. It follows the variable's definition.
class Symbol {
  public:
    enum Kind { device, constant, managed };
    template <class T>
    Symbol(T& variable, unsigned long bytes, const char* name, Kind kind) {
        static constexpr Shape shape = shape_of<T>();
        add(const_cast<const void*>(static_cast<const volatile void*>(&reinterpret_cast<const volatile char&>(variable))), bytes,
            name, kind, shape);
    }

  private:
    static void add(const void* start, unsigned long bytes, const char* name, Kind kind, const Shape& shape);
};

/// Registers a static variable of a function of the GPU before main(): the function itself must not, because many threads run it.
template <auto* Variable, class Name>
struct StaticLocal {
    static inline Symbol symbol{*Variable, sizeof(*Variable), Name::text(), Symbol::device};
};

namespace detail {
// `symbol` is the address of the variable, or, if `is_text`, of its name.
cudaError_t copy_to_symbol(const void* symbol, bool is_text, const void* from, unsigned long bytes, unsigned long offset,
                           cudaMemcpyKind kind, bool waits, cudaStream_t stream, Place place);
cudaError_t copy_from_symbol(void* to, const void* symbol, bool is_text, unsigned long bytes, unsigned long offset,
                             cudaMemcpyKind kind, bool waits, cudaStream_t stream, Place place);
cudaError_t symbol_address(void** address, const void* symbol, bool is_text);
cudaError_t symbol_size(unsigned long* bytes, const void* symbol, bool is_text);

template <class T>
struct IsText {
    static constexpr bool value = false;
};
template <unsigned long N>
struct IsText<char[N]> {
    static constexpr bool value = true;
};
template <class T>
const void* address_of(const T& variable) {
    return const_cast<const void*>(static_cast<const volatile void*>(&reinterpret_cast<const volatile char&>(variable)));
}
}  // namespace detail

}  // namespace heddle::emulator::cuda

// CUDA's functions. A symbol is the variable itself, or its name.
#define HEDDLE_SYMBOL ::heddle::emulator::cuda::detail::address_of(symbol), ::heddle::emulator::cuda::detail::IsText<T>::value
#define HEDDLE_PLACE ::heddle::emulator::Place place = ::heddle::emulator::Place::current()
template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, unsigned long bytes, unsigned long offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice, HEDDLE_PLACE) {
    return heddle::emulator::cuda::detail::copy_to_symbol(HEDDLE_SYMBOL, from, bytes, offset, kind, true, nullptr, place);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, unsigned long bytes, unsigned long offset = 0,
                                    cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = nullptr, HEDDLE_PLACE) {
    return heddle::emulator::cuda::detail::copy_to_symbol(HEDDLE_SYMBOL, from, bytes, offset, kind, false, stream, place);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, unsigned long bytes, unsigned long offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost, HEDDLE_PLACE) {
    return heddle::emulator::cuda::detail::copy_from_symbol(to, HEDDLE_SYMBOL, bytes, offset, kind, true, nullptr, place);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, unsigned long bytes, unsigned long offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = nullptr, HEDDLE_PLACE) {
    return heddle::emulator::cuda::detail::copy_from_symbol(to, HEDDLE_SYMBOL, bytes, offset, kind, false, stream, place);
}
template <class T>
cudaError_t cudaGetSymbolAddress(void** address, const T& symbol) {
    return heddle::emulator::cuda::detail::symbol_address(address, HEDDLE_SYMBOL);
}
template <class T>
cudaError_t cudaGetSymbolSize(unsigned long* bytes, const T& symbol) {
    return heddle::emulator::cuda::detail::symbol_size(bytes, HEDDLE_SYMBOL);
}
#undef HEDDLE_PLACE
#undef HEDDLE_SYMBOL
