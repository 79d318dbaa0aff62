#include "apps/translation/distributed/distributed_batches.h"

#include <exception>
#include <functional>
#include <type_traits>
#include <utility>

#include "apps/terminal/error_text.h"
#include "apps/translation/distributed/message.h"
#include "core/error.h"
#include "core/format.h"

namespace heddle::app {
namespace {

// What is computed.
enum class Work : std::int64_t { decode, score, likelihood };

// ---- batches and results as messages

// Puts values into a message, one after another.
struct PutInto {
    Message& message;

    void operator()(const auto&... values) const { (one(values), ...); }

  private:
    template <class T>
    void one(const T& value) const {
        message.put_one(value);
    }
    template <class T>
    void one(const std::vector<T>& values) const {
        message.put(values);
    }
    void one(const Spans& spans) const {
        std::vector<std::int64_t> lengths;
        for (const Span& span : spans) lengths.push_back(span.length);
        message.put(lengths);
    }
};

// Takes them out in the same order.
struct TakeFrom {
    Message& message;

    void operator()(auto&... values) const { (one(values), ...); }

  private:
    template <class T>
    void one(T& value) const {
        value = message.take_one<T>();
    }
    template <class T>
    void one(std::vector<T>& values) const {
        values = message.take<T>();
    }
    void one(std::vector<nn::Tokens>& lists) const { lists = message.take_lists(); }
    void one(Spans& spans) const { spans = Spans::packed(message.take<std::int64_t>()); }
};

template <class T, class Each>
void fields(T& value, const Each& each) {
    using Type = std::remove_const_t<T>;
    if constexpr (std::is_same_v<Type, DecodeOptions>) {
        // All of them: a new one does not compile.
        auto& [beam, length_penalty, patience, n_best, samples_at_once, prefix, first, sampling, forbidden, max_length, marks] =
            value;
        each(beam, length_penalty, patience, n_best, samples_at_once, prefix, first, sampling, forbidden, max_length, marks);
    } else if constexpr (std::is_same_v<Type, SourceBatch>) {
        each(value.sources, value.numbers);
    } else if constexpr (std::is_same_v<Type, nn::ScoreBatch>) {
        each(value.sources, value.written, value.begin);
    } else if constexpr (std::is_same_v<Type, nn::Hypothesis>) {
        each(value.tokens, value.log_probability, value.score, value.ended);
    } else {
        static_assert(std::is_same_v<Type, PairBatch>);
        each(value.source, value.target_in, value.target_out, value.source_spans, value.target_spans);
    }
}

template <class T>
void put(Message& message, const T& value) {
    fields(value, PutInto{message});
}

template <class T>
T take(Message& message) {
    T value;
    fields(value, TakeFrom{message});
    return value;
}

PairBatch take_pair_batch(Message& message) {
    auto batch = take<PairBatch>(message);
    batch.sentences = batch.source_spans.size();
    batch.source_tokens = batch.source_spans.rows();
    batch.target_tokens = batch.target_spans.rows();
    return batch;
}

void put_hypotheses(Message& message, const HypothesisLists& lists) {
    message.put_one(lists.size());
    for (const std::vector<nn::Hypothesis>& list : lists) {
        message.put_one(list.size());
        for (const nn::Hypothesis& each : list) put(message, each);
    }
}

HypothesisLists take_hypotheses(Message& message) {
    HypothesisLists lists(message.take_one<std::size_t>());
    for (std::vector<nn::Hypothesis>& list : lists) {
        list.resize(message.take_one<std::size_t>());
        for (nn::Hypothesis& each : list) each = take<nn::Hypothesis>(message);
    }
    return lists;
}

// ---- a computation

// The batches of this rank.
template <class Body>
void each_of_rank(int rank, int size, std::size_t batches, const Body& body) {
    for (auto i = static_cast<std::size_t>(rank); i < batches; i += static_cast<std::size_t>(size)) body(i);
}

// What an answer begins with.
enum class Outcome : std::int64_t { computed, out_of_memory, failed };

// The answer of a rank that computes; its error, should there be one, is thrown on rank 0, which may go on after it.
Message answer_of(const Ranks& ranks, const std::function<void(Message&)>& compute) {
    const auto error_as = [&](Outcome outcome, const std::string& what) {
        Message answer = Message::of(outcome);
        answer.put_text(naming_the_rank(ranks, what));
        return answer;
    };
    try {
        Message answer = Message::of(Outcome::computed);
        compute(answer);
        return answer;
    } catch (const OutOfMemory& error) {
        return error_as(Outcome::out_of_memory, error.what());
    } catch (const std::exception& error) {
        return error_as(Outcome::failed, error_text(error));
    }
}

void throw_error_of(Message& answer) {
    const auto outcome = answer.take_one<Outcome>();
    if (outcome == Outcome::computed) return;
    const std::string what = answer.take_text();
    if (outcome == Outcome::out_of_memory) throw OutOfMemory(what);
    throw Error(what);
}

// Rank 0's part. `pack`: what another rank needs to compute a batch; `head` precedes a rank's batches.
template <class Result>
std::vector<Result> shared_out(Ranks& ranks, Work work, std::size_t batches, const Message& head,
                               const std::function<void(Message&, std::size_t)>& pack,
                               const std::function<Result(std::size_t)>& compute, const std::function<Result(Message&)>& unpack) {
    std::vector<Result> results(batches);
    if (batches < 2) {
        for (std::size_t i = 0; i < batches; ++i) results[i] = compute(i);
        return results;
    }
    std::vector<Message> parts(1);
    for (int rank = 1; rank < ranks.size(); ++rank) {
        Message part = head;
        part.put_one((static_cast<std::int64_t>(batches) + ranks.size() - 1 - rank) / ranks.size());
        each_of_rank(rank, ranks.size(), batches, [&](std::size_t i) { pack(part, i); });
        parts.push_back(std::move(part));
    }
    send_command(ranks, Command::batches, Message::of(work));  // not before all that may fail here
    scatter(ranks, parts);
    std::exception_ptr error;
    try {
        each_of_rank(0, ranks.size(), batches, [&](std::size_t i) { results[i] = compute(i); });
    } catch (...) {
        error = std::current_exception();
    }
    // The others send their results whatever happened here, and the caller may go on after an error.
    std::vector<Message> answers = gather(ranks, Message());
    if (error) std::rethrow_exception(error);
    for (int rank = 1; rank < ranks.size(); ++rank) {
        Message& answer = answers[static_cast<std::size_t>(rank)];
        throw_error_of(answer);
        each_of_rank(rank, ranks.size(), batches, [&](std::size_t i) { results[i] = unpack(answer); });
    }
    return results;
}

}  // namespace

std::vector<HypothesisLists> decode_on_ranks(Ranks& ranks, const Ensemble& models, std::span<const SourceBatch> batches,
                                             const DecodeOptions& options) {
    Message head;
    put(head, options);
    return shared_out<HypothesisLists>(
        ranks, Work::decode, batches.size(), head, [&](Message& message, std::size_t i) { put(message, batches[i]); },
        [&](std::size_t i) { return nn::decode(models, batches[i], options); }, take_hypotheses);
}

std::vector<std::vector<double>> score_on_ranks(Ranks& ranks, const Ensemble& models, std::span<const nn::ScoreBatch> batches) {
    return shared_out<std::vector<double>>(
        ranks, Work::score, batches.size(), {}, [&](Message& message, std::size_t i) { put(message, batches[i]); },
        [&](std::size_t i) { return nn::token_log_probabilities(models, batches[i]); },
        [](Message& message) { return message.take<double>(); });
}

std::vector<Likelihood> likelihoods_on_ranks(Ranks& ranks, const nn::Transformer& model, std::span<const PairBatch> batches) {
    return shared_out<Likelihood>(
        ranks, Work::likelihood, batches.size(), {}, [&](Message& message, std::size_t i) { put(message, batches[i]); },
        [&](std::size_t i) { return likelihood(model, batches[i]); },
        [](Message& message) { return message.take_one<Likelihood>(); });
}

void compute_batches(Ranks& ranks, const Ensemble& models, Message command) {
    Message message = scatter(ranks);
    const auto work = command.take_one<Work>();
    gather(ranks, answer_of(ranks, [&](Message& answer) {
               const DecodeOptions options = work == Work::decode ? take<DecodeOptions>(message) : DecodeOptions();
               const auto batches = message.take_one<std::int64_t>();
               for (std::int64_t i = 0; i < batches; ++i) switch (work) {
                       case Work::decode: put_hypotheses(answer, nn::decode(models, take<SourceBatch>(message), options)); break;
                       case Work::score: answer.put(nn::token_log_probabilities(models, take<nn::ScoreBatch>(message))); break;
                       case Work::likelihood:
                           answer.put_one(likelihood(*models.models().front(), take_pair_batch(message)));
                           break;
                   }
           }));
}

Decoders decoders_on(Ranks* ranks, const Ensemble& models) {
    if (ranks == nullptr) return {};
    return {.processes = ranks->size(),
            .decode = [ranks, models](std::span<const SourceBatch> batches, const DecodeOptions& options) {
                return decode_on_ranks(*ranks, models, batches, options);
            }};
}

nn::ScoreBatches scoring_on(Ranks* ranks, const Ensemble& models) {
    if (ranks == nullptr) return {};
    return [ranks, models](std::span<const nn::ScoreBatch> batches) { return score_on_ranks(*ranks, models, batches); };
}

LikelihoodOfBatches likelihoods_on(Ranks* ranks, const nn::Transformer& model) {
    if (ranks == nullptr) return {};
    return [ranks, &model](std::span<const PairBatch> batches) { return likelihoods_on_ranks(*ranks, model, batches); };
}

}  // namespace heddle::app
