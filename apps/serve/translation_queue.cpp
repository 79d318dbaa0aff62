#include "apps/serve/translation_queue.h"

#include <algorithm>

namespace heddle::app {
namespace {

// A batch of more lines translates no faster, but the next request waits longer for it.
constexpr std::size_t batch_lines = 128;
// While several requests arrive, the first one waits this long for the others.
constexpr std::chrono::milliseconds gathering{5};
constexpr std::chrono::milliseconds between_looks{200};  // for a client that has left

}  // namespace

Translator translator_of(const ServedModel& served, const DecodeOptions& options) {
    return Translator(*served.model, served.vocabularies, options);
}

TranslationQueue::TranslationQueue(std::int64_t most) : most_(most), thread_([this] { work(); }) {}

TranslationQueue::~TranslationQueue() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    arrived_.notify_all();
    thread_.join();
}

std::shared_ptr<TranslationQueue::Job> TranslationQueue::add(std::shared_ptr<Job> job) {
    {
        const std::lock_guard lock(mutex_);
        if (static_cast<std::int64_t>(jobs_.size()) >= most_ || waiting_lines_ + job->lines.size() > most_lines)
            throw QueueFull();
        waiting_lines_ += job->lines.size();
        jobs_.push_back(job);
    }
    arrived_.notify_all();
    return job;
}

std::shared_ptr<TranslationQueue::Job> TranslationQueue::translate(const ServedModel& model, std::vector<std::string> lines,
                                                                   std::int64_t n_best) {
    auto job = std::make_shared<Job>();
    job->model = &model;
    job->lines = std::move(lines);
    job->n_best = n_best;
    job->done.resize(job->lines.size());
    if (job->lines.empty()) {
        job->finished = true;
        return job;
    }
    return add(std::move(job));
}

std::optional<std::vector<std::vector<Translation>>> TranslationQueue::next(Job& job, const std::function<bool()>& gone) {
    std::unique_lock lock(mutex_);
    for (;;) {
        // Work that has begun refers to what its caller holds.
        if (!job.begun && Clock::now() - job.looked >= between_looks) {
            job.looked = Clock::now();
            if (gone && gone()) {
                job.left = true;
                throw ClientGone();
            }
        }
        if (job.given < job.ready || job.finished) break;
        progressed_.wait_for(lock, between_looks, [&] { return job.given < job.ready || job.finished; });
    }
    if (job.error) std::rethrow_exception(job.error);
    if (job.given == job.lines.size()) return std::nullopt;
    std::vector<std::vector<Translation>> some;
    for (; job.given < job.ready; ++job.given) some.push_back(std::move(job.done[job.given]));
    return some;
}

void TranslationQueue::run(const std::function<void()>& work, const std::function<bool()>& gone) {
    auto job = std::make_shared<Job>();
    job->work = work;
    add(job);
    while (next(*job, gone)) continue;
}

TranslationQueue::Numbers TranslationQueue::numbers() const {
    const std::lock_guard lock(mutex_);
    Numbers numbers = numbers_;
    numbers.waiting = static_cast<std::int64_t>(jobs_.size());
    return numbers;
}

// Lines of the first job and of those that may share its batch, one of each in turn; the first job goes to the end of the queue.
std::vector<TranslationQueue::Piece> TranslationQueue::take_batch() {
    std::vector<Piece> batch;
    const Job& first = *jobs_.front();
    std::vector<std::shared_ptr<Job>> together;
    for (const std::shared_ptr<Job>& job : jobs_)
        if (!job->work && job->model == first.model && job->n_best == first.n_best) together.push_back(job);
    for (bool more = true; more && batch.size() < batch_lines;) {
        more = false;
        for (const std::shared_ptr<Job>& job : together) {
            if (batch.size() == batch_lines || job->taken == job->lines.size()) continue;
            batch.push_back({job, job->taken++});
            more = true;
        }
    }
    jobs_.splice(jobs_.end(), jobs_, jobs_.begin());
    return batch;
}

void TranslationQueue::translate(const std::vector<Piece>& batch, const std::vector<std::string>& lines) {
    const ServedModel& served = *batch.front().job->model;
    DecodeOptions decode = served.decode;
    decode.n_best = batch.front().job->n_best;
    std::vector<std::vector<Translation>> translations = translator_of(served, decode).translate(lines);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < batch.size(); ++i) batch[i].job->done[batch[i].line] = std::move(translations[i]);
}

// Jobs that are done, and those that nobody waits for any more: only this list has them.
void TranslationQueue::remove_ended() {
    std::erase_if(jobs_, [this](const std::shared_ptr<Job>& job) {
        const bool ended = job->finished || job->left || job.use_count() == 1;
        if (ended) waiting_lines_ -= job->lines.size();
        return ended;
    });
}

void TranslationQueue::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        arrived_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
        if (ending_) return;
        // As many requests as the last batch answered may come again; one alone is translated at once.
        if (together_ > 1)
            arrived_.wait_until(lock, jobs_.front()->since + gathering, [this] { return ending_ || jobs_.size() >= together_; });
        remove_ended();
        if (jobs_.empty()) continue;
        if (const std::shared_ptr<Job> job = jobs_.front(); job->work) {
            jobs_.pop_front();
            job->begun = true;
            lock.unlock();
            try {
                job->work();
            } catch (...) {
                job->error = std::current_exception();
            }
            lock.lock();
            job->finished = true;
            progressed_.notify_all();
            continue;
        }
        const std::vector<Piece> batch = take_batch();
        std::vector<std::string> lines;
        for (const Piece& piece : batch) lines.push_back(piece.job->lines[piece.line]);
        lock.unlock();
        std::vector<std::exception_ptr> errors(batch.size());
        try {
            translate(batch, lines);
        } catch (...) {  // whose line it was shows when each is alone
            for (std::size_t i = 0; i < batch.size(); ++i) try {
                    translate({batch[i]}, {lines[i]});
                } catch (...) {
                    errors[i] = std::current_exception();
                }
        }
        lock.lock();
        std::vector<const Job*> jobs;
        for (const Piece& piece : batch) jobs.push_back(piece.job.get());
        std::ranges::sort(jobs);
        together_ = static_cast<std::size_t>(std::distance(jobs.begin(), std::unique(jobs.begin(), jobs.end())));
        ++numbers_.batches;
        numbers_.lines += static_cast<std::int64_t>(batch.size());
        for (std::size_t i = 0; i < batch.size(); ++i) {
            Job& job = *batch[i].job;
            job.ready = std::max(job.ready, batch[i].line + 1);
            if (errors[i] && !job.error) job.error = errors[i];
            job.finished = job.error != nullptr || job.ready == job.lines.size();
        }
        remove_ended();
        progressed_.notify_all();
    }
}

}  // namespace heddle::app
