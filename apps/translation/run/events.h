// TensorBoard's event files: scalars over the steps of a run, for `tensorboard --logdir RUN`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/translation/run/append_file.h"

namespace heddle::app {

/// TensorBoard reads files in the run's folder whose name contains "tfevents".
inline constexpr const char* event_file_name = "events.out.tfevents.heddle";

/// Beside it: the numbers of the events as tensorboardX exports them, {"train/loss": [[wall time, step, value], ...], ...}.
inline constexpr const char* scalars_file_name = "all_scalars.json";

/// One number of an event: {"train/loss", 5.1}. The file keeps an f32.
struct Scalar {
    std::string_view tag;
    double value = 0;
};

/// Appends events to a file. Each is a TFRecord (length, its masked CRC, the bytes, their masked CRC) around a protobuf message
/// of TensorFlow's event.proto: the few fields that a scalar needs, encoded by hand.
class EventFile {
  public:
    /// Opens `path` for appending; a new or empty file starts with a record that names its version. To continue after an
    /// interrupted run, first cut the file back to whole_records(). Error when it cannot be written.
    explicit EventFile(const std::filesystem::path& path);

    /// Appends an event with these numbers; the system has it when this returns. `wall_time`: seconds since 1970. Error when the
    /// disk is full: the file then ends with the previous event. A file that was removed is started again.
    void add(std::int64_t step, double wall_time, std::span<const Scalar> scalars);
    /// The size of the file in bytes.
    std::int64_t length() { return file_.length(); }

  private:
    AppendFile file_;
};

/// A scalar read from an event file.
struct ReadScalar {
    std::string tag;
    std::int64_t step = 0;
    double wall_time = 0;
    float value = 0;
};
/// The scalars in a file written by EventFile, in order, up to the first incomplete record, which a power failure may leave.
/// Error when the file cannot be read.
std::vector<ReadScalar> read_scalars(const std::filesystem::path& path);
/// The length of the longest prefix of these bytes of an event file that consists of complete records with correct checksums.
std::size_t whole_records(std::string_view bytes);

/// Seconds since 1970, now.
double wall_time();

/// CRC-32C (Castagnoli; RFC 3720, section 12.1), not masked.
std::uint32_t crc32c(std::span<const std::byte> bytes);

}  // namespace heddle::app
