#include "nn/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "autograd/tape.h"
#include "core/format.h"
#include "core/random.h"
#include "core/storage.h"

namespace heddle::nn {
namespace {

void add_rows(const Module& module, int depth, std::vector<SummaryRow>& rows) {
    SummaryRow row{.module = module.name(), .kind = std::string(module.kind()), .depth = depth};
    for (const Parameter& parameter : module.own_parameters()) {
        const std::string_view part =
            std::string_view(parameter.name).substr(module.name().empty() ? 0 : module.name().size() + 1);
        row.weights += fmt::format("{}{} {}", row.weights.empty() ? "" : ", ", part, parameter.variable.shape());
    }
    row.parameters = module.parameter_count();
    row.trained = module.trainable_count();
    rows.push_back(std::move(row));
    for (const Module* child : module.children()) add_rows(*child, depth + 1, rows);
}

Sentences sentences(std::int64_t count, std::int64_t length, std::int64_t vocabulary) {
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < count * length; ++i) tokens.push_back(static_cast<std::int32_t>(i % vocabulary));
    return {Tensor::from(tokens, {count * length}), Spans::equal(count, length)};
}

std::string parts_of(const Module& model) {
    std::string names;
    for (const Module* child : model.children()) names += (names.empty() ? "" : ", ") + child->name();
    return names;
}

void evaluate(const Transformer& model, const Sentences& source, const Sentences& target) {
    const NoGrad no_grad;
    const Variable memory = model.encode(source.tokens, source.spans);
    model.generator(model.decode(target.tokens, target.spans, memory, source.spans));
}

/// While one exists, backward adds to temporary gradients. Then the gradients and every module's mode are restored.
class Visit {
  public:
    explicit Visit(Module& model) : parameters_(model.parameters()) {
        note_modes(model);
        for (const auto& [name, variable, slices] : parameters_) {
            const DType dtype = variable.dtype() == DType::bf16 ? DType::f32 : variable.dtype();
            gradients_.push_back(Tensor::zeros(variable.shape(), dtype, variable.value().device()));
        }
        exchange_gradients();
    }
    ~Visit() {
        exchange_gradients();
        for (const auto& [module, training] : modes_) module->train(training);  // parents first: they set their children's
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

  private:
    void note_modes(Module& module) {
        modes_.emplace_back(&module, module.training());
        for (Module* child : module.children()) note_modes(*child);
    }
    void exchange_gradients() {
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            const Tensor other = parameters_[i].variable.grad();
            parameters_[i].variable.set_grad(std::exchange(gradients_[i], other));
        }
    }

    std::vector<Parameter> parameters_;
    std::vector<Tensor> gradients_;  // the module's own, not in use meanwhile
    std::vector<std::pair<Module*, bool>> modes_;
};

}  // namespace

std::vector<SummaryRow> summary(const Module& module) {
    std::vector<SummaryRow> rows;
    add_rows(module, 0, rows);
    return rows;
}

Part part_of(const Module& model, const std::string& name) {
    Part part(name);
    const std::vector<SummaryRow> rows = summary(model);
    check(std::any_of(rows.begin(), rows.end(), [&](const SummaryRow& row) { return part.has(row.module); }),
          "summary: the model has no module '{}'; its parts are {}", name, parts_of(model));
    return part;
}

ModelSummary summarize(Transformer& model, const SummaryBatch& batch, const std::string& part_name) {
    check(batch.sentences > 0 && batch.source > 0 && batch.target > 0,
          "summary: a batch of {} sentences of {} and {} tokens, wanted at least one of each", batch.sentences, batch.source,
          batch.target);
    const Part part = part_of(model, part_name);
    ModelSummary result{.rows = summary(model), .total = {.module = part_name, .kind = "total"}};
    std::erase_if(result.rows, [&](const SummaryRow& row) { return !part.has(row.module); });
    for (const Parameter& parameter : model.parameters()) {
        if (!part.has(parameter.name)) continue;
        result.total.parameters += parameter.variable.value().numel();
        if (parameter.variable.requires_grad()) result.total.trained += parameter.variable.value().numel();
    }
    const std::int64_t source_length = model.options().decoder_only ? 0 : batch.source;
    const Sentences source = sentences(batch.sentences, source_length, model.options().source_vocabulary);
    const Sentences target = sentences(batch.sentences, batch.target, model.options().target_vocabulary);
    const Visit visit(model);
    const RandomState random{Generator()};
    model.eval();
    {
        const Trace trace(model);
        evaluate(model, source, target);
        for (SummaryRow& row : result.rows) row.forward = trace.of(Part(row.module));
        result.total.forward = trace.of(part);
    }
    model.train();
    {
        const Trace trace(model);
        const std::int64_t before = memory_statistics(model.device()).in_use;
        const Variable loss = model.loss(source, target, target.tokens);
        for (SummaryRow& row : result.rows) row.training = trace.of(Part(row.module));
        result.total.training = trace.of(part);
        result.held = memory_statistics(model.device()).in_use - before;
        reset_peak_memory(model.device());
        if (loss.requires_grad()) backward(loss);
        result.peak = memory_statistics(model.device()).peak - before;
    }
    return result;
}

ListedSummary listed(const ModuleTrace& forward, std::int64_t parameters, std::int64_t first) {
    constexpr std::int64_t id_bytes = 8, number_bytes = 4, and_gradient = 2;
    ListedSummary listed;
    listed.multiply_adds = forward.listed_adds * first;
    listed.input_bytes = forward.input_bytes + forward.tokens * id_bytes;
    listed.activation_bytes = forward.listed_bytes * and_gradient;
    listed.parameter_bytes = parameters * number_bytes;
    return listed;
}

}  // namespace heddle::nn
