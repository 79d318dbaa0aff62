// Outputs that fail, as a full disk and a reader who has gone make them.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

namespace heddle {

/// While it lives, no file of this process grows beyond so many bytes: a write fails with "File too large".
class FilesUpTo {
  public:
    explicit FilesUpTo(rlim_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FilesUpTo() {
        setrlimit(RLIMIT_FSIZE, &before_);
        signal(SIGXFSZ, handler_);
    }
    FilesUpTo(const FilesUpTo&) = delete;
    FilesUpTo& operator=(const FilesUpTo&) = delete;

  private:
    void (*handler_)(int);
    rlimit before_{};
};

/// While it lives, stderr is a full disk.
class FullStderr {
  public:
    FullStderr() : kept_(dup(STDERR_FILENO)) {
        std::fflush(stderr);
        const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
        dup2(full, STDERR_FILENO);
        close(full);
    }
    ~FullStderr() {
        dup2(kept_, STDERR_FILENO);
        close(kept_);
    }
    FullStderr(const FullStderr&) = delete;
    FullStderr& operator=(const FullStderr&) = delete;

  private:
    int kept_;
};

}  // namespace heddle
