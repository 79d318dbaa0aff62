#include "apps/translation/run/save_writer.h"

#include <utility>

namespace heddle::app {

SaveWriter::~SaveWriter() {
    if (thread_.joinable()) thread_.join();
}

void SaveWriter::start(std::function<void()> job) {
    wait();
    ended_ = false;
    thread_ = std::thread([this, job = std::move(job)] {
        try {
            job();
        } catch (...) {
            error_ = std::current_exception();
        }
        ended_ = true;
    });
}

void SaveWriter::check_ended() {
    if (ended_) wait();
}

void SaveWriter::wait() {
    if (thread_.joinable()) thread_.join();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace heddle::app
