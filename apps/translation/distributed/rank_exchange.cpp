#include "apps/translation/distributed/rank_exchange.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "apps/translation/run/clock.h"
#include "core/format.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/gradient_norm/gradient_norm.h"

namespace heddle::app {
namespace {

// The tensor itself where it lies on the host; otherwise room of its size there, not filled.
Tensor on_host(const Tensor& tensor) {
    return tensor.device() == Device::cpu ? tensor : Tensor::empty(tensor.shape(), tensor.dtype());
}

// The beginnings of the norm's blocks.
std::vector<std::int64_t> block_begins(const Spans& active) {
    std::vector<std::int64_t> begins;
    for (const Span& range : active)
        for (std::int64_t at = 0; at < range.length; at += kernels::kNormBlock) begins.push_back(range.start + at);
    return begins;
}

// Which elements of a flat array a view of it has.
Span range_of(const Tensor& part, const Tensor& flat) {
    const auto element = static_cast<std::ptrdiff_t>(size_of(flat.dtype()));
    return {(part.bytes_data() - flat.bytes_data()) / element, part.numel()};
}

// The parts of ascending ranges that lie in [begin, end), counted from `begin`.
std::vector<Span> ranges_within(const Spans& active, std::int64_t begin, std::int64_t end) {
    std::vector<Span> found;
    for (const Span& range : active) {
        const std::int64_t first = std::max(range.start, begin), last = std::min(range.start + range.length, end);
        if (first < last) found.push_back({first - begin, last - first});
    }
    return found;
}

// The sum over a tree, of sums over some of its subtrees, which are overwritten.
Tensor sum_over(ShardRange tree, const std::map<std::pair<std::int64_t, std::int64_t>, Tensor>& known) {
    if (const auto found = known.find({tree.first, tree.last}); found != known.end()) return found->second;
    const std::int64_t middle = middle_of(tree);
    Tensor left = sum_over({tree.first, middle}, known);
    kernels::accumulate(left, sum_over({middle, tree.last}, known));
    return left;
}

}  // namespace

ShardRange shards_of_rank(std::int64_t rank, std::int64_t ranks, std::int64_t shards) {
    check(shards >= ranks, "shards: {} for {} ranks, wanted at least one for each", shards, ranks);
    return {rank * shards / ranks, (rank + 1) * shards / ranks};
}

std::vector<std::int64_t> segment_bounds(const Spans& active, std::int64_t ranks) {
    std::vector<std::int64_t> begins = block_begins(active);
    const auto blocks = static_cast<std::int64_t>(begins.size());
    if (blocks > 0) begins[0] = 0;  // what lies before the first block is the first segment's
    begins.push_back(active.rows());
    std::vector<std::int64_t> bounds = {0};
    for (std::int64_t rank = 1; rank <= ranks; ++rank) bounds.push_back(begins[static_cast<std::size_t>(rank * blocks / ranks)]);
    return bounds;
}

// A rank's shards have at most two subtrees of each size.
static_assert(2 * 63 * GradientBuckets::kMostOfSegment <= kMostMessages, "too many numbers of messages");

RankExchange::RankExchange(Ranks& ranks, std::int64_t shards, const Spans& active, std::span<const Span> leaves,
                           std::int64_t bucket_elements)
    : ranks_(ranks),
      active_(active),
      shards_(shards),
      bounds_(segment_bounds(active, ranks.size())),
      buckets_(bounds_, leaves, bucket_elements) {
    const std::vector<std::int64_t> begins = block_begins(active);
    for (std::size_t rank = 0; rank + 1 < bounds_.size(); ++rank) {
        trees_.push_back(subtrees_within(shards_of_rank(static_cast<std::int64_t>(rank), ranks.size(), shards), shards));
        blocks_.push_back(static_cast<std::size_t>(std::ranges::count_if(
            begins, [&](std::int64_t begin) { return bounds_[rank] <= begin && begin < bounds_[rank + 1]; })));
    }
}

Tensor RankExchange::segment(const Tensor& flat, std::int64_t rank) const {
    return flat.slice(bounds_[static_cast<std::size_t>(rank)], bounds_[static_cast<std::size_t>(rank) + 1]);
}

std::vector<Span> RankExchange::own_active() const {
    const auto rank = static_cast<std::size_t>(ranks_.rank());
    return ranges_within(active_, bounds_[rank], bounds_[rank + 1]);
}

int RankExchange::number_of(std::size_t tree, const GradientBucket& bucket) const {
    return 1 + static_cast<int>(tree) * buckets_.most_of_segment() + bucket.number;
}

// Where there is room, no message waits for its receiver.
RankExchange::KnownSums RankExchange::start_receiving(const Tensor& like) {
    KnownSums known;
    for (int other = 0; other < ranks_.size(); ++other) {
        if (other == ranks_.rank()) continue;
        const std::vector<ShardRange>& trees = trees_[static_cast<std::size_t>(other)];
        for (std::size_t tree = 0; tree < trees.size(); ++tree) {
            const Tensor& room = known[{trees[tree].first, trees[tree].last}] = Tensor::empty(own(like).shape(), like.dtype());
            const auto memory = std::make_shared<Tensor>(room);
            for (const GradientBucket& bucket : buckets_.of_segment(ranks_.rank())) {
                const std::int64_t begin = bounds_[static_cast<std::size_t>(ranks_.rank())];
                const std::span<std::byte> bytes = mutable_bytes_of(room.slice(bucket.begin - begin, bucket.end - begin));
                ranks_.start_receive({other, bytes}, number_of(tree, bucket), memory);
                costs_.gradients.received += static_cast<std::int64_t>(bytes.size());
            }
        }
    }
    return known;
}

void RankExchange::start_sending(const GradientBucket& bucket, const Tensor& sum, std::size_t tree) {
    if (bucket.owner == ranks_.rank()) return;
    const std::span<const std::byte> bytes = bytes_of(sum.slice(bucket.begin, bucket.end));
    ranks_.start_send({bucket.owner, bytes}, number_of(tree, bucket), std::make_shared<Tensor>(sum));
    costs_.gradients.sent += static_cast<std::int64_t>(bytes.size());
}

void RankExchange::sum_gradients(Tensor& gradients, const ComputeShard& compute) {
    if (gradients.device() != Device::cpu) return sum_on_device(gradients, compute);
    const std::int64_t sent_before = costs_.gradients.sent;
    KnownSums known = start_receiving(gradients);
    for (std::size_t tree = 0; tree < own_trees().size(); ++tree) {
        const ShardRange shards = own_trees()[tree];
        const bool last = tree + 1 == own_trees().size();
        ShardSum left(gradients, shards.size());
        for (std::int64_t shard = shards.first; shard + 1 < shards.last; ++shard) {
            compute(shard, {});
            ranks_.arrived();
            left.add();
        }
        const std::vector<Tensor> lefts = left.before_last();
        // What travels while the next shard overwrites the gradients is a copy.
        Tensor sum = last ? gradients : Tensor::empty(gradients.shape(), gradients.dtype());
        const auto ready = [&](const GradientBucket& bucket) {
            Tensor part = gradients.slice(bucket.begin, bucket.end);
            for (const Tensor& left : lefts) kernels::accumulate(part, left.slice(bucket.begin, bucket.end));
            if (!last) sum.slice(bucket.begin, bucket.end).copy_(part);
            start_sending(bucket, sum, tree);
        };
        buckets_.begin();
        compute(shards.last - 1, [&](const Tensor& part) {
            buckets_.complete(range_of(part, gradients), ready);
            ranks_.arrived();
        });
        if (last) {
            costs_.sent_early += costs_.gradients.sent - sent_before;
            costs_.received_early += ranks_.arrived();
        }
        buckets_.complete_rest(ready);
        gradients.bump_version();
        known[{shards.first, shards.last}] = own(sum);
    }
    Stopwatch watch;
    ranks_.settle();
    costs_.gradients.waited += watch.seconds();
    finish_sum(gradients, known);
}

BucketStream& RankExchange::stream() {
    if (stream_ == nullptr) stream_ = std::make_unique<BucketStream>(buckets_.all().size());
    return *stream_;
}

MarkedPass::MarkedPass(RankExchange* exchange, const Tensor& gradients) : exchange_(exchange) {
    if (exchange == nullptr) return;
    exchange->buckets_.begin();
    observe_.emplace([exchange, gradients](const Variable& leaf) {
        exchange->buckets_.complete(range_of(leaf.grad(), gradients),
                                    [exchange](const GradientBucket& bucket) { exchange->mark(bucket); });
    });
}

void MarkedPass::end() {
    if (exchange_ == nullptr) return;
    observe_.reset();
    exchange_->buckets_.complete_rest([this](const GradientBucket& bucket) { exchange_->mark(bucket); });
}

void RankExchange::mark(const GradientBucket& bucket) {
    stream().complete(static_cast<std::size_t>(&bucket - buckets_.all().data()));
}

// Everything is in the device's queues before the host waits for any of it.
void RankExchange::sum_on_device(Tensor& gradients, const ComputeShard& compute) {
    stream().begin();
    KnownSums known;
    const std::int64_t begin = bounds_[static_cast<std::size_t>(ranks_.rank())];
    std::vector<std::pair<int, Tensor>> rooms;  // by rank, and then by tree
    for (int other = 0; other < ranks_.size(); ++other)
        if (other != ranks_.rank())
            for (const ShardRange& tree : trees_[static_cast<std::size_t>(other)]) {
                rooms.emplace_back(other, Tensor::empty(own(gradients).shape(), gradients.dtype(), gradients.device()));
                known[{tree.first, tree.last}] = rooms.back().second;
            }

    std::vector<Tensor> sums, lefts;
    for (const ShardRange& tree : own_trees()) {
        const bool last = sums.size() + 1 == own_trees().size();
        ShardSum sum(gradients, tree.size());
        for (std::int64_t shard = tree.first; shard < tree.last; ++shard) {
            compute(shard, {});
            if (last && shard + 1 == tree.last)
                lefts = sum.before_last();  // they are added bucket by bucket
            else
                sum.add();
        }
        sums.push_back(last ? gradients : gradients.clone());
        known[{tree.first, tree.last}] = own(sums.back());
    }

    together_.clear();
    stream().run(buckets_.all(), [&](std::span<const GradientBucket> together) {
        std::vector<Outgoing> outgoing;
        std::vector<Incoming> incoming;
        for (const GradientBucket& bucket : together) {
            Tensor part = gradients.slice(bucket.begin, bucket.end);
            for (const Tensor& left : lefts) kernels::accumulate(part, left.slice(bucket.begin, bucket.end));
            if (bucket.owner == ranks_.rank()) {
                for (const auto& [other, room] : rooms)
                    incoming.push_back({other, mutable_bytes_of(room.slice(bucket.begin - begin, bucket.end - begin))});
            } else {
                for (const Tensor& sum : sums) outgoing.push_back({bucket.owner, bytes_of(sum.slice(bucket.begin, bucket.end))});
            }
        }
        together_.push_back(exchange(gradients.device(), outgoing, incoming));
    });
    gradients.bump_version();
    finish_sum(gradients, known);
}

// To be called when the device has been waited for.
void RankExchange::count_early() {
    for (ExchangeCosts::Part& part : together_) {
        part.waited = 0;  // of the host, while the device computed
        costs_.gradients.add(part);
    }
    for (std::size_t i = 0; i < stream().in_time(); ++i) {
        costs_.sent_early += together_[i].sent;
        costs_.received_early += together_[i].received;
    }
    costs_.gradients.waited += stream().waited();
}

void RankExchange::finish_sum(const Tensor& gradients, const KnownSums& known) {
    own(gradients).copy_(sum_over({0, shards_}, known));
    ++costs_.updates;
}

ExchangeCosts::Part RankExchange::exchange(Device where, std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) {
    ExchangeCosts::Part part;
    for (const Outgoing& out : outgoing) part.sent += static_cast<std::int64_t>(out.bytes.size());
    for (const Incoming& in : incoming) part.received += static_cast<std::int64_t>(in.bytes.size());
    Stopwatch watch;
    if (where == Device::cpu) {
        ranks_.exchange(outgoing, incoming);
    } else {
        if (link_ == nullptr) {
            link_ = link_devices(ranks_);
            costs_.between_devices = link_->name();
        }
        link_->exchange(outgoing, incoming);
    }
    part.waited = watch.seconds();
    return part;
}

RankExchange::Measured RankExchange::measure(Tensor& gradients, const std::vector<double>& of_own_shards) {
    const bool in_blocks = gradients.device() == Device::cpu;
    std::vector<double> own_numbers = of_own_shards;
    if (in_blocks) {
        const Tensor part = own(gradients);
        const std::vector<double> squares = kernels::gradient_squares(part, Spans(own_active(), part.numel()));
        own_numbers.insert(own_numbers.end(), squares.begin(), squares.end());
    } else {
        count_early();
        own_numbers.push_back(static_cast<double>(stream().in_time()));
    }
    const auto ranks = static_cast<std::size_t>(ranks_.size()), self = static_cast<std::size_t>(ranks_.rank());
    const auto shards_of = [&](std::size_t rank) {
        return static_cast<std::size_t>(shards_of_rank(static_cast<std::int64_t>(rank), ranks_.size(), shards_).size());
    };
    const std::size_t of_each = of_own_shards.size() / shards_of(self);
    std::vector<std::vector<double>> all(ranks);
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        all[rank].resize(of_each * shards_of(rank) + (in_blocks ? blocks_[rank] : 1));
        if (rank == self) continue;
        outgoing.push_back({static_cast<int>(rank), bytes_of(own_numbers)});
        incoming.push_back({static_cast<int>(rank), bytes_of(all[rank])});
    }
    check(own_numbers.size() == all[self].size(),
          "ranks: {} numbers to exchange, which are not those of this rank's shards and blocks", own_numbers.size());
    costs_.norm.add(exchange(Device::cpu, outgoing, incoming));
    all[self] = std::move(own_numbers);

