#include "apps/learn/grader/attempt.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "kernels/emulator/device_calls.h"
#include "kernels/emulator/run/checker_hooks.h"

namespace heddle::learn {
namespace {

// Constant memory has a cache of its own: reading it moves no sectors.
bool reads_constants(const emulator::Request& request, const emulator::TracedLaunch& launch) {
    if (request.action != emulator::Action::read || request.shared) return false;
    const auto lane = std::find_if(request.events.begin(), request.events.end(),
                                   [&](std::uint32_t event) { return event < launch.events.size(); });
    return lane != request.events.end() &&
           emulator::space_of(reinterpret_cast<const void*>(launch.events[*lane].address)) == emulator::Space::constant;
}

void must(cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

}  // namespace

std::vector<float> numbers(std::size_t count, unsigned series) {
    std::vector<float> values(count);
    std::uint64_t state = 0x9e3779b97f4a7c15u * series;
    for (float& value : values) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        value = static_cast<float>(static_cast<int>(state >> 58) - 32) / 8;
    }
    return values;
}

std::size_t Array::count() const {
    std::size_t count = 1;
    for (const int extent : extents) count *= static_cast<std::size_t>(extent);
    return count;
}

std::string Array::element_name(std::size_t index) const {
    std::string text;
    for (std::size_t i = extents.size(); i-- > 0;) {
        const auto extent = static_cast<std::size_t>(extents[i]);
        // Past the end, the first index exceeds its extent.
        text = std::to_string(i == 0 ? index : index % extent) + (text.empty() ? "" : ", ") + text;
        index /= extent;
    }
    return name + "[" + text + "]";
}

const Array* array_with(std::uint64_t address, const std::vector<Array>& arrays) {
    for (const Array& array : arrays)
        if (address >= array.address() && address < array.address() + array.count() * array.element_bytes()) return &array;
    return nullptr;
}

Attempt::Attempt(void* library, std::string source, Recording recording)
    : library_(library), source_(std::move(source)), recording_(recording) {}

Attempt::~Attempt() {
    for (const Array& array : arrays_) cudaFree(array.start);
}

void* Attempt::add(const std::string& name, const void* values, DType dtype, std::vector<int> extents) {
    arrays_.push_back({name, std::move(extents), dtype, nullptr});
    Array& array = arrays_.back();
    const std::size_t bytes = array.count() * array.element_bytes();
    // Reports say where memory was allocated: the array's name stands for the place, and verdict.cpp reads it.
    must(cudaMalloc(&array.start, bytes, emulator::Place{name.c_str(), 0}));
    if (values != nullptr) must(cudaMemcpy(array.start, values, bytes, cudaMemcpyHostToDevice));
    return array.start;
}

void* Attempt::find(const char* name) const {
    void* const kernel = dlsym(library_, name);
    if (kernel == nullptr)
        refuse("compile", source_ + " defines no kernel '" + name + "' with the parameters that exercise.h declares");
    return kernel;
}

void Attempt::begin() {
    if (recording_ == Recording::costs) emulator::begin_trace();
    if (recording_ == Recording::accesses) emulator::begin_trace(kMostPageEvents, emulator::WhenFull::stop_recording);
}

void Attempt::finish() {
    const cudaError_t error = cudaDeviceSynchronize();
    if (recording_ != Recording::nothing)
        for (emulator::TracedLaunch& trace : emulator::end_trace()) launches_.push_back({std::move(trace)});
    if (error == cudaSuccess) return;
    const std::string report = cudaGetErrorString(error);
    const std::optional<emulator::ReportedAccess> access = emulator::last_reported_access();
    throw Failed{access ? verdict_of_access(report, *access, source_, arrays_, threads_ <= 32)
                        : verdict_of_report(report, source_)};
}

const Array& Attempt::array_at(const void* start) const {
    for (const Array& array : arrays_)
        if (array.start == start) return array;
    throw std::logic_error("a harness compares an array that it did not allocate");
}

void Attempt::check_written(const Array& array) const {
    const std::size_t count = array.count(), bytes = array.element_bytes();
    std::size_t first = count, missing = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (emulator::checker::first_unwritten(array.start + i * bytes, bytes) == nullptr) continue;
        if (missing++ == 0) first = i;
    }
    if (missing == 0) return;
    std::string text = array.element_name(first) + " was never written";
    if (missing > 1) text += fmt::format("; nor were {} more of the {} elements of {}", missing - 1, count, array.name);
    refuse("unwritten", text);
}

std::string Attempt::last_writer(const std::byte* address, std::size_t bytes, int& line) const {
    const auto first = reinterpret_cast<std::uint64_t>(address);
    for (auto launch = launches_.rbegin(); launch != launches_.rend(); ++launch)
        for (auto event = launch->trace.events.rbegin(); event != launch->trace.events.rend(); ++event) {
            if (event->shared || (event->action != emulator::Action::write && event->action != emulator::Action::atomic))
                continue;
            if (event->address >= first + bytes || event->address + event->bytes <= first) continue;
            line = line_in(launch->trace.sites[event->site].place, source_);
            if (line == 0) return "";
            return fmt::format(", written in line {} by thread {} of block {}", line, event->thread, event->block);
        }
    return launches_.empty() ? "" : ", which is its value from before the launch";
}

