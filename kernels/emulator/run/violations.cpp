// Violations: how they are reported, and how they end a launch.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/verdict.h"

namespace heddle::emulator {

namespace {
std::atomic<bool> some_abandoned{false};
}

// LeakSanitizer calls this at the end of a process. Dropped fibers leak the strings of their reports.
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return some_abandoned; }

std::string text_of(const uint3& index) {
    return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) + ")";
}
std::string name_of(const Thread& thread, const Thread* beside) {
    std::string text = "thread " + text_of(thread.index);
    if (beside != nullptr && beside->block != thread.block) text += " of block " + text_of(thread.block->index);
    return text;
}
std::string whereabouts(const Thread& thread) {
    if (thread.state == State::exited) return "has left the kernel";
    if (thread.state != State::waiting) return "can run";
    return std::string("waits in ") + thread.waits_in + " at " + text_of(thread.place);
}

void Scheduler::deadlock() {
    ViolationRecord about = mistake("deadlock", {}, "");
    std::string& text = about.text = "deadlock: no thread can go on.";
    for (const Block& block : blocks) {
        for (int i = 0; i < block.threads;) {  // runs of threads at the same location
            const std::string where = whereabouts(block.first[i]);
            if (about.line == 0 && block.first[i].state == State::waiting) {
                about.file = block.first[i].place.file;
                about.line = block.first[i].place.line;
            }
            int end = i + 1;
            while (end < block.threads && whereabouts(block.first[end]) == where) ++end;
            text += "\n    ";
            if (blocks.size() > 1) text += "block " + text_of(block.index) + " ";
            if (end == i + 1)
                text += name_of(block.first[i]) + " " + where;
            else
                text +=
                    "threads " + text_of(block.first[i].index) + " to " + text_of(block.first[end - 1].index) + ": each " + where;
            i = end;
        }
    }
    abandon(std::move(about), blocks.size() == 1 ? &blocks[0] : nullptr, nullptr);
}

void Scheduler::tell_once(ViolationRecord about, const Block* block, const Thread* thread) {
    if (!launch->request->is_foreign || (launch->is_told && !about.note)) return;
    // A write of the same value hides no other mistake.
    launch->is_told = launch->is_told || !(about.note || about.same_value);
    complete(about, block, thread);
    write_record(std::move(about));
}

void Scheduler::complete(ViolationRecord& about, const Block* block, const Thread* thread) const {
    about.kernel = kernel_name(launch->request->kernel);
    if (block != nullptr) about.block = text_of(block->index);
    if (thread != nullptr) about.thread = text_of(thread->index);
    about.launch = launch->number;
    about.text = "kernel " + about.kernel + (block == nullptr ? "" : ", block " + about.block) +
                 (thread == nullptr ? "" : ", thread " + about.thread) + ": " + about.text;
}

void Scheduler::abandon(ViolationRecord about, const Block* block, const Thread* thread) {
    checker::settle();
    checker::runs({});  // from here on the emulator's own code runs
    some_abandoned = true;
    {
        const std::lock_guard lock(launch->mutex);
        if (!launch->failed.exchange(true)) {
            if (block != nullptr) launch->error += ", block " + text_of(block->index);
            if (thread != nullptr) launch->error += ", thread " + text_of(thread->index);
            launch->error += ": " + about.text;
            launch->kind = about.kind;
            if (std::optional<ViolationRecord> held = checker::held_back(); held && !launch->is_told) {
                launch->is_told = true;
                write_record(std::move(*held));
            }
            tell_once(std::move(about), block, thread);
        }
    }
    dropped_ = true;
    race_release(&end_order_);
    if (current == nullptr) throw Violation("");  // found by the CPU thread itself, between fibers; work() catches it
    Fiber here;                                   // the dropped fiber's saved state is never used
    now_runs(nullptr);
    switch_fiber(here, own_);
    __builtin_unreachable();
}

void violate(const std::string& what) { violate(mistake("fault", {}, what)); }

void violate(ViolationRecord about) {
    if (scheduler == nullptr || scheduler->current == nullptr) throw Violation(about.text);
    scheduler->abandon(std::move(about), scheduler->current->block, scheduler->current);
}

void record_and_go_on(ViolationRecord about) {
    if (scheduler == nullptr || scheduler->current == nullptr || !scheduler->launch->request->is_foreign)
        violate(std::move(about));
    checker::settle();
    const checker::Unwatched own_code;
    const std::lock_guard lock(scheduler->launch->mutex);
    scheduler->tell_once(std::move(about), scheduler->current->block, scheduler->current);
}

void failed_requirement(const char* message, Place place) {
    violate(mistake("assert", place, std::string(message) + " (required at " + text_of(place) + ")"));
}

void trap(Place place) { violate(mistake("fault", place, "executes __trap() at " + text_of(place))); }

namespace {

// The function as written: a kernel's body is a closure, which compilers name k(int)::<lambda()> mutable.
std::string written_name(std::string function) {
    for (const std::string closure : {"::<lambda()> mutable", "::(anonymous class)::operator()()"}) {
        const std::size_t at = function.find(closure);
        if (at == std::string::npos) continue;
        function.erase(at, closure.size());
        if (function.starts_with("auto ")) function.erase(0, 5);
        break;
    }
    return function;
}

}  // namespace

void failed_assertion(const char* expression, const char* file, int line, const char* function) {
    const std::string what =
        "the assertion `" + std::string(expression) + "' of " + written_name(function) + " failed at " + text_of({file, line});
    if (in_a_kernel()) violate(mistake("assert", {file, line}, what));
    std::fflush(stdout);
    std::fprintf(stderr, "%s:%d: %s: Assertion `%s' failed.\n", file, line, function, expression);
    std::abort();
}

}  // namespace heddle::emulator
