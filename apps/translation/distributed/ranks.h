// The processes that work together. MPI starts them and carries their bytes; nothing else of Heddle knows MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"

namespace heddle::app {

/// Bytes on their way to another rank. Two ranks exchange their messages to each other in the order in which both list them.
struct Outgoing {
    int to = 0;
    std::span<const std::byte> bytes;
};

/// Room for bytes of another rank: as many as it sends.
struct Incoming {
    int from = 0;
    std::span<std::byte> bytes;
};

/// What MPI promises at least (MPI 3.1, section 8.1.2: MPI_TAG_UB).
inline constexpr int kMostMessages = 32767;

/// One process among several, numbered from 0. broadcast(), exchange() and finish() are collective: every rank calls the same
/// ones in the same order. While they and settle() wait, they let other threads and processes compute.
class Ranks {
  public:
    virtual ~Ranks() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;
    /// The name of the machine that this rank runs on.
    virtual std::string host() const = 0;
    /// This rank's number among those of the same machine, from 0.
    virtual int rank_on_host() const = 0;
    /// This rank's share of the processors, at least 1: those that the host's ranks may run on, divided by their number, and no
    /// more than it may itself run on.
    virtual int own_processors() const = 0;

    /// Rank 0's bytes, on every rank. All give as many.
    virtual void broadcast(std::span<std::byte> bytes) = 0;
    /// Sends and receives all of these at once. What one rank sends to another, that one must list as incoming; a rank lists
    /// nothing for itself.
    virtual void exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) = 0;

    /// Starts to send, or to receive, and returns at once: the bytes travel while this rank computes. Both sides give a message
    /// the same `number`, from 1 to kMostMessages, and no other one between the two that number until settle(); they may start
    /// their messages in any order. Until settle() the bytes belong to the message. `memory` holds them: it is kept for as long,
    /// even where an exception ends this rank before.
    virtual void start_send(const Outgoing& message, int number, std::shared_ptr<const void> memory) = 0;
    virtual void start_receive(const Incoming& message, int number, std::shared_ptr<const void> memory) = 0;
    /// Lets the started messages move on, which an MPI library does only while it is called. Returns how many bytes have
    /// arrived since the last settle().
    virtual std::int64_t arrived() = 0;
    /// Waits for all messages that were started. Until then this rank must not call broadcast() or exchange().
    virtual void settle() = 0;

    /// The last call on each rank, where all went well: waits for the others.
    virtual void finish() = 0;
    /// Ends all ranks at once with this exit status, from any of them. Say why on stderr before.
    [[noreturn]] virtual void end_all(int status) = 0;
};

/// Joins the others where this process was started as one of several (mpirun, srun); null where it is alone. To be called once,
/// before anything is computed. UsageError when there are several processes but this build has no MPI, or one that its starter
/// does not know, or srun was started without an interface for MPI.
std::unique_ptr<Ranks> join_ranks();

/// For join_ranks(): throws the UsageError on the first of the started processes. The others wait two seconds and
/// exit silently, so that the message appears once.
[[noreturn]] void refuse_start(const std::string& why);

/// As how many processes mpirun, mpiexec or srun says, in this process's environment, that it started the program; 1 when none of
/// them did.
int started_ranks();
/// Whether srun started several processes and gave them no interface by which an MPI library could find the others
/// (srun --mpi=none). started_ranks() counts them all the same.
bool started_without_mpi();

/// Which of a machine's GPUs a rank takes, as CUDA_VISIBLE_DEVICES names it: one of those that `visible` lists ("0,1,3"; null:
/// all), in turn.
std::string device_of_rank(const char* visible, int rank_on_host);

/// The bytes of an array, for broadcast() and exchange().
template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}
template <class T>
std::span<std::byte> bytes_of(std::vector<T>& values) {
    return std::as_writable_bytes(std::span(values));
}

/// The bytes of a tensor, in the memory of its device.
inline std::span<const std::byte> bytes_of(const Tensor& tensor) {
    return {tensor.bytes_data(), static_cast<std::size_t>(tensor.bytes())};
}
/// The same, to write.
inline std::span<std::byte> mutable_bytes_of(Tensor tensor) {
    return {tensor.mutable_bytes_data(), static_cast<std::size_t>(tensor.bytes())};
}

/// "rank 1 on host: what".
std::string naming_the_rank(const Ranks& ranks, std::string_view what);

}  // namespace heddle::app