    Measured measured;
    std::vector<double> after_losses;  // the squares, or how many buckets each rank exchanged in time
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const auto blocks = all[rank].begin() + static_cast<std::ptrdiff_t>(of_each * shards_of(rank));
        measured.of_shards.insert(measured.of_shards.end(), all[rank].begin(), blocks);
        after_losses.insert(after_losses.end(), blocks, all[rank].end());
    }
    if (in_blocks) {
        measured.norm = kernels::norm_of_squares(after_losses, active_);
    } else {
        stream().send_early(static_cast<std::size_t>(std::ranges::min(after_losses)));
        costs_.norm.add(gather_everywhere(gradients));
        measured.norm = kernels::gradient_norm(gradients, active_);
    }
    return measured;
}

void RankExchange::gather_weights(Tensor& weights) { costs_.weights.add(gather_everywhere(weights)); }

ExchangeCosts::Part RankExchange::gather_everywhere(Tensor& flat) {
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    for (int other = 0; other < ranks_.size(); ++other) {
        if (other == ranks_.rank()) continue;
        outgoing.push_back({other, bytes_of(own(flat))});
        incoming.push_back({other, mutable_bytes_of(segment(flat, other))});
    }
    const ExchangeCosts::Part part = exchange(flat.device(), outgoing, incoming);
    flat.bump_version();
    return part;
}

