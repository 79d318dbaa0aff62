#include "apps/command/train_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <sstream>

#include "apps/command/on_ranks.h"
#include "apps/command/option_rows.h"
#include "apps/command/run.h"
#include "apps/terminal/option_error.h"
#include "apps/translation/distributed/message.h"
#include "apps/translation/training/learner.h"
#include "core/cpu.h"

namespace heddle::app {
namespace {

// Rank 0 decides when a training is stopped or saved, and its starter signals all ranks.
void leave_signals_to_rank_0() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1, SIGUSR2}) std::signal(signal, SIG_IGN);
}

// The text is sent in messages of so many pairs, which limits the memory of the packed copy.
constexpr std::int64_t pairs_in_message = 1 << 14;

void send_pairs(Ranks& ranks, const TokenPairs& pairs) {
    for (std::int64_t at = 0; at < pairs.size(); at += pairs_in_message) {
        std::vector<std::vector<std::int32_t>> sides;
        for (std::int64_t i = at; i < std::min(at + pairs_in_message, pairs.size()); ++i) {
            TokenPair pair = pairs.pair(i);
            sides.push_back(std::move(pair.source));
            sides.push_back(std::move(pair.target));
        }
        Message message;
        message.put(sides);
        broadcast(ranks, message);
    }
}

std::vector<TokenPair> receive_pairs(Ranks& ranks, std::size_t count) {
    std::vector<TokenPair> pairs;
    pairs.reserve(count);
    while (pairs.size() < count) {
        std::vector<std::vector<std::int32_t>> sides = broadcast(ranks).take_lists();
        for (std::size_t i = 0; i + 1 < sides.size(); i += 2)
            pairs.push_back({.source = std::move(sides[i]), .target = std::move(sides[i + 1])});
    }
    return pairs;
}

// Where a prepared text is and which one it is, or nothing. Rank 0's, on every rank.
struct TextPlace {
    std::string path;
    std::string digest;
};

TextPlace broadcast_place(Ranks& ranks, const PreparedText* text) {
    Message message;
    message.put_text(text != nullptr ? std::filesystem::absolute(text->folder()).string() : std::string());
    message.put_text(text != nullptr ? text->digest() : std::string());
    message = broadcast(ranks, message);
    TextPlace place{.path = message.take_text(), .digest = {}};
    place.digest = message.take_text();
    return place;
}

// On rank 0: the others open the prepared text themselves, or get the pairs.
void share_text(Ranks& ranks, const TrainingData& data, const Say& say) {
    if (broadcast_place(ranks, data.prepared.get()).path.empty()) return send_pairs(ranks, data.pairs());
    const std::vector<std::string> without = gather(ranks, "");
    const auto first = std::ranges::find_if(without, [](const std::string& each) { return !each.empty(); });
    broadcast(ranks, Message::of(first != without.end()));
    if (first == without.end()) return;
    say(fmt::format("{}; the text is sent to all processes, which hold it in memory", *first));
    send_pairs(ranks, data.pairs());
}

// The training pairs of a rank after the first.
struct SharedText {
    std::vector<TokenPair> in_memory;
    std::unique_ptr<const PreparedText> prepared;

    TokenPairs pairs() const { return prepared != nullptr ? TokenPairs(*prepared) : TokenPairs(in_memory); }
};

// What share_text() shares.
SharedText receive_text(Ranks& ranks, std::int64_t count) {
    SharedText text;
    const TextPlace place = broadcast_place(ranks, nullptr);
    if (!place.path.empty()) {
        std::string without;
        try {
            text.prepared = std::make_unique<PreparedText>(place.path);
            if (text.prepared->digest() != place.digest)
                without = naming_the_rank(ranks, fmt::format("{}: not the text of rank 0", place.path).c_str());
        } catch (const Error& error) {
            without = naming_the_rank(ranks, error.what());
        }
        gather(ranks, without);
        if (!broadcast(ranks).take_one<bool>()) return text;
        text.prepared.reset();
    }
    text.in_memory = receive_pairs(ranks, static_cast<std::size_t>(count));
    return text;
}

}  // namespace

int follow_training(Ranks& ranks) {
    leave_signals_to_rank_0();
    ReceivedCommand given = receive_command(ranks);
    if (given.command == Command::end) return 0;
    const auto pairs = given.message.take_one<std::int64_t>();
    const auto source_size = given.message.take_one<std::int64_t>(), target_size = given.message.take_one<std::int64_t>();
    const auto level = given.message.take_one<CpuLevel>();
    TrainSettings settings;
    OptionTable table = train_table(settings);
    std::istringstream config(given.message.take_text());
    table.read_config(config, "the options of rank 0");
    resolve(settings.model, settings.vocabulary);
    resolve(settings.training);
    apply_alike(ranks, settings.machine, level);
    const SharedText text = receive_text(ranks, pairs);
    nn::Transformer model(settings.model.with_vocabularies(source_size, target_size), settings.training.seed);
    model.to(settings.machine.device);
    model.train();
    Learner(model, settings.training, 0, settings.machine.dtype, &ranks).follow(text.pairs());
    return 0;
}

void check_shareable(const Ranks& ranks, const TrainSettings& settings) {
    const std::int64_t shards = settings.training.shards;
    check_option(shards >= ranks.size(), {"shards"},
                 settings.data.resume.empty()
                     ? fmt::format("--shards {} is too few for {} processes: each computes at least one; give --shards {}",
                                   shards, ranks.size(), ranks.size())
                     : fmt::format("--resume {}: the run has --shards {}, which a run keeps; start at most {} processes",
                                   settings.data.resume, shards, shards));
}

void begin_on_ranks(Ranks& ranks, const OptionTable& options, const TrainingData& data, const Say& say) {
    Message message =
        Message::of(data.pairs().size(), data.vocabularies.source->size(), data.vocabularies.target->size(), cpu_level());
    message.put_text(options.config());
    send_command(ranks, Command::begin, message);
    check_on_all(ranks, [] {});  // the others' processors, compared with this one's
    share_text(ranks, data, say);
}

}  // namespace heddle::app
