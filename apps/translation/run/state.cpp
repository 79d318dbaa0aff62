#include "apps/translation/run/state.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/translation/run/json.h"
#include "core/format.h"

namespace heddle::app {
namespace {

using Json = nlohmann::ordered_json;

template <class Sums, class Field>
void visit_sums(const std::string& prefix, Sums& sums, Field&& field) {
    field(prefix + "loss", sums.loss);
    field(prefix + "correct", sums.correct);
    field(prefix + "targets", sums.targets);
    field(prefix + "tokens", sums.tokens);
    field(prefix + "seconds", sums.seconds);
}

// Applies `field` to every field with its JSON name; used for writing and for reading.
template <class State, class Field>
void visit(State& state, Field&& field) {
    field("updates", state.updates);
    field("epoch", state.epoch);
    field("batches", state.batches);
    field("epoch_batches", state.epoch_batches);
    field("sentences", state.sentences);
    visit_sums("interval_", state.interval, field);
    visit_sums("event_", state.event_interval, field);
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
// True for a count, or the -1 of a validation that has not taken place yet. Checked by type, since the library would convert any
// number, even 1e300.
bool is_count(const nlohmann::json& value, std::string_view name) {
    return value.is_number_integer() && value.get<std::int64_t>() >= (name == "validated_at" ? -1 : 0);
}

}  // namespace

std::string TrainingState::serialized() const {
    Json object;
    visit(*this, [&](const std::string& name, const auto& field) { put(object[name], field); });
    return sealed_json(object);
}

TrainingState TrainingState::parse(std::string_view text, std::string_view name) {
    TrainingState state;
    // Checked before anything is read from it.
    check(is_sealed_json(text), "{}: the file is damaged or was changed since it was written", name);
    const nlohmann::json object = bounded_json(text);
    visit(state, [&](const std::string& field_name, auto& field) {
        try {
            const nlohmann::json& value = object.at(field_name);
            if constexpr (std::is_same_v<decltype(field), std::int64_t&>)
                check(is_count(value, field_name), "{}: the file is damaged: {} is no count", name, field_name);
            take(value, field);
        } catch (const nlohmann::json::exception&) {
            fail_with("{}: the file is damaged: {} is missing or of another type", name, field_name);
        }
    });
    return state;
}

}  // namespace heddle::app
