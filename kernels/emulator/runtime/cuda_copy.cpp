// Copies and fills.
#include <cstring>
#include <optional>

#include "kernels/emulator/foreign.h"
#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/verdict.h"
#include "kernels/emulator/runtime/access.h"
#include "kernels/emulator/runtime/pinned.h"
#include "kernels/emulator/runtime/runtime.h"

using namespace heddle::emulator;

namespace {

void move(const Rows& to, const Rows& from) {
    for (std::size_t y = 0; y < from.height; ++y) std::memmove(to.start + y * to.pitch, from.start + y * from.pitch, from.width);
}

struct Copy {
    Rows to, from;
    bool to_device, from_device;
};

/// Pinned memory counts as the host's; managed memory and variables of the device as the device's.
bool is_on_device(const void* address) { return memory_kind(address) >= MemoryKind::device; }
/// Managed and pinned memory has one address for both sides, so that a copy may call it either's.
bool is_on_both_sides(const void* address) {
    const MemoryKind kind = memory_kind(address);
    return kind == MemoryKind::managed || kind == MemoryKind::pinned;
}

/// Performs the copy when it runs.
void run_copy(const Copy& copy, const std::string& name) {
    std::optional<Violation> unwritten;
    try {
        if (copy.to_device) check_device(copy.to, true);
        if (copy.from_device) check_device(copy.from, false);
    } catch (const Violation& violation) {
        Violation named(name + " " + violation.what(), violation.kind);
        if (!is_foreign_program() || std::strcmp(violation.kind, "uninitialized") != 0) throw named;
        named.goes_on = true;
        unwritten = named;
    }
    move(copy.to, copy.from);
    if (copy.to_device) wrote(copy.to);
    if (unwritten) throw *unwritten;
}

/// How the kind contradicts the pointers, or "".
std::string contradiction(const Copy& copy, cudaMemcpyKind kind) {
    if (kind == cudaMemcpyDefault) return "";
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    if (from_device != copy.from_device && !is_on_both_sides(copy.from.start))
        return std::string("the kind says that the source is the ") +
               (from_device ? "device's, but it is the host's" : "host's, but it is the device's");
    if (to_device != copy.to_device && !is_on_both_sides(copy.to.start))
        return std::string("the kind says that the destination is the ") +
               (to_device ? "device's, but it is the host's" : "host's, but it is the device's");
    return "";
}

/// CUDA leaves such a copy open. With one range of addresses for both sides it goes by the pointers, and programs rely on that.
void note_contradiction(const std::string& call, const std::string& why, Place place) {
    ViolationRecord note = mistake("portability", place,
                                   call + " at " + text_of(place) + ": " + why +
                                       ": CUDA leaves open what such a copy does; here it goes by what the pointers are");
    note.note = true;
    write_record(std::move(note));
}

/// The reason why the copy is refused at the call, or "".
std::string why_refused(const Copy& copy, cudaMemcpyKind kind) {
    if (copy.to.start == nullptr || copy.from.start == nullptr) return "a null pointer";
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return "no such kind of copy";
    if (!is_foreign_program())
        if (std::string why = contradiction(copy, kind); !why.empty()) return why;
    if (copy.to_device)
        if (std::string why = device_error(copy.to, "writes"); !why.empty()) return why;
    if (copy.from_device)
        if (std::string why = device_error(copy.from, "reads"); !why.empty()) return why;
    if (overlap(copy.to, copy.from)) return "source and destination overlap";
    return "";
}

/// Queues the copy in the stream. `waits`: the host waits for it anyway.
cudaError_t copy_in(const char* call, Copy copy, cudaMemcpyKind kind, cudaStream_t stream, bool waits, Place place) {
    if (const cudaError_t error = check_caller(call); error != cudaSuccess) return error;
    if (Streams::all().find(stream) == nullptr)
        return refuse(cudaErrorInvalidResourceHandle, std::string(call) + ": not a stream");
    if (copy.from.empty()) return cudaSuccess;
    if (const std::string why = why_refused(copy, kind); !why.empty())
        return refuse(cudaErrorInvalidValue, std::string(call) + " at " + text_of(place) + ": " + why);
    if (const std::string why = contradiction(copy, kind); !why.empty()) note_contradiction(call, why, place);

    Operation operation;
    operation.what = call;
    operation.place = place;
    if (copy.from_device) operation.reads = {copy.from};
    if (copy.to_device) operation.writes = {copy.to};
    const bool captured = is_capturing(stream);
    if (!copy.from_device && copy.to_device) {
        if (is_pinned(copy.from.start)) {
            operation.pinned = copy.from;
        } else if (!captured && !waits) {  // pageable memory is read at the call
            const auto staged = std::make_shared<std::vector<std::byte>>(copy.from.width * copy.from.height);
            const Rows stage = {staged->data(), copy.from.width, copy.from.width, copy.from.height};
            move(stage, copy.from);
            copy.from = stage;
            operation.staged = staged;
        }
    }
    if (!copy.to_device) {
        if (is_pinned(copy.to.start)) {
            operation.pinned = copy.to;
            operation.pinned_written = true;
        } else {
            waits = true;
        }
    }
    if (captured && waits)
        return spoil(stream, cudaErrorStreamCaptureUnsupported,
                     std::string(call) + ": a copy that the host waits for cannot be captured; use pinned memory");
    if (captured && copy.to_device && !copy.from_device && operation.pinned.empty())
        return spoil(stream, cudaErrorStreamCaptureUnsupported,
                     std::string(call) + ": pageable memory would be read at each replay; use pinned memory");
    operation.work = [copy, name = title(operation)] { run_copy(copy, name); };
    const cudaError_t error = submit(stream, std::move(operation));
    return error != cudaSuccess || !waits ? error : wait_in(stream, call);
}

Copy plain(void* to, const void* from, std::size_t bytes) {
    return {Rows::of(to, bytes), Rows::of(from, bytes), is_on_device(to), is_on_device(from)};
}

}  // namespace

