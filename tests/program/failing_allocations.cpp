// A library for LD_PRELOAD that makes one allocation of the program fail, as if memory had run out at that moment.
//
//     HEDDLE_FAIL_ALLOCATION=N   the N-th allocation from the start of main(), from 1; 0: none fails
//     HEDDLE_COUNT_ALLOCATIONS=FILE   their number is written there when the program ends
//
// Counts malloc() and its kin in all threads; C++ allocates through them. Only with glibc, whose functions it calls.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

using Main = int (*)(int, char**, char**);

std::atomic<bool> begun = false;
std::atomic<long> allocations = 0;
long failing = 0;
const char* count_file = nullptr;
Main program_main = nullptr;

bool fails() {
    if (!begun.load(std::memory_order_relaxed) || allocations.fetch_add(1) + 1 != failing) return false;
    errno = ENOMEM;
    return true;
}

void write_count() {
    const long count = allocations;
    begun = false;
    char text[32];
    const int length = std::snprintf(text, sizeof text, "%ld\n", count);
    const int file = open(count_file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || write(file, text, static_cast<std::size_t>(length)) != length) _exit(126);
    close(file);
}

// Starts counting at main(): before it, libraries' constructors run, whose exceptions nobody could catch.
int counted_main(int count, char** arguments, char** environment) {
    if (const char* const number = std::getenv("HEDDLE_FAIL_ALLOCATION")) failing = std::atol(number);
    count_file = std::getenv("HEDDLE_COUNT_ALLOCATIONS");
    if (count_file != nullptr && std::atexit(write_count) != 0) return 126;
    begun = true;
    return program_main(count, arguments, environment);
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) { return fails() ? nullptr : __libc_malloc(size); }
void* calloc(std::size_t count, std::size_t size) { return fails() ? nullptr : __libc_calloc(count, size); }
void* realloc(void* block, std::size_t size) { return size > 0 && fails() ? nullptr : __libc_realloc(block, size); }
void* memalign(std::size_t alignment, std::size_t size) { return fails() ? nullptr : __libc_memalign(alignment, size); }
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
    *block = memalign(alignment, size);
    return *block == nullptr ? ENOMEM : 0;
}

int __libc_start_main(Main main, int count, char** arguments, void (*begin)(), void (*end)(), void (*end_loader)(),
                      void* stack_end) {
    using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
    program_main = main;
    const auto start = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
    return start(counted_main, count, arguments, begin, end, end_loader, stack_end);
}
}
