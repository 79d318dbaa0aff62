#include "apps/translation/training/history.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/translation/run/json.h"
#include "core/file.h"

namespace heddle::app {
namespace {

double number(const nlohmann::json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_number() ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::int64_t whole(const nlohmann::json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::string text(const nlohmann::json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

IntervalReport interval(const nlohmann::json& object) {
    return {.epoch = whole(object, "epoch"),
            .update = whole(object, "update"),
            .sentences = whole(object, "sentences"),
            .loss = number(object, "loss"),
            .accuracy = number(object, "accuracy"),
            .loading = number(object, "loading_seconds"),
            .step = number(object, "step_seconds"),
            .tokens_per_second = number(object, "tokens_per_second"),
            .gradient_norm = number(object, "gradient_norm"),
            .learning_rate = number(object, "learning_rate"),
            .elapsed = number(object, "seconds"),
            .eta = number(object, "eta")};
}

ValidationReport validation(const nlohmann::json& object) {
    ValidationReport report;
    report.epoch = whole(object, "epoch");
    report.update = whole(object, "update");
    report.loss = number(object, "loss");
    report.perplexity = number(object, "perplexity");
    report.accuracy = number(object, "accuracy");
    if (object.contains("bits_per_byte")) report.bits_per_byte = number(object, "bits_per_byte");
    if (object.contains("bleu")) report.bleu = number(object, "bleu");
    report.bleu_applies = object.value("bleu_applies", nlohmann::json()) != false;
    report.tokenizer = value_of<Tokenizer>(text(object, "bleu_tokenizer")).value_or(Tokenizer::mteval_13a);
    if (object.contains("chrf")) report.chrf = number(object, "chrf");
    report.translated = whole(object, "translated");
    report.exact = whole(object, "exact");
    report.averaged = text(object, "kind") == "average" ? 1 : 0;
    for (const nlohmann::json& sample : object.value("samples", nlohmann::json::array()))
        report.samples.push_back({text(sample, "source"), text(sample, "reference"), text(sample, "translation")});
    return report;
}

}  // namespace

TrainingHistory read_history(const std::filesystem::path& log) {
    TrainingHistory history;
    std::istringstream lines(read_regular_file(log));
    for (std::string line; std::getline(lines, line);) {
        const nlohmann::json object = bounded_json(line);
        if (!object.is_object()) continue;
        const std::string kind = text(object, "kind");
        if (kind == "training") history.intervals.push_back(interval(object));
        if (kind == "validation" || kind == "average") history.validations.push_back(validation(object));
        if (kind == "note") history.notes.push_back(text(object, "text"));
    }
    return history;
}

}  // namespace heddle::app
