#include "apps/translation/distributed/message.h"

namespace heddle::app {
namespace {

template <class Value>
std::span<std::byte> bytes_of_one(Value& value) {
    return std::as_writable_bytes(std::span(&value, 1));
}

Message message_of(const std::string& text) {
    Message message;
    message.put_text(text);
    return message;
}

}  // namespace

Message broadcast(Ranks& ranks, const Message& message) {
    std::string bytes = message.bytes();
    auto length = static_cast<std::int64_t>(bytes.size());
    ranks.broadcast(bytes_of_one(length));
    bytes.resize(static_cast<std::size_t>(length));
    ranks.broadcast(std::as_writable_bytes(std::span(bytes)));
    return Message(std::move(bytes));
}

std::string broadcast(Ranks& ranks, const std::string& text) { return broadcast(ranks, message_of(text)).take_text(); }

Message scatter(Ranks& ranks, const std::vector<Message>& messages) {
    if (ranks.rank() != 0) {
        std::int64_t length = 0;
        const Incoming in{0, bytes_of_one(length)};
        ranks.exchange({}, {&in, 1});
        std::string bytes(static_cast<std::size_t>(length), '\0');
        const Incoming rest{0, std::as_writable_bytes(std::span(bytes))};
        ranks.exchange({}, {&rest, 1});
        return Message(std::move(bytes));
    }
    std::vector<std::int64_t> lengths;
    for (const Message& message : messages) lengths.push_back(static_cast<std::int64_t>(message.bytes().size()));
    std::vector<Outgoing> outgoing;
    for (std::size_t rank = 1; rank < messages.size(); ++rank) {
        outgoing.push_back({static_cast<int>(rank), bytes_of_one(lengths[rank])});
        outgoing.push_back({static_cast<int>(rank), std::as_bytes(std::span(messages[rank].bytes()))});
    }
    ranks.exchange(outgoing, {});
    return messages.at(0);
}

std::vector<Message> gather(Ranks& ranks, const Message& message) {
    const auto size = static_cast<std::size_t>(ranks.size());
    std::vector<std::int64_t> lengths(size, static_cast<std::int64_t>(message.bytes().size()));
    if (ranks.rank() != 0) {
        const Outgoing length{0, bytes_of_one(lengths[0])}, rest{0, std::as_bytes(std::span(message.bytes()))};
        ranks.exchange({&length, 1}, {});
        ranks.exchange({&rest, 1}, {});
        return {};
    }
    std::vector<Incoming> incoming;
    for (std::size_t rank = 1; rank < size; ++rank) incoming.push_back({static_cast<int>(rank), bytes_of_one(lengths[rank])});
    ranks.exchange({}, incoming);
    incoming.clear();
    std::vector<std::string> bytes(size);
    bytes[0] = message.bytes();
    for (std::size_t rank = 1; rank < size; ++rank) {
        bytes[rank].resize(static_cast<std::size_t>(lengths[rank]));
        incoming.push_back({static_cast<int>(rank), std::as_writable_bytes(std::span(bytes[rank]))});
    }
    ranks.exchange({}, incoming);
    std::vector<Message> all;
    for (std::string& each : bytes) all.emplace_back(std::move(each));
    return all;
}

std::vector<std::string> gather(Ranks& ranks, const std::string& text) {
    std::vector<std::string> texts;
    for (Message& message : gather(ranks, message_of(text))) texts.push_back(message.take_text());
    return texts;
}

void send_command(Ranks& ranks, Command command, const Message& message) {
    Message all = Message::of(command);
    all.put_rest(message);
    broadcast(ranks, all);
}

ReceivedCommand receive_command(Ranks& ranks) {
    ReceivedCommand given{.command = Command::end, .message = broadcast(ranks)};
    given.command = given.message.take_one<Command>();
    return given;
}

}  // namespace heddle::app
