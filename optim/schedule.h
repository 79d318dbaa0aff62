// Learning rate schedules. u = 0, 1, 2, .. is the update; w = max(1, warmup).
//
//   constant       lr
//   inverse-sqrt   lr min((u + 1) / w, sqrt(w / (u + 1)))
//                  rises linearly to lr at u + 1 = w, then falls with the root of the updates
//   noam           lr d_model^-0.5 min((u + 1)^-0.5, (u + 1) w^-1.5)
//                  the same shape with its peak lr (d_model w)^-0.5; lr = 1 is the paper (Vaswani et al. 2017, equation 3)
//   cosine         u < warmup: lr (u + 1) / w
//                  then floor + (lr - floor) (1 + cos(pi min(1, (u - warmup) / (total - warmup)))) / 2
//                  (Loshchilov and Hutter, "SGDR", 2017, equation 5, one period)
#pragma once

#include <cstdint>

#include "core/enum_words.h"

namespace heddle::optim {

enum class ScheduleKind : std::uint8_t { constant, inverse_sqrt, noam, cosine };
constexpr auto enum_words(ScheduleKind) {
    return words_for<ScheduleKind>({{ScheduleKind::inverse_sqrt, "inverse-sqrt"},
                                    {ScheduleKind::noam, "noam"},
                                    {ScheduleKind::cosine, "cosine"},
                                    {ScheduleKind::constant, "constant"}});
}

struct Schedule {
    ScheduleKind kind = ScheduleKind::inverse_sqrt;
    double lr = 3e-3;           ///< peak; for noam the formula's factor
    std::int64_t warmup = 500;  ///< updates; constant has none
    std::int64_t d_model = 0;   ///< noam only
    std::int64_t total = 0;     ///< cosine only: the update at which the floor is reached
    double floor = 0;           ///< cosine only

    /// The learning rate of update `update` (from 0). Error when `update` or warmup is negative, lr or floor is negative or not
    /// finite, noam has no d_model, or cosine's total is not above its warm-up.
    double rate(std::int64_t update) const;
};

}  // namespace heddle::optim