template <class T>
void Attempt::compare(const Array& array, const std::vector<double>& wanted, double tolerance) {
    const std::size_t count = array.count();
    if (wanted.size() != count) throw std::logic_error("a harness expects another number of elements than the array has");
    check_written(array);
    std::vector<T> got(count);
    must(cudaMemcpy(got.data(), array.start, count * sizeof(T), cudaMemcpyDeviceToHost));
    const auto* const bytes = reinterpret_cast<const std::byte*>(got.data());
    bits_.insert(bits_.end(), bytes, bytes + count * sizeof(T));

    std::size_t wrong = 0, first = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double error = std::abs(static_cast<double>(got[i]) - wanted[i]);
        if (error <= tolerance * (1 + std::abs(wanted[i]))) continue;
        if (wrong++ == 0) first = i;
    }
    if (wrong == 0) return;
    int line = 0;
    const std::string writer = last_writer(array.start + first * sizeof(T), sizeof(T), line);
    refuse("values",
           fmt::format("{} is {:.7g}{}; wanted {:.7g}. {}", array.element_name(first), static_cast<double>(got[first]), writer,
                       wanted[first],
                       wrong == 1 ? "The other elements are right"
                                  : fmt::format("{} of the {} elements of {} are wrong", wrong, count, array.name)),
           line);
}

void Attempt::expect(const float* array, const std::vector<double>& wanted, double tolerance) {
    compare<float>(array_at(array), wanted, tolerance);
}
void Attempt::expect(const int* array, const std::vector<double>& wanted) { compare<int>(array_at(array), wanted, 0); }

void Attempt::allow(const Cost& most) {
    if (recording_ != Recording::costs) return;
    const Verdict verdict = cost_verdict(counted(), most, source_, arrays_);
    if (!verdict.passed()) throw Failed{verdict};
}

void Attempt::reads_by_copies() {
    if (recording_ != Recording::costs) return;
    for (const auto& [trace, requests] : launches_)
        for (const emulator::TraceEvent& event : trace.events) {
            if (event.shared || event.action != emulator::Action::read) continue;
            const int line = line_in(trace.sites[event.site].place, source_);
            refuse("cost",
                   fmt::format("right, but line {} reads global memory with ordinary loads, and the thread waits for them; "
                               "asynchronous copies do not wait",
                               line),
                   line, cost());
        }
}

void Attempt::copies_ahead() {
    if (recording_ != Recording::costs) return;
    int line = 0;
    for (const auto& [trace, requests] : launches_)
        for (const emulator::TraceEvent& event : trace.events) {
            if (event.action != emulator::Action::copy_wait) continue;
            if (event.address > 0) return;  // the number of groups that the wait leaves on their way
            line = line_in(trace.sites[event.site].place, source_);
        }
    refuse(
        "cost",
        fmt::format("right, but line {} waits for all copies: none is on its way while a tile is used; begin the next one before",
                    line),
        line, cost());
}

const std::vector<RecordedLaunch>& Attempt::counted() {
    for (RecordedLaunch& launch : launches_) {
        if (!launch.requests.empty()) continue;
        launch.requests = emulator::requests_of(launch.trace);
        std::erase_if(launch.requests, [&](const emulator::Request& request) { return reads_constants(request, launch.trace); });
    }
    return launches_;
}

Cost Attempt::cost() { return cost_of(counted()); }

std::vector<TracedArray> Attempt::traced_arrays() const {
    std::vector<TracedArray> traced;
    for (const Array& array : arrays_) traced.push_back({array.name, array.extents, array.dtype, array.address()});
    return traced;
}

TracedRun Attempt::take_run() {
    TracedRun run{.axes = {}, .sizes = {}, .arrays = traced_arrays(), .launches = {}};
    for (RecordedLaunch& launch : launches_) run.launches.push_back(std::move(launch.trace));
    launches_.clear();
    return run;
}

std::optional<TracedRun> Attempt::run_so_far() const {
    std::optional<std::vector<emulator::TracedLaunch>> running = emulator::trace_so_far();
    if (!running) return {};
    TracedRun all{.axes = {}, .sizes = {}, .arrays = traced_arrays(), .launches = {}};
    for (const RecordedLaunch& launch : launches_) all.launches.push_back(launch.trace);
    for (emulator::TracedLaunch& launch : *running) all.launches.push_back(std::move(launch));
    for (emulator::TracedLaunch& launch : all.launches) {
        launch.is_cut |= launch.events.size() > kMostStoppedEvents;
        launch.events.resize(std::min(launch.events.size(), kMostStoppedEvents));
    }
    return all;
}

std::vector<const Exercise*>& exercises() {
    static std::vector<const Exercise*> all;
    return all;
}

Exercise::Exercise(const char* exercise, std::vector<std::string> axis_names, std::vector<Sizes> sizes, Run body)
    : name(exercise), axes(std::move(axis_names)), shapes(std::move(sizes)), run(body) {
    exercises().push_back(this);
}

std::string shape_text(const Exercise& exercise, const Sizes& sizes) {
    std::string text;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        text += (i == 0 ? "" : ", ") + exercise.axes[i] + " = " + std::to_string(sizes[i]);
    return text;
}

}  // namespace heddle::learn
