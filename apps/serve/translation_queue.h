// Lines of many requests, translated together: a batch forms by itself from what waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "apps/translation/decoding/translate.h"

namespace heddle::app {

/// A model that serves one language pair. The members must outlive the queue.
struct ServedModel {
    std::string source, target;  ///< language codes
    const nn::Transformer* model = nullptr;
    Vocabularies vocabularies;
    DecodeOptions decode = {};
};

/// A translator by the model, with these options.
Translator translator_of(const ServedModel& served, const DecodeOptions& options);

/// As many requests or lines wait as may.
class QueueFull : public std::runtime_error {
  public:
    QueueFull() : std::runtime_error("too many requests wait") {}
};

/// The client has left.
class ClientGone : public std::runtime_error {
  public:
    ClientGone() : std::runtime_error("the client has closed the connection") {}
};

/// Translates on one thread of its own, which has the model's threads and the device to itself. Requests take turns: a batch has
/// lines of each that waits, so a long document delays a sentence by one batch.
class TranslationQueue {
  public:
    class Job;

    struct Numbers {
        std::int64_t waiting = 0;  ///< requests
        std::int64_t lines = 0;    ///< translated so far
        std::int64_t batches = 0;
    };

    /// The most lines that a request may have, and that may wait in all.
    static constexpr std::size_t longest_job = 100'000, most_lines = 400'000;

    /// At most `most` requests wait or are translated at once.
    explicit TranslationQueue(std::int64_t most);
    /// Ends after the batch that is being translated.
    ~TranslationQueue();
    TranslationQueue(const TranslationQueue&) = delete;
    TranslationQueue& operator=(const TranslationQueue&) = delete;

    /// Lines to translate, at most longest_job, each into its `n_best` best, which are no more than the model's beam. Who drops
    /// the job gives the rest of it up. QueueFull when too many wait.
    std::shared_ptr<Job> translate(const ServedModel& model, std::vector<std::string> lines, std::int64_t n_best);
    /// The translations of the job's next lines, as many as are ready, at least one: those of line i come once, in order. Nothing
    /// after the last one. Waits for them, and asks `gone` meanwhile. Error when a line cannot be translated.
    std::optional<std::vector<std::vector<Translation>>> next(Job& job, const std::function<bool()>& gone);
    /// Calls `work` between two batches, on the queue's thread, and waits for it. Errors as above, but ClientGone only before it
    /// has begun, and those of `work`.
    void run(const std::function<void()>& work, const std::function<bool()>& gone);

    Numbers numbers() const;

  private:
    using Clock = std::chrono::steady_clock;

    struct Piece {
        std::shared_ptr<Job> job;
        std::size_t line = 0;
    };

    std::shared_ptr<Job> add(std::shared_ptr<Job> job);
    void work();
    void remove_ended();
    std::vector<Piece> take_batch();
    void translate(const std::vector<Piece>& batch, const std::vector<std::string>& lines);

    const std::int64_t most_;
    mutable std::mutex mutex_;
    std::condition_variable arrived_, progressed_;
    std::list<std::shared_ptr<Job>> jobs_;  // in the order in which they take turns
    Numbers numbers_;
    std::size_t waiting_lines_ = 0;
    std::size_t together_ = 1;  // requests that the last batch had lines of
    bool ending_ = false;
    std::thread thread_;
};

class TranslationQueue::Job {
    friend class TranslationQueue;

    const ServedModel* model = nullptr;
    std::vector<std::string> lines;
    std::int64_t n_best = 1;
    std::function<void()> work;  // in place of lines
    std::vector<std::vector<Translation>> done;
    std::size_t taken = 0;  // lines that are in a batch or translated
    std::size_t given = 0;  // lines that next() has returned
    std::size_t ready = 0;  // lines translated, all before it included
    bool begun = false;     // of `work`
    bool finished = false, left = false;
    std::exception_ptr error;
    Clock::time_point since = Clock::now(), looked = since;  // looked: whether the client is still there
};

}  // namespace heddle::app
