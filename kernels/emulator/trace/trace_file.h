// Traces as files, from one program to another of the same build. A file has the members in their order. Numbers are written as
// they lie in memory; texts and lists begin with their length.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/emulator/trace/trace.h"

namespace heddle::emulator {

/// Memory that a traced program's kernels used.
struct TracedMemory {
    std::string name;  ///< of a variable; else where it was allocated: "saxpy.cu:12"
    std::uint64_t start = 0, bytes = 0;
    bool is_variable = false;
};

/// What a program of the front end writes at its end if HEDDLE_EMULATOR_TRACE names a file (program_trace.cpp).
struct ProgramTrace {
    std::vector<TracedMemory> memory;  ///< by address
    std::vector<TracedLaunch> launches;
    std::uint64_t launched = 0;  ///< also those that are not in `launches`
};

inline constexpr std::uint64_t kTraceEnd = 0x68656464'6c650a00u;  ///< ends a complete file

/// Writes what visit() shows it.
class TraceWriter {
  public:
    explicit TraceWriter(const std::string& path) : file_(path, std::ios::binary) {}
    template <class T>
    requires std::is_trivially_copyable_v<T>
    void operator()(T& value) { file_.write(reinterpret_cast<const char*>(&value), sizeof value); }
    void operator()(std::string& text) { list(text); }
    template <class T>
    void operator()(std::vector<T>& values) {
        if constexpr (std::is_trivially_copyable_v<T>) {
            list(values);
        } else {
            count(values.size());
            for (T& value : values) visit(*this, value);
        }
    }
    bool is_good() { return static_cast<bool>(file_.flush()); }

  private:
    void count(std::uint64_t number) { (*this)(number); }
    template <class List>
    void list(List& values) {
        count(values.size());
        file_.write(reinterpret_cast<const char*>(values.data()),
                    static_cast<std::streamsize>(values.size() * sizeof(typename List::value_type)));
    }
    std::ofstream file_;
};

/// Reads the same.
class TraceReader {
  public:
    explicit TraceReader(const std::string& path) : file_(path, std::ios::binary) {
        file_.seekg(0, std::ios::end);
        rest_ = file_ ? static_cast<std::uint64_t>(file_.tellg()) : 0;
        file_.seekg(0);
    }
    template <class T>
    requires std::is_trivially_copyable_v<T>
    void operator()(T& value) { bytes(&value, sizeof value); }
    void operator()(std::string& text) { list(text); }
    template <class T>
    void operator()(std::vector<T>& values) {
        if constexpr (std::is_trivially_copyable_v<T>) {
            list(values);
        } else {
            const std::uint64_t number = count(1);
            for (std::uint64_t i = 0; i < number; ++i) visit(*this, values.emplace_back());
        }
    }
    bool is_good() const { return static_cast<bool>(file_); }

  private:
    void bytes(void* to, std::uint64_t size) {
        if (size > rest_) file_.setstate(std::ios::failbit);
        if (!file_) return;
        file_.read(static_cast<char*>(to), static_cast<std::streamsize>(size));
        rest_ -= size;
    }
    // The length of a list; 0, and an error, if the rest of the file is too short for it.
    std::uint64_t count(std::uint64_t size) {
        std::uint64_t number = 0;
        bytes(&number, sizeof number);
        if (number > rest_ / size) file_.setstate(std::ios::failbit);
        return file_ ? number : 0;
    }
    template <class List>
    void list(List& values) {
        values.resize(count(sizeof(typename List::value_type)));
        bytes(values.data(), values.size() * sizeof(typename List::value_type));
    }
    std::ifstream file_;
    std::uint64_t rest_ = 0;  // bytes that are not read yet
};

template <class Stream>
void visit(Stream& with, std::string& text) {
    with(text);
}
template <class Stream>
void visit(Stream& with, TraceSite& site) {
    with(site.place);
    with(site.what);
}
template <class Stream>
void visit(Stream& with, TracedPiece& piece) {
    with(piece.start);
    with(piece.bytes);
    with(piece.name);
}
template <class Stream>
void visit(Stream& with, TracedLaunch& launch) {
    with(launch.kernel);
    with(launch.grid);
    with(launch.block);
    with(launch.shared_bytes);
    with(launch.sites);
    with(launch.events);
    with(launch.exchanges);
    with(launch.pieces);
    with(launch.mistake);
    with(launch.earlier);
    with(launch.is_cut);
    with(launch.mistake_is_made);
}
template <class Stream>
void visit(Stream& with, TracedMemory& memory) {
    with(memory.name);
    with(memory.start);
    with(memory.bytes);
    with(memory.is_variable);
}
template <class Stream>
void visit(Stream& with, ProgramTrace& trace) {
    with(trace.memory);
    with(trace.launches);
    with(trace.launched);
}

/// Whether readers can rely on the launches: indices lie in their lists.
inline bool are_sound(const std::vector<TracedLaunch>& launches) {
    for (const TracedLaunch& launch : launches) {
        const auto is_index = [&](std::uint32_t event) { return event == kNoEvent || event < launch.events.size(); };
        if (!is_index(launch.mistake) || !is_index(launch.earlier)) return false;
        for (const TraceEvent& event : launch.events)
            if (event.site >= launch.sites.size() || event.action > Action::barrier ||
                (event.action == Action::collective && event.address > launch.exchanges.size()))
                return false;
    }
    return true;
}

/// Replaces the file. False if it cannot be written.
template <class Run>
bool write_trace(Run& run, const std::string& path) {
    TraceWriter writer(path);
    std::uint64_t end = kTraceEnd;
    visit(writer, run);
    writer(end);
    return writer.is_good();
}
/// Reads a file of write_trace(). False if it is missing or incomplete.
template <class Run>
bool read_trace(Run& run, const std::string& path) {
    TraceReader reader(path);
    std::uint64_t end = 0;
    visit(reader, run);
    reader(end);
    return reader.is_good() && end == kTraceEnd && are_sound(run.launches);
}

}  // namespace heddle::emulator
