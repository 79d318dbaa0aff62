// Variables of the device (cuda/symbols.h).
#include "kernels/emulator/cuda/symbols.h"

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/runtime/runtime.h"

namespace heddle::emulator {
namespace {

struct KnownSymbol {
    std::byte* start;
    std::size_t bytes;
};
struct KnownSymbols {
    std::mutex mutex;
    std::map<const void*, KnownSymbol> by_address;
    std::map<std::string, KnownSymbol> by_name;
};
/// Never destroyed: variables are registered before main.
KnownSymbols& known_symbols() {
    static KnownSymbols& known = *new KnownSymbols;
    return known;
}

/// Null and the thread's last error, if it is none.
const KnownSymbol* find_symbol(const char* call, const void* symbol, bool is_text) {
    KnownSymbols& known = known_symbols();
    const std::lock_guard lock(known.mutex);
    if (const auto found = known.by_address.find(symbol); found != known.by_address.end()) return &found->second;
    if (is_text)
        if (const auto found = known.by_name.find(static_cast<const char*>(symbol)); found != known.by_name.end())
            return &found->second;
    refuse(cudaErrorInvalidSymbol,
           std::string(call) + ": " +
               (is_text ? "`" + std::string(static_cast<const char*>(symbol)) + "` is" : "the first argument is") +
               " no __device__, __constant__ or __managed__ variable");
    return nullptr;
}

/// Null and the thread's last error, if the bytes are not all the variable's.
std::byte* part_of_symbol(const char* call, const void* symbol, bool is_text, std::size_t bytes, std::size_t offset) {
    const KnownSymbol* const found = find_symbol(call, symbol, is_text);
    if (found == nullptr) return nullptr;
    if (offset <= found->bytes && bytes <= found->bytes - offset) return found->start + offset;
    refuse(cudaErrorInvalidValue, std::string(call) + ": " + std::to_string(bytes) + " bytes from byte " +
                                      std::to_string(offset) + " of " + title(*mapped_memory(found->start)));
    return nullptr;
}

}  // namespace

void cuda::Symbol::add(const void* start, unsigned long bytes, const char* name, Kind kind, const Shape& shape) {
    auto* const first = static_cast<std::byte*>(const_cast<void*>(start));
    {
        KnownSymbols& known = known_symbols();
        const std::lock_guard lock(known.mutex);
        known.by_address.insert_or_assign(start, KnownSymbol{first, bytes});
        known.by_name.insert_or_assign(name, KnownSymbol{first, bytes});
    }
    map_memory(first, bytes, kind == constant ? MemoryKind::constant : MemoryKind::variable, name, &shape);
}

cudaError_t cuda::detail::copy_to_symbol(const void* symbol, bool is_text, const void* from, unsigned long bytes,
                                         unsigned long offset, cudaMemcpyKind kind, bool waits, cudaStream_t stream,
                                         Place place) {
    const char* const call = waits ? "cudaMemcpyToSymbol" : "cudaMemcpyToSymbolAsync";
    if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost)
        return refuse(cudaErrorInvalidMemcpyDirection, std::string(call) + ": the kind says that the variable is the host's");
    std::byte* const to = part_of_symbol(call, symbol, is_text, bytes, offset);
    if (to == nullptr) return cudaPeekAtLastError();
    return waits ? cudaMemcpy(to, from, bytes, kind, place) : cudaMemcpyAsync(to, from, bytes, kind, stream, place);
}

cudaError_t cuda::detail::copy_from_symbol(void* to, const void* symbol, bool is_text, unsigned long bytes, unsigned long offset,
                                           cudaMemcpyKind kind, bool waits, cudaStream_t stream, Place place) {
    const char* const call = waits ? "cudaMemcpyFromSymbol" : "cudaMemcpyFromSymbolAsync";
    if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost)
        return refuse(cudaErrorInvalidMemcpyDirection, std::string(call) + ": the kind says that the variable is the host's");
    const std::byte* const from = part_of_symbol(call, symbol, is_text, bytes, offset);
    if (from == nullptr) return cudaPeekAtLastError();
    return waits ? cudaMemcpy(to, from, bytes, kind, place) : cudaMemcpyAsync(to, from, bytes, kind, stream, place);
}

cudaError_t cuda::detail::symbol_address(void** address, const void* symbol, bool is_text) {
    if (address == nullptr) return refuse(cudaErrorInvalidValue, "cudaGetSymbolAddress: a null pointer for the result");
    const KnownSymbol* const found = find_symbol("cudaGetSymbolAddress", symbol, is_text);
    if (found == nullptr) return cudaErrorInvalidSymbol;
    *address = found->start;
    return cudaSuccess;
}

cudaError_t cuda::detail::symbol_size(unsigned long* bytes, const void* symbol, bool is_text) {
    if (bytes == nullptr) return refuse(cudaErrorInvalidValue, "cudaGetSymbolSize: a null pointer for the result");
    const KnownSymbol* const found = find_symbol("cudaGetSymbolSize", symbol, is_text);
    if (found == nullptr) return cudaErrorInvalidSymbol;
    *bytes = found->bytes;
    return cudaSuccess;
}

}  // namespace heddle::emulator
