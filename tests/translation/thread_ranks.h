// Ranks as threads of one process, so that what ranks compute together is tested in every build, with MPI or without.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "apps/translation/ranks/ranks.h"
#include "core/error.h"

namespace heddle::app {

/// What the threads share: messages by sender and receiver, in their order.
class Mailboxes {
  public:
    void put(int from, int to, std::span<const std::byte> bytes) {
        const std::lock_guard lock(mutex_);
        messages_[{from, to}].emplace_back(bytes.begin(), bytes.end());
        bytes_ += bytes.size();
        changed_.notify_all();
    }
    void take(int from, int to, std::span<std::byte> room) {
        std::unique_lock lock(mutex_);
        auto& queue = messages_[{from, to}];
        if (!changed_.wait_for(lock, std::chrono::seconds(60), [&] { return !queue.empty(); })) fail("ranks: no message came");
        if (queue.front().size() != room.size()) fail("ranks: a message has another length than its room");
        std::copy(queue.front().begin(), queue.front().end(), room.begin());
        queue.pop_front();
    }
    std::size_t bytes() {
        const std::lock_guard lock(mutex_);
        return bytes_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> messages_;
    std::size_t bytes_ = 0;
};

class ThreadRank final : public Ranks {
  public:
    ThreadRank(Mailboxes& mail, int rank, int size) : mail_(mail), rank_(rank), size_(size) {}

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::string host() const override { return "here"; }
    int rank_on_host() const override { return rank_; }
    int own_processors() const override { return 1; }
    void broadcast(std::span<std::byte> bytes) override {
        if (rank_ != 0) return mail_.take(0, rank_, bytes);
        for (int other = 1; other < size_; ++other) mail_.put(0, other, bytes);
    }
    void exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) override {
        for (const Outgoing& out : outgoing) mail_.put(rank_, out.to, out.bytes);
        for (const Incoming& in : incoming) mail_.take(in.from, rank_, in.bytes);
    }
    void finish() override {}
    void end_all(int) override { std::terminate(); }

  private:
    Mailboxes& mail_;
    int rank_, size_;
};

/// Calls body(rank) on so many threads, this one being rank 0, and throws the first error that one of them threw. Returns how
/// many bytes were sent.
inline std::size_t on_threads(int size, const std::function<void(Ranks&)>& body) {
    Mailboxes mail;
    std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
    const auto run = [&](int rank) {
        try {
            ThreadRank self(mail, rank, size);
            body(self);
        } catch (...) {
            errors[static_cast<std::size_t>(rank)] = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    for (int rank = 1; rank < size; ++rank) others.emplace_back(run, rank);
    run(0);
    for (std::thread& other : others) other.join();
    for (const std::exception_ptr& error : errors)
        if (error) std::rethrow_exception(error);
    return mail.bytes();
}

}  // namespace heddle::app
