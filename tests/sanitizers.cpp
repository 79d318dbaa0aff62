// How the sanitizers behave in the test programs, however these are started.

extern "C" {

// Out of memory is an Error that tests look at, not the end of the program.
const char* __asan_default_options() { return "allocator_may_return_null=1"; }
// A child of fork() may start threads, as the pool does; and the emulator says which memory host code touched in the handler of
// the signal, before it ends the program.
const char* __tsan_default_options() {
    return "allocator_may_return_null=1:halt_on_error=1:die_after_fork=0:report_signal_unsafe=0";
}
const char* __ubsan_default_options() { return "print_stacktrace=1"; }
}
