#include "kernels/emulator/runtime/streams.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>

#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/run/verdict.h"
#include "kernels/emulator/runtime/pinned.h"
#include "kernels/emulator/runtime/races.h"

namespace heddle::emulator {
namespace {

thread_local bool host_function = false;

RaceHistory& history() {
    static RaceHistory* const history = new RaceHistory;
    return *history;
}

/// A checked build knows what a kernel has touched.
void add_touched(const std::shared_ptr<Operation>& operation) {
    std::vector<Rows> reads, writes;
    for (const checker::Touched& piece : checker::touched())
        (piece.written ? writes : reads).push_back(Rows::of(piece.start, piece.bytes));
    check_host_accesses(*operation, reads, writes);
    history().add(operation, reads, writes);
}

/// Whether the operation, while it is queued, may touch managed memory.
bool is_work(const Operation& operation) { return operation.work != nullptr && !operation.keeps_books && !operation.on_host; }

void tell_of(const Operation& operation, const Violation& violation) {
    const Place place = violation.place.line != 0 ? violation.place : operation.place;
    ViolationRecord record = mistake(violation.kind, place, violation.what());
    if (operation.kernel != nullptr) record.kernel = kernel_name(operation.kernel);
    record.other_file = violation.other.file;
    record.other_line = violation.other.line;
    if (violation.other.line != 0) record.between = "no event and no wait of the host orders the two";
    write_record(std::move(record));
}

// HEDDLE_EMULATOR_LEAKS: what nobody has freed.
void tell_leaks() {
    if (!leaks_are_mistakes()) return;
    for (const Allocation& left : living_allocations()) {
        ViolationRecord record =
            mistake("leak", {}, "leak: " + std::to_string(left.bytes) + " bytes allocated at " + left.place + " are never freed");
        if (const std::size_t colon = left.place.rfind(':'); colon != std::string::npos) {
            record.file = left.place.substr(0, colon);
            record.line = std::atoi(left.place.c_str() + colon + 1);
        }
        write_record(std::move(record));
    }
}

// A correct program waits for its results. Work that is still queued when it ends is lost, as on a GPU; that of a program of the
// front end is run, because its mistakes are wanted.
void run_at_the_end() {
    if (!is_foreign_program()) {
        std::atexit([] {
            if (const std::string work = streams().left_over(); !work.empty())
                std::fprintf(stderr, "heddle emulator: the program ends before somebody has waited for %s\n", work.c_str());
        });
        return;
    }
    at_end([] {
        for (const auto& [kernel, launches] : counted_launches()) {
            ViolationRecord record;
            record.kind = "launched";
            record.kernel = kernel;
            record.cost.launches = launches;
            write_record(std::move(record));
        }
    });
    at_end([] {
        const std::string work = streams().left_over();
        if (work.empty()) return;
        ViolationRecord note = mistake("pending-work", {}, "the program ends before somebody has waited for " + work);
        note.note = true;
        write_record(std::move(note));
        streams().wait_for_all();
    });
    at_end(tell_leaks, true);
}

}  // namespace

bool in_host_function() { return host_function; }

void join(Clock& clock, const Clock& other) {
    if (clock.size() < other.size()) clock.resize(other.size());
    for (std::size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

std::string title(const Operation& operation) {
    if (operation.kernel != nullptr) return "kernel " + kernel_name(operation.kernel);
    return operation.place.line == 0 ? operation.what : operation.what + " at " + text_of(operation.place);
}

Streams& Streams::all() {
    static Streams* const all = new Streams;
    return *all;
}

Streams::Streams() {
    create(true);
    run_at_the_end();
}

CUstream_st* Streams::create(bool blocking) {
    const std::lock_guard lock(mutex_);
    auto stream = std::make_unique<CUstream_st>();
    stream->number = streams_.size();
    stream->blocking = blocking;
    streams_.push_back(std::move(stream));
    return streams_.back().get();
}

void Streams::destroy(CUstream_st* stream) {
    const std::lock_guard lock(mutex_);
    stream->destroyed = true;  // its queue still runs; the object is kept, so its number is never reused
}

CUstream_st* Streams::find(cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    if (stream == cudaStreamPerThread || (stream == nullptr && per_thread_)) {
        static thread_local CUstream_st* own = nullptr;  // it waits for the default stream, and that one for it
        if (own == nullptr) own = create(true);
        return own;
    }
    if (stream == nullptr || stream == cudaStreamLegacy) return streams_.front().get();
    for (const auto& known : streams_)
        if (known.get() == stream) return known->destroyed ? nullptr : stream;
    return nullptr;
}

std::shared_ptr<Operation> Streams::enqueue(CUstream_st* stream, Operation operation,
                                            std::vector<std::shared_ptr<Operation>> after) {
    const std::lock_guard lock(mutex_);
    auto queued = std::make_shared<Operation>(std::move(operation));
    // The legacy default stream waits for all blocking streams, and they for it.
    if (stream->number == 0) {
        for (const auto& other : streams_)
            if (other->number != 0 && other->blocking && other->last != nullptr) after.push_back(other->last);
    } else if (stream->blocking && streams_.front()->last != nullptr) {
        after.push_back(streams_.front()->last);
    }
    queued->clock = stream->clock;
    join(queued->clock, observed_);
    for (const auto& earlier : after) join(queued->clock, earlier->clock);
    std::erase_if(after, [](const std::shared_ptr<Operation>& earlier) { return earlier->done; });
    queued->after = std::move(after);
    queued->stream = stream->number;
    queued->number = ++stream->count;
    if (queued->clock.size() <= stream->number) queued->clock.resize(stream->number + 1);
    queued->clock[stream->number] = queued->number;
    watch_pinned(*queued);
    stream->clock = queued->clock;
    stream->last = queued;
    stream->queue.push_back(queued);
    queued->order = ++queued_operations;
    if (is_work(*queued)) close_managed_memory(true);
    return queued;
}

/// From now until the operation runs, the host must not touch its pinned memory. This can be checked only if no other queued work
/// may change that memory.
void Streams::watch_pinned(Operation& operation) {
    if (operation.pinned.empty()) return;
    for (const auto& stream : streams_)
        for (const auto& other : stream->queue)
            if (!other->done && (other->on_host || other->reaches_pinned || overlap(other->pinned, operation.pinned))) return;
    if (operation.pinned_written) fill(operation.pinned, 0xff);
    operation.watched = true;
    operation.sum = sum_of(operation.pinned);
}

bool Streams::done(const std::shared_ptr<Operation>& operation) {
    const std::lock_guard lock(mutex_);
    return operation == nullptr || operation->done;
}

std::string Streams::left_over() {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    std::string first;
    for (const auto& stream : streams_)
        for (const auto& operation : stream->queue) {
            if (operation->work == nullptr || operation->keeps_books) continue;
            if (count++ == 0) first = title(*operation);
        }
    return count == 0 ? "" : count == 1 ? first : first + " and " + std::to_string(count - 1) + " more";
}

Failure Streams::wait(const std::shared_ptr<Operation>& target, bool keep) {
    std::vector<std::shared_ptr<Operation>> targets;
    if (target != nullptr) targets.push_back(target);
    return run(targets, keep);
}

Failure Streams::wait_for(CUstream_st* stream) {
    std::shared_ptr<Operation> last;
    {
        const std::lock_guard lock(mutex_);
        last = stream->last;
    }
    return wait(last);
}

Failure Streams::wait_for_all(bool keep) {
    std::vector<std::shared_ptr<Operation>> targets;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& stream : streams_)
            if (stream->last != nullptr) targets.push_back(stream->last);
    }
    return run(targets, keep);
}

/// splitmix64 (Steele, Lea, Flood 2014) over the seed.
std::uint64_t Streams::draw() {
    if (const std::uint64_t now = seed_generation(); generation_ != now) {
        random_ = seed();
        generation_ = now;
    }
    std::uint64_t z = random_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

bool Streams::lucky() {
    const std::lock_guard lock(mutex_);
    return draw() % 2 == 0;
}

/// An operation that may run now: mostly one that is needed (its number is within `until`), sometimes any. Null when nothing
/// needed is left.
std::shared_ptr<Operation> Streams::choose(const Clock& until, bool everything) {
    std::vector<std::shared_ptr<Operation>> ready, needed;
    bool left = false;
    for (const auto& stream : streams_) {
        if (stream->queue.empty()) continue;
        const auto& first = stream->queue.front();
        const bool wanted = everything || first->number <= at(until, first->stream);
        left = left || wanted;
        if (!std::all_of(first->after.begin(), first->after.end(), [](const auto& earlier) { return earlier->done; })) continue;
        ready.push_back(first);
        if (wanted) needed.push_back(first);
    }
    if (!left) return nullptr;
    const auto& from = needed.empty() || draw() % 4 == 0 ? ready : needed;
    return from[draw() % from.size()];
}

Failure Streams::run(const std::vector<std::shared_ptr<Operation>>& targets, bool keep) {
    const std::lock_guard running(running_);
    Clock until;
    for (const auto& target : targets) join(until, target->clock);
    std::optional<Opened> opened;
    for (;;) {
        std::shared_ptr<Operation> next;
        {
            const std::lock_guard lock(mutex_);
            next = choose(until, false);
        }
        if (next == nullptr) break;
        if (next->on_host)
            opened.reset();  // it is the host's code: device memory is closed to it
        else if (next->work != nullptr && !opened.has_value() && !next->marks_time && !repeats_last_fill(*next))
            opened.emplace();
        execute(next);
    }
    opened.reset();
    const std::lock_guard lock(mutex_);
    join(observed_, until);
    tidy();
    bool idle = true;
    for (const auto& stream : streams_)
        for (const auto& operation : stream->queue) idle = idle && !is_work(*operation);
    if (idle) close_managed_memory(false);
    Failure failure;
    for (const auto& stream : streams_) {
        if (stream->owed == nullptr || stream->owed_from > at(until, stream->number)) continue;
        if (failure == nullptr) failure = stream->owed;
        if (!keep) stream->owed = nullptr;
    }
    if (failure == nullptr) failure = untold_;
    if (!keep && failure == untold_) untold_ = nullptr;
    return failure;
}

bool Streams::repeats_last_fill(const Operation& operation) const {
    if (!operation.fills || !last_fill_ || last_fill_->allocations != allocation_changes) return false;
    const Rows &rows = operation.writes.front(), &last = last_fill_->rows;
    return *operation.fills == last_fill_->byte && rows.start == last.start && rows.pitch == last.pitch &&
           rows.width == last.width && rows.height == last.height && memory_kind(rows.start) == MemoryKind::device;
}

void Streams::execute(const std::shared_ptr<Operation>& operation) {
    std::string report;
    int code = cudaErrorLaunchFailure;
    if (operation->work != nullptr && operation->failure == nullptr) {
        const auto report_of = [&](auto&& step) {
            try {
                step();
            } catch (const Violation& violation) {
                if (!violation.is_told) tell_of(*operation, violation);
                if (report.empty() && !violation.goes_on) report = violation.what(), code = violation.code;
            } catch (const std::exception& error) {
                if (report.empty()) report = error.what();
            }
        };
        report_of([&] {
            check_host_accesses(*operation, operation->reads, operation->writes);
            history().add(operation, operation->reads, operation->writes);
            if (!operation->pinned.empty()) check_pinned(*operation);
        });
        if (is_foreign_program()) report.clear();  // the order is left to chance, and goes on as it came
        host_function = operation->on_host;
        if ((report.empty() || operation->keeps_books) && !repeats_last_fill(*operation)) report_of(operation->work);
        if (report.empty() && !operation->keeps_books) note_work(operation->kernel, operation->what);
        host_function = false;
        if (operation->fills && report.empty())
            last_fill_ = Fill{operation->writes.front(), *operation->fills, allocation_changes};
        else if (!operation->marks_time)
            last_fill_.reset();
        if (operation->kernel != nullptr && checker::kEnabled && report.empty()) report_of([&] { add_touched(operation); });
    }
    const std::lock_guard lock(mutex_);
    if (!report.empty()) fail(operation, report, code);
    operation->done = true;
    operation->after.clear();
    operation->work = nullptr;
    streams_[operation->stream]->queue.pop_front();
}

/// Drops all queued work, because its inputs may be missing; not that of a program of the front end, whose mistakes are all told.
void Streams::fail(const std::shared_ptr<Operation>& operation, const std::string& report, int code) {
    // Append the seed: it determined the order of the work, even if the mistake does not depend on it.
    const bool told = report.find("HEDDLE_EMULATOR_SEED=") != std::string::npos;
    const std::string seeded = told ? report : report + " (HEDDLE_EMULATOR_SEED=" + std::to_string(seed()) + ")";
    operation->failure = std::make_shared<const FailedWork>(FailedWork{seeded, code});
    if (untold_ == nullptr) untold_ = operation->failure;
    if (is_foreign_program()) {
        CUstream_st& own = *streams_[operation->stream];
        if (own.owed != nullptr) return;
        own.owed = operation->failure;
        own.owed_from = operation->number;
        return;
    }
    for (const auto& stream : streams_)
        for (const auto& other : stream->queue) {
            if (other->keeps_books || (other->failure != nullptr && other != operation)) continue;
            other->failure = operation->failure;
            if (stream->owed != nullptr) continue;
            stream->owed = operation->failure;
            stream->owed_from = other->number;
        }
}

/// Forgets accesses that nothing can conflict with any more: they happened before everything queued now and later.
void Streams::tidy() {
    Clock before = observed_;
    for (const auto& stream : streams_)
        for (const auto& operation : stream->queue)
            for (std::size_t i = 0; i < before.size(); ++i) before[i] = std::min(before[i], at(operation->clock, i));
    history().forget(before);
}

}  // namespace heddle::emulator