namespace heddle::emulator {

cudaError_t copy_rows(const char* call, Rows to, Rows from, cudaMemcpyKind kind, cudaStream_t stream, bool waits, Place place) {
    return copy_in(call, {to, from, is_on_device(to.start), is_on_device(from.start)}, kind, stream, waits, place);
}

cudaError_t fill_rows(const char* call, const Rows& rows, int byte, cudaStream_t stream, Place place) {
    if (const cudaError_t error = check_caller(call); error != cudaSuccess) return error;
    if (Streams::all().find(stream) == nullptr)
        return refuse(cudaErrorInvalidResourceHandle, std::string(call) + ": not a stream");
    if (rows.empty()) return cudaSuccess;
    if (const std::string why = device_error(rows, "writes"); !why.empty())
        return refuse(cudaErrorInvalidValue, std::string(call) + " at " + text_of(place) + ": " + why);
    Operation operation;
    operation.what = call;
    operation.place = place;
    operation.writes = {rows};
    operation.fills = byte;
    operation.work = [rows, byte, name = title(operation)] {
        if (const std::string why = device_error(rows, "writes"); !why.empty())
            throw Violation(name + " " + why, "out-of-bounds");
        fill(rows, byte);
        wrote(rows);
    };
    return submit(stream, std::move(operation));
}

}  // namespace heddle::emulator

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, Place place) {
    return copy_in("cudaMemcpy", plain(to, from, bytes), kind, nullptr, true, place);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
                            Place place) {
    return copy_in("cudaMemcpyAsync", plain(to, from, bytes), kind, stream, false, place);
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t bytes, Place place) {
    if (const cudaError_t error = cudaSetDevice(to_device != 0 ? to_device : from_device); error != cudaSuccess) return error;
    return copy_in("cudaMemcpyPeer", plain(to, from, bytes), cudaMemcpyDefault, nullptr, true, place);
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream, Place place) {
    if (const cudaError_t error = cudaSetDevice(to_device != 0 ? to_device : from_device); error != cudaSuccess) return error;
    return copy_in("cudaMemcpyPeerAsync", plain(to, from, bytes), cudaMemcpyDefault, stream, false, place);
}

cudaError_t cudaMemset(void* pointer, int byte, std::size_t bytes, Place place) {
    return fill_rows("cudaMemset", Rows::of(pointer, bytes), byte, nullptr, place);
}

cudaError_t cudaMemsetAsync(void* pointer, int byte, std::size_t bytes, cudaStream_t stream, Place place) {
    return fill_rows("cudaMemsetAsync", Rows::of(pointer, bytes), byte, stream, place);
}
