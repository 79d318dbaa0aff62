// Ranks as threads of one process, so that distributed code is tested in every build, with MPI or without.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "apps/translation/distributed/ranks.h"
#include "core/error.h"

namespace heddle::app {

/// Shared by the threads: messages by sender, receiver and number (0: of exchange and broadcast), in order.
class Mailboxes {
  public:
    void put(int from, int to, std::span<const std::byte> bytes) {
        std::vector<std::byte> copy(bytes.begin(), bytes.end());
        const std::span<const std::byte> copied = copy;
        add({from, to, 0}, {std::move(copy), copied});
    }
    /// Does not copy: the sender's bytes are read when the receiver takes the message.
    void offer(int from, int to, int number, std::span<const std::byte> bytes) { add({from, to, number}, {{}, bytes}); }
    void take(int from, int to, std::span<std::byte> room, int number = 0) {
        if (!take_within(std::chrono::seconds(60), from, to, room, number)) fail("ranks: no message came");
    }
    /// Returns false if there is none within this time.
    bool take_within(std::chrono::seconds limit, int from, int to, std::span<std::byte> room, int number) {
        std::unique_lock lock(mutex_);
        auto& queue = messages_[{from, to, number}];
        if (!changed_.wait_for(lock, limit, [&] { return !queue.empty(); })) return false;
        const std::span<const std::byte> bytes = queue.front().bytes;
        if (bytes.size() != room.size()) fail("ranks: a message has another length than its room");
        std::copy(bytes.begin(), bytes.end(), room.begin());
        queue.pop_front();
        --waiting_[from];
        changed_.notify_all();
        return true;
    }
    /// Waits until all messages from this rank were taken.
    void wait_until_taken(int from) {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, std::chrono::seconds(60), [&] { return waiting_[from] == 0; }))
            fail("ranks: nobody took a message");
    }
    std::size_t bytes() {
        const std::lock_guard lock(mutex_);
        return bytes_;
    }

  private:
    struct Message {
        std::vector<std::byte> copy;  // empty if the sender keeps the bytes
        std::span<const std::byte> bytes;
    };
    using Way = std::tuple<int, int, int>;

    void add(Way way, Message message) {
        const std::lock_guard lock(mutex_);
        bytes_ += message.bytes.size();
        messages_[way].push_back(std::move(message));
        ++waiting_[std::get<0>(way)];
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<Way, std::deque<Message>> messages_;
    std::map<int, int> waiting_;  // number of messages by sender
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
    void start_send(const Outgoing& out, int number, std::shared_ptr<const void>) override {
        mail_.offer(rank_, out.to, number, out.bytes);
    }
    void start_receive(const Incoming& in, int number, std::shared_ptr<const void>) override { awaited_.push_back({in, number}); }
    std::int64_t arrived() override {
        std::erase_if(awaited_, [&](const Awaited& each) {
            const bool came = mail_.take_within(std::chrono::seconds(0), each.in.from, rank_, each.in.bytes, each.number);
            if (came) arrived_ += static_cast<std::int64_t>(each.in.bytes.size());
            return came;
        });
        return arrived_;
    }
    void settle() override {
        for (const Awaited& each : awaited_) mail_.take(each.in.from, rank_, each.in.bytes, each.number);
        awaited_.clear();
        arrived_ = 0;
        mail_.wait_until_taken(rank_);
    }
    void finish() override {}
    void end_all(int) override { std::terminate(); }

  private:
    struct Awaited {
        Incoming in;
        int number;
    };

    Mailboxes& mail_;
    int rank_, size_;
    std::vector<Awaited> awaited_;
    std::int64_t arrived_ = 0;
};

/// Calls body(rank) on `size` threads, this one being rank 0, and rethrows the first error of any. Returns the number of bytes
/// sent.
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
