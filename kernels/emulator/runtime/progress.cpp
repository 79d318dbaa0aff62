// Work that nobody waits for.
#include <chrono>
#include <thread>

#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/verdict.h"
#include "kernels/emulator/runtime/runtime.h"

namespace heddle::emulator {

void run_without_waits() {
    if (!is_foreign_program()) return;
    static const bool started = [] {
        std::thread([] {
            for (std::uint64_t before = 0;;) {
                std::this_thread::sleep_for(std::chrono::milliseconds(100));
                const std::uint64_t now = queued_operations;
                if (now == before && !streams().left_over().empty()) streams().wait_for_all(true);
                before = now;
            }
        }).detach();
        return true;
    }();
    static_cast<void>(started);
}

}  // namespace heddle::emulator
