#include "apps/translation/run/state.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/translation/run/json.h"
#include "core/digest.h"
#include "core/format.h"

namespace heddle::app {
namespace {

using Json = nlohmann::ordered_json;

// The fields under their names, once for both directions.
template <class State, class Field>
void visit(State& state, Field&& field) {
    field("updates", state.updates);
    field("epoch", state.epoch);
    field("batches", state.batches);
    field("epoch_batches", state.epoch_batches);
    field("sentences", state.sentences);
    field("interval_loss", state.interval.loss);
    field("interval_correct", state.interval.correct);
    field("interval_targets", state.interval.targets);
    field("interval_tokens", state.interval.tokens);
    field("interval_seconds", state.interval.seconds);
    field("event_loss", state.event_interval.loss);
    field("event_correct", state.event_interval.correct);
    field("event_targets", state.event_interval.targets);
    field("event_tokens", state.event_interval.tokens);
    field("event_seconds", state.event_interval.seconds);
    field("seconds", state.seconds);
    field("skipped", state.skipped);
    field("skipped_in_a_row", state.skipped_in_a_row);
    field("validated_at", state.validated_at);
    field("best_loss", state.best_loss);
    field("validations_since_best", state.validations_since_best);
    field("averaged", state.averaged);
    field("log_bytes", state.lengths.log);
    field("events_bytes", state.lengths.events);
    field("training_pairs", state.text.training_pairs);
    field("training_digest", state.text.training);
    field("validation_pairs", state.text.validation_pairs);
    field("validation_digest", state.text.validation);
    field("options", state.options);
    field("cpu_level", state.cpu_level);
}

template <class T>
void put(Json& value, const T& field) {
    value = field;
}
void put(Json& value, const std::optional<double>& field) { value = field ? Json(*field) : Json(); }

template <class T>
void take(const nlohmann::json& value, T& field) {
    field = value.get<T>();
}
void take(const nlohmann::json& value, std::optional<double>& field) {
    field = value.is_null() ? std::optional<double>() : value.get<double>();
}
// Whether it counts something, or is the -1 of a validation that did not take place yet. Any number would be converted, 1e300 as
// well.
bool is_count(const nlohmann::json& value, std::string_view name) {
    return value.is_number_integer() && value.get<std::int64_t>() >= (name == "validated_at" ? -1 : 0);
}

// What serialized() puts behind the fields: the digest of the bytes before it and of the brace that ends them.
std::string digest_line(std::string_view fields) {
    return fmt::format(",\n \"digest\": \"{}\"\n}}\n", digest(fmt::format("{}\n}}", fields)));
}

}  // namespace

IntervalReport Interval::means(IntervalReport report) const {
    const auto all = static_cast<double>(std::max<std::int64_t>(1, targets));
    report.loss = loss / all;
    report.accuracy = static_cast<double>(correct) / all;
    report.tokens_per_second = seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
    return report;
}

std::string TrainingState::serialized() const {
    Json object;
    visit(*this, [&](const char* name, const auto& field) { put(object[name], field); });
    std::string text = object.dump(1);
    text.resize(text.size() - 2);  // the end: a line break and a brace
    return text + digest_line(text);
}

TrainingState TrainingState::parse(std::string_view text, std::string_view name) {
    TrainingState state;
    // Before anything is made of it.
    const std::size_t length = digest_line("").size();
    check(text.size() > length && text.substr(text.size() - length) == digest_line(text.substr(0, text.size() - length)),
          "{}: the file is damaged or was changed since it was written; delete this save and go on from another", name);
    const nlohmann::json object = bounded_json(text);
    try {
        visit(state, [&](const char* field_name, auto& field) {
            const nlohmann::json& value = object.at(field_name);
            if constexpr (std::is_same_v<decltype(field), std::int64_t&>)
                check(is_count(value, field_name), "{}: the file is damaged: {} is no count", name, field_name);
            take(value, field);
        });
    } catch (const nlohmann::json::exception& error) {
        fail_with("{}: the file is damaged: {}; delete this save and go on from another", name, error.what());
    }
    return state;
}

}  // namespace heddle::app
