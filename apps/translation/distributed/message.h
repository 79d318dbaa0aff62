// What ranks that run the same program tell each other, but for tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "apps/translation/distributed/ranks.h"
#include "core/format.h"

namespace heddle::app {

/// Arrays, numbers and texts as bytes, one after another: the take functions return them in the order in which they were put.
class Message {
  public:
    Message() = default;
    explicit Message(std::string bytes) : bytes_(std::move(bytes)) {}

    const std::string& bytes() const { return bytes_; }

    /// A message of these numbers.
    template <class... T>
    static Message of(const T&... numbers) {
        Message message;
        (message.put_one(numbers), ...);
        return message;
    }

    template <class T>
    requires std::is_trivially_copyable_v<T>
    void put(std::span<const T> values) {
        const auto count = static_cast<std::int64_t>(values.size());
        append(&count, sizeof count);
        append(values.data(), values.size() * sizeof(T));
    }
    template <class T>
    requires std::is_trivially_copyable_v<T>
    void put(const std::vector<T>& values) { put(std::span<const T>(values)); }
    /// Error when it ends before.
    template <class T>
    requires std::is_trivially_copyable_v<T> std::vector<T> take() {
        std::vector<T> values(take_count(sizeof(T)));
        copy_next(values.data(), values.size() * sizeof(T));
        return values;
    }

    /// One value is an array of one.
    template <class T>
    void put_one(const T& value) {
        put(std::span<const T>(&value, 1));
    }
    template <class T>
    T take_one() {
        const std::size_t count = take_count(sizeof(T));
        check(count == 1, "ranks: an array of {} in a message, wanted one number", count);
        T value;
        copy_next(&value, sizeof value);
        return value;
    }

    void put_text(std::string_view text) { put(std::span<const char>(text)); }
    std::string take_text() {
        std::string text(take_count(1), '\0');
        copy_next(text.data(), text.size());
        return text;
    }

    /// All of another message.
    void put_rest(const Message& other) { bytes_ += other.bytes_; }

    /// Lists as one array, and their lengths.
    void put(const std::vector<std::vector<std::int32_t>>& lists) {
        std::vector<std::int64_t> lengths;
        std::vector<std::int32_t> all;
        for (const std::vector<std::int32_t>& list : lists) {
            lengths.push_back(static_cast<std::int64_t>(list.size()));
            all.insert(all.end(), list.begin(), list.end());
        }
        put(lengths);
        put(all);
    }
    std::vector<std::vector<std::int32_t>> take_lists() {
        const auto lengths = take<std::int64_t>();
        const auto all = take<std::int32_t>();
        std::vector<std::vector<std::int32_t>> lists;
        auto at = all.begin();
        for (const std::int64_t length : lengths) {
            check(length >= 0 && length <= all.end() - at, "ranks: a list of {} numbers in a message with {}", length,
                  all.end() - at);
            lists.emplace_back(at, at + length);
            at += length;
        }
        return lists;
    }

  private:
    void append(const void* from, std::size_t count) {
        if (count > 0) bytes_.append(static_cast<const char*>(from), count);
    }
    std::size_t take_count(std::size_t size) {
        std::int64_t count = 0;
        copy_next(&count, sizeof count);
        check_rest(static_cast<std::uint64_t>(count), size);
        return static_cast<std::size_t>(count);
    }
    void check_rest(std::uint64_t count, std::size_t size) const {
        check(count <= (bytes_.size() - at_) / size, "ranks: a message of {} bytes ends before its numbers do", bytes_.size());
    }
    void copy_next(void* to, std::size_t count) {
        check_rest(count, 1);
        if (count > 0) std::memcpy(to, bytes_.data() + at_, count);
        at_ += count;
    }

    std::string bytes_;
    std::size_t at_ = 0;
};

/// Rank 0's message or text, on every rank.
Message broadcast(Ranks& ranks, const Message& message = {});
std::string broadcast(Ranks& ranks, const std::string& text);
/// From rank 0 to each rank a message of its own: messages[rank]. The others give none.
Message scatter(Ranks& ranks, const std::vector<Message>& messages = {});
/// Every rank's message or text, by rank, on rank 0; empty elsewhere.
std::vector<Message> gather(Ranks& ranks, const Message& message);
std::vector<std::string> gather(Ranks& ranks, const std::string& text);

/// What rank 0 has the others do. All decisions are rank 0's: the others compute what they are told, until the end.
enum class Command : std::int64_t {
    begin,    ///< options and models follow, and the text of a training (apps/command/*_ranks.h); the first command
    state,    ///< of a training: updates so far, whether moments follow. Weights and moments follow
    update,   ///< of a training: the learning rate, and of each batch which pairs it has
    moments,  ///< of a training: send the own moments to rank 0
    batches,  ///< compute batches with the model (distributed_batches.h)
    end,      ///< nothing more; may be the first command
};

struct ReceivedCommand {
    Command command = Command::end;
    Message message;  ///< the rest
};

/// On rank 0.
void send_command(Ranks& ranks, Command command, const Message& message = {});
/// On the others: waits for the next command.
ReceivedCommand receive_command(Ranks& ranks);

}  // namespace heddle::app
