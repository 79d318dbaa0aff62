#include "optim/schedule.h"

#include <cmath>
#include <numbers>

#include "core/format.h"

namespace heddle::optim {
namespace {

double cosine(const Schedule& s, std::int64_t update) {
    check(s.total > s.warmup, "schedule: cosine ends at update {}, wanted one after the warm-up of {}", s.total, s.warmup);
    if (update < s.warmup) return s.lr * static_cast<double>(update + 1) / static_cast<double>(s.warmup);
    const double part = static_cast<double>(update - s.warmup) / static_cast<double>(s.total - s.warmup);
    return s.floor + (s.lr - s.floor) * (1 + std::cos(std::numbers::pi * std::min(1.0, part))) / 2;
}

}  // namespace

double Schedule::rate(std::int64_t update) const {
    check(update >= 0, "schedule: update {}, but they count from 0", update);
    check(warmup >= 0, "schedule: a warm-up of {} updates, wanted at least 0", warmup);
    check(lr >= 0 && std::isfinite(lr), "schedule: a learning rate of {}, wanted a finite one of at least 0", lr);
    check(floor >= 0 && std::isfinite(floor), "schedule: a floor of {}, wanted a finite rate of at least 0", floor);
    const auto step = static_cast<double>(update + 1);
    const auto w = static_cast<double>(std::max<std::int64_t>(1, warmup));
    switch (kind) {
        case ScheduleKind::constant: return lr;
        case ScheduleKind::inverse_sqrt: return lr * std::min(step / w, std::sqrt(w / step));
        case ScheduleKind::noam:
            check(d_model > 0, "schedule: noam needs the model's width, but d_model is {}", d_model);
            return lr / std::sqrt(static_cast<double>(d_model)) * std::min(1 / std::sqrt(step), step * std::pow(w, -1.5));
        case ScheduleKind::cosine: return cosine(*this, update);
    }
    return lr;
}

}  // namespace heddle::optim