void RankExchange::gather_to_first(const Tensor& own_part, const Tensor& flat) const {
    const Tensor here = own_part.to(Device::cpu);
    if (!leads()) {
        const Outgoing out{0, bytes_of(here)};
        return ranks_.exchange({&out, 1}, {});
    }
    std::vector<Incoming> incoming;
    for (int other = 1; other < ranks_.size(); ++other) incoming.push_back({other, mutable_bytes_of(segment(flat, other))});
    own(flat).copy_(here);
    ranks_.exchange({}, incoming);
}

void RankExchange::scatter_from_first(const Tensor& flat, const Tensor& own_part) const {
    Tensor part = own_part;
    if (!leads()) {
        const Tensor here = on_host(part);
        const Incoming in{0, mutable_bytes_of(here)};
        ranks_.exchange({}, {&in, 1});
        return part.copy_(here);
    }
    std::vector<Outgoing> outgoing;
    for (int other = 1; other < ranks_.size(); ++other) outgoing.push_back({other, bytes_of(segment(flat, other))});
    part.copy_(own(flat));
    ranks_.exchange(outgoing, {});
}

void RankExchange::broadcast(Tensor& flat) const {
    const Tensor here = leads() ? flat.to(Device::cpu) : on_host(flat);
    ranks_.broadcast(mutable_bytes_of(here));
    flat.copy_(here);
}

}  // namespace heddle::app
