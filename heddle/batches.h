// Divides a data set into batches.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace heddle {

/// Some examples: inputs [n, ...] and their targets [n, ...].
struct Batch {
    Tensor x;
    Tensor y;
};

/// The seed of a shuffle: any integer, but not a bool, so {.shuffle = true} does not compile.
struct ShuffleSeed {
    template <std::integral Number>
    requires(!std::same_as<Number, bool>) ShuffleSeed(Number number) : value(static_cast<std::uint64_t>(number)) {}  // NOLINT

    std::uint64_t value;
};

struct BatchOptions {
    std::optional<ShuffleSeed> shuffle = {};  ///< shuffles with this seed; empty: in the given order
    bool drop_last = false;                   ///< omits a last batch with fewer examples
};

/// The batches of a data set, one after the other, for a loop:
///
///     for (const auto& [x, y] : batches(examples, 32, {.shuffle = epoch}))
class Batches {
  public:
    class Iterator {
      public:
        using difference_type = std::ptrdiff_t;
        using value_type = Batch;

        Iterator() = default;
        Iterator(const Batches* all, std::int64_t number) : all_(all), number_(number) {}
        Batch operator*() const { return all_->batch(number_); }
        Iterator& operator++() {
            ++number_;
            return *this;
        }
        Iterator operator++(int) { return {all_, number_++}; }
        friend bool operator==(const Iterator&, const Iterator&) = default;

      private:
        const Batches* all_ = nullptr;
        std::int64_t number_ = 0;
    };

    /// x [n, ...], y [n, ...]. Error if they differ in n, or `batch_size` is not positive.
    Batches(Tensor x, Tensor y, std::int64_t batch_size, const BatchOptions& options = {});

    Iterator begin() const { return {this, 0}; }
    Iterator end() const { return {this, size()}; }
    /// Number of batches.
    std::int64_t size() const { return size_; }
    /// The examples of batch `number`: views if they are not shuffled, else copies on the same device. Error if there is no such
    /// batch.
    Batch batch(std::int64_t number) const;

  private:
    Tensor x_;
    Tensor y_;
    std::int64_t batch_size_;
    std::int64_t size_;
    std::vector<std::int64_t> order_;  // empty: in the given order
};

/// Batches of two tensors. Error as Batches.
Batches batches(const Tensor& x, const Tensor& y, std::int64_t batch_size, const BatchOptions& options = {});
Batches batches(const std::pair<Tensor, Tensor>& examples, std::int64_t batch_size, const BatchOptions& options = {});
/// Batches of single examples on one device, which are stacked: x of shape [...] becomes [n, ...]. Error if there are none, or
/// their shapes, dtypes or devices differ.
Batches batches(const std::vector<std::pair<Tensor, Tensor>>& examples, std::int64_t batch_size,
                const BatchOptions& options = {});

}  // namespace heddle
