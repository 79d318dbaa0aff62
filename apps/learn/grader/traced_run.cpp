// The file has the members in their order. Numbers are written as they lie in memory, because both programs are of one build;
// texts and lists begin with their length.
#include "apps/learn/grader/traced_run.h"

#include <fstream>
#include <type_traits>

namespace heddle::learn {
namespace {

constexpr std::uint64_t kEnd = 0x68656464'6c650a00u;  // ends a complete file

class Writer {
  public:
    explicit Writer(const std::string& path) : file_(path, std::ios::binary) {}
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

class Reader {
  public:
    explicit Reader(const std::string& path) : file_(path, std::ios::binary) {
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
void visit(Stream& with, TracedArray& array) {
    with(array.name);
    with(array.extents);
    with(array.dtype);
    with(array.start);
}
template <class Stream>
void visit(Stream& with, emulator::TraceSite& site) {
    with(site.place);
    with(site.what);
}
template <class Stream>
void visit(Stream& with, emulator::TracedPiece& piece) {
    with(piece.start);
    with(piece.bytes);
    with(piece.name);
}
template <class Stream>
void visit(Stream& with, emulator::TracedLaunch& launch) {
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
}
template <class Stream>
void visit(Stream& with, TracedRun& run) {
    with(run.axes);
    with(run.sizes);
    with(run.arrays);
    with(run.launches);
}

// Whether readers can rely on the run: its types are known, and indices lie in their lists.
bool is_sound(const TracedRun& run) {
    for (const TracedArray& array : run.arrays)
        if (array.dtype > DType::dual) return false;
    for (const emulator::TracedLaunch& launch : run.launches) {
        const auto is_index = [&](std::uint32_t event) { return event == emulator::kNoEvent || event < launch.events.size(); };
        if (!is_index(launch.mistake) || !is_index(launch.earlier)) return false;
        for (const emulator::TraceEvent& event : launch.events)
            if (event.site >= launch.sites.size() || event.action > emulator::Action::barrier ||
                (event.action == emulator::Action::collective && event.address > launch.exchanges.size()))
                return false;
    }
    return true;
}

}  // namespace

bool write_traced_run(TracedRun run, const std::string& path) {
    Writer writer(path);
    std::uint64_t end = kEnd;
    visit(writer, run);
    writer(end);
    return writer.is_good();
}

std::optional<TracedRun> read_traced_run(const std::string& path) {
    Reader reader(path);
    TracedRun run;
    std::uint64_t end = 0;
    visit(reader, run);
    reader(end);
    if (!reader.is_good() || end != kEnd || !is_sound(run)) return {};
    return run;
}

}  // namespace heddle::learn
