#include "kernels/emulator/frontend/findings.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace heddle::emulator::frontend {
namespace {

// Two records with the same identity are one finding. In another order of the threads the later access of a race may be the
// earlier one.
auto identity_of(const ViolationRecord& r) {
    std::pair<std::string, int> first{r.file, r.line}, second{r.other_file, r.other_line};
    if (second < first) std::swap(first, second);
    const bool places = r.line != 0 || r.other_line != 0;
    return std::make_tuple(r.kind, r.note, r.same_value, r.kernel, first, second, places ? "" : r.text);
}

std::string counted(std::uint64_t number, const char* noun) {
    return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

}  // namespace

const Finding* Findings::add(const ViolationRecord& record, int order) {
    if (record.kind == "launched") {
        kernels_ += order == 1 ? 1 : 0;
        launches_ += order == 1 ? record.cost.launches : 0;
        return nullptr;
    }
    if (record.kind == "cost" || record.kind == "cost-line") {
        if (order != 1) return nullptr;
        if (record.kind == "cost")
            costs_.push_back({record, {}});
        else
            for (KernelCost& cost : costs_)
                if (cost.kernel.kernel == record.kernel) cost.lines.push_back(record);
        return nullptr;
    }
    if (record.kind == "again") {
        for (const Id& id : ids_)
            if (id.order == order && id.id == record.id) ++all_[id.finding].occurrences;
        return nullptr;
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
        if (identity_of(all_[i].record) != identity_of(record)) continue;
        ids_.push_back({order, record.id, i});
        ++all_[i].occurrences;
        if (all_[i].orders.back() != order) all_[i].orders.push_back(order);
        return nullptr;
    }
    ids_.push_back({order, record.id, all_.size()});
    all_.push_back({record, {order}});
    return &all_.back();
}

void Findings::restart(int order) {
    ids_.erase(std::remove_if(ids_.begin(), ids_.end(), [&](const Id& id) { return id.order == order; }), ids_.end());
    if (order != 1) return;
    costs_.clear();
    kernels_ = launches_ = 0;
}

std::uint64_t Findings::violations() const {
    return static_cast<std::uint64_t>(std::count_if(all_.begin(), all_.end(), [](const Finding& f) { return !f.record.note; }));
}

std::string Findings::kinds() const {
    std::vector<std::string> kinds;
    for (const Finding& finding : all_)
        if (!finding.record.note && std::find(kinds.begin(), kinds.end(), finding.record.kind) == kinds.end())
            kinds.push_back(finding.record.kind);
    std::string text;
    for (const std::string& kind : kinds) text += (text.empty() ? "" : ", ") + kind;
    return text;
}

bool Findings::has(const std::string& kind) const {
    return std::any_of(all_.begin(), all_.end(), [&](const Finding& f) { return f.record.kind == kind; });
}

int Outcome::status() const {
    if (findings.violations() > 0) return 3;
    return failure.empty() && !findings.has("out-of-time") ? 0 : 1;
}

std::string Outcome::verdict() const {
    const std::string in = " in " + counted(static_cast<std::uint64_t>(orders), "order");
    const std::uint64_t violations = findings.violations();
    std::string text =
        violations > 0 ? counted(violations, "violation") + " (" + findings.kinds() + ")" + in : "no violation" + in;
    if (const std::uint64_t launches = findings.launches(); violations == 0 && launches > 0)
        text += ", " + counted(findings.kernels(), "kernel") + ", " + std::to_string(launches) +
                (launches == 1 ? " launch" : " launches");
    if (!failure.empty()) text += (violations > 0 ? "; the program failed, too: " : "; but the program failed: ") + failure;
    if (findings.has("out-of-time")) text += "; a launch was cut off, so not all of it was checked (--seconds gives it more)";
    return text;
}

}  // namespace heddle::emulator::frontend
