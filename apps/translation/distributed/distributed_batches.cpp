#include "apps/translation/distributed/distributed_batches.h"

#include <exception>
#include <functional>
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

void put(Message& message, const DecodeOptions& options) {
    // All of them: a new one does not compile.
    const auto& [beam, length_penalty, patience, n_best, samples_at_once, prefix, first, sampling, forbidden, max_length, marks] =
        options;
    message.put_one(beam);
    message.put_one(length_penalty);
    message.put_one(patience);
    message.put_one(n_best);
    message.put_one(samples_at_once);
    message.put(prefix);
    message.put(first);
    message.put(sampling ? std::vector<Sampling>{*sampling} : std::vector<Sampling>());
    message.put(forbidden);
    message.put(max_length ? std::vector<std::int64_t>{*max_length} : std::vector<std::int64_t>());
    message.put_one(marks);
}

DecodeOptions take_decode_options(Message& message) {
    DecodeOptions options;
    options.beam = message.take_one<std::int64_t>();
    options.length_penalty = message.take_one<double>();
    options.patience = message.take_one<double>();
    options.n_best = message.take_one<std::int64_t>();
    options.samples_at_once = message.take_one<std::int64_t>();
    options.prefix = message.take<std::int32_t>();
    options.first = message.take<std::int32_t>();
    if (const auto sampling = message.take<Sampling>(); !sampling.empty()) options.sampling = sampling.front();
    options.forbidden = message.take<std::int32_t>();
    if (const auto most = message.take<std::int64_t>(); !most.empty()) options.max_length = most.front();
    options.marks = message.take_one<nn::Marks>();
    return options;
}

void put(Message& message, const SourceBatch& batch) {
    message.put(batch.sources);
    message.put(batch.numbers);
}

SourceBatch take_source_batch(Message& message) {
    SourceBatch batch;
    batch.sources = message.take_lists();
    batch.numbers = message.take<std::int64_t>();
    return batch;
}

void put(Message& message, const nn::ScoreBatch& batch) {
    message.put(batch.sources);
    message.put(batch.written);
    message.put_one(batch.begin);
}

nn::ScoreBatch take_score_batch(Message& message) {
    nn::ScoreBatch batch;
    batch.sources = message.take_lists();
    batch.written = message.take_lists();
    batch.begin = message.take_one<std::int32_t>();
    return batch;
}

std::vector<std::int64_t> lengths_of(const Spans& spans) {
    std::vector<std::int64_t> lengths;
    for (const Span& span : spans) lengths.push_back(span.length);
    return lengths;
}

void put(Message& message, const PairBatch& batch) {
    message.put(batch.source);
    message.put(batch.target_in);
    message.put(batch.target_out);
    message.put(lengths_of(batch.source_spans));
    message.put(lengths_of(batch.target_spans));
}

PairBatch take_batch(Message& message) {
    PairBatch batch;
    batch.source = message.take<std::int32_t>();
    batch.target_in = message.take<std::int32_t>();
    batch.target_out = message.take<std::int32_t>();
    batch.source_spans = Spans::packed(message.take<std::int64_t>());
    batch.target_spans = Spans::packed(message.take<std::int64_t>());
    batch.sentences = batch.source_spans.size();
    batch.source_tokens = batch.source_spans.rows();
    batch.target_tokens = batch.target_spans.rows();
    return batch;
}

void put(Message& message, const HypothesisLists& lists) {
    std::vector<std::int64_t> counts;
    std::vector<std::vector<std::int32_t>> tokens;
    std::vector<double> numbers;
    for (const std::vector<nn::Hypothesis>& list : lists) {
        counts.push_back(static_cast<std::int64_t>(list.size()));
        for (const nn::Hypothesis& each : list) {
            tokens.push_back(each.tokens);
            numbers.insert(numbers.end(), {each.log_probability, each.score, each.ended ? 1.0 : 0.0});
        }
    }
    message.put(counts);
    message.put(tokens);
    message.put(numbers);
}

HypothesisLists take_hypotheses(Message& message) {
    const auto counts = message.take<std::int64_t>();
    std::vector<std::vector<std::int32_t>> tokens = message.take_lists();
    const auto numbers = message.take<double>();
    HypothesisLists lists;
    std::size_t at = 0;
    for (const std::int64_t count : counts) {
        std::vector<nn::Hypothesis>& list = lists.emplace_back();
        for (std::int64_t i = 0; i < count; ++i, ++at)
            list.push_back({std::move(tokens.at(at)), numbers.at(3 * at), numbers.at(3 * at + 1), numbers.at(3 * at + 2) != 0});
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
               const DecodeOptions options = work == Work::decode ? take_decode_options(message) : DecodeOptions();
               const auto batches = message.take_one<std::int64_t>();
               for (std::int64_t i = 0; i < batches; ++i) switch (work) {
                       case Work::decode: put(answer, nn::decode(models, take_source_batch(message), options)); break;
                       case Work::score: answer.put(nn::token_log_probabilities(models, take_score_batch(message))); break;
                       case Work::likelihood: answer.put_one(likelihood(*models.models().front(), take_batch(message))); break;
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
