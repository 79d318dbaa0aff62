// Numbers as bytes, for ranks that run the same program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/format.h"

namespace heddle::app {

/// Arrays one after another: take() returns them in the order of put().
class Message {
  public:
    Message() = default;
    explicit Message(std::string bytes) : bytes_(std::move(bytes)) {}

    const std::string& bytes() const { return bytes_; }

    template <class T>
    requires std::is_trivially_copyable_v<T>
    void put(const std::vector<T>& values) {
        const auto count = static_cast<std::int64_t>(values.size());
        append(&count, sizeof count);
        append(values.data(), values.size() * sizeof(T));
    }
    /// Error when it ends before.
    template <class T>
    requires std::is_trivially_copyable_v<T> std::vector<T> take() {
        std::int64_t count = 0;
        copy_next(&count, sizeof count);
        check_rest(static_cast<std::uint64_t>(count), sizeof(T));
        std::vector<T> values(static_cast<std::size_t>(count));
        copy_next(values.data(), values.size() * sizeof(T));
        return values;
    }

    /// One value is an array of one.
    template <class T>
    void put_one(const T& value) {
        put(std::vector<T>{value});
    }
    template <class T>
    T take_one() {
        return take<T>().at(0);
    }

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

}  // namespace heddle::app
