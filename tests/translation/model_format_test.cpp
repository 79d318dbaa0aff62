// The table of docs/model-format.md names the tensors of every model, with their shapes.
#include <gtest/gtest.h>

#include <map>

#include "nn/transformer.h"
#include "tests/documents.h"

namespace heddle::nn {
namespace {

using Tensors = std::map<std::string, std::string>;  // name to "[2, 3]"

struct Row {
    std::string name, shape, condition;
};

// Parses the rows "| `name` | [shape] | condition |".
std::vector<Row> table() {
    std::istringstream page(project_file("docs/model-format.md"));
    const std::string after_name = "` | [", after_shape = "] | ";
    std::vector<Row> rows;
    for (std::string line; std::getline(page, line);) {
        const std::size_t name = line.find(after_name), shape = line.find(after_shape);
        if (!line.starts_with("| `") || name == line.npos || shape == line.npos) continue;
        rows.push_back({line.substr(3, name - 3), line.substr(name + after_name.size(), shape - name - after_name.size()),
                        line.substr(shape + after_shape.size(), line.size() - 2 - shape - after_shape.size())});
    }
    return rows;
}

/// The options in the page's words.
struct Kind {
    std::string tie = "all", positions = "sinusoidal", norm = "pre";
    bool bias = true, final_norm = true, attention_bias = true, output_bias = true;

    bool holds(const std::string& condition) const {
        if (const std::size_t at = condition.find(" and "); at != std::string::npos)
            return holds(condition.substr(0, at)) && holds(condition.substr(at + 5));
        if (condition == "always") return true;
        if (condition == "bias") return bias;
        if (condition == "attention-bias") return attention_bias;
        if (condition == "output-bias") return output_bias;
        if (condition == "final-norm") return final_norm;
        if (condition.starts_with("positions ")) return condition.substr(10) == positions;
        if (condition.starts_with("tie ")) return (condition.substr(3) + " ").find(" " + tie + " ") != std::string::npos;
        ADD_FAILURE() << "the page has an unknown condition: " << condition;
        return false;
    }

    TransformerOptions options() const {
        TransformerOptions options;
        options.source_vocabulary = tie == "all" || tie == "embeddings" ? 31 : 29;
        options.target_vocabulary = 31;
        options.encoder_layers = 2;
        options.decoder_layers = 3;
        options.d_model = 10;
        options.heads = 2;
        options.head_dim = 7;
        options.key_heads = bias ? 2 : 1;
        options.d_ff = 13;
        options.position_table = 11;
        options.bias = bias;
        options.attention_bias = attention_bias;
        options.output_bias = output_bias;
        options.norm = norm == "pre" ? NormPlace::pre : NormPlace::post;
        options.final_norm = final_norm;
        options.positions = positions == "learned" ? Positions::learned : Positions::sinusoidal;
        options.tie = tie == "all" ? Tie::all : tie == "embeddings" ? Tie::embeddings : tie == "target" ? Tie::target : Tie::none;
        return options;
    }
};

/// "[heads head_dim, d_model]" with numbers for the names.
std::string shape_of(const std::string& text, const TransformerOptions& options) {
    const std::map<std::string, std::int64_t> extents = {{"d_model", options.d_model},
                                                         {"d_ff", options.d_ff},
                                                         {"heads", options.heads},
                                                         {"head_dim", *options.head_dim},
                                                         {"key_heads", *options.key_heads},
                                                         {"position_table", options.position_table},
                                                         {"source_vocabulary", options.source_vocabulary},
                                                         {"target_vocabulary", options.target_vocabulary}};
    std::vector<std::int64_t> shape{1};
    for (std::istringstream words(text); words.good();) {
        std::string word;
        words >> word;
        const bool last = word.ends_with(',');
        shape.back() *= extents.at(word.substr(0, word.size() - (last ? 1 : 0)));
        if (last) shape.push_back(1);
    }
    return Shape(shape).str();
}

/// Expands "a.{b,c}.d" to a.b.d and a.c.d, and N to each layer.
void expand(const std::string& name, const std::string& shape, const TransformerOptions& options, Tensors& tensors) {
    if (const std::size_t open = name.find('{'); open != std::string::npos) {
        const std::size_t close = name.find('}');
        std::istringstream parts(name.substr(open + 1, close - open - 1));
        for (std::string part; std::getline(parts, part, ',');)
            expand(name.substr(0, open) + part + name.substr(close + 1), shape, options, tensors);
    } else if (const std::size_t layer = name.find(".N."); layer != std::string::npos) {
        const std::int64_t layers = *(name.starts_with("encoder") ? options.encoder_layers : options.decoder_layers);
        for (std::int64_t i = 0; i < layers; ++i)
            expand(name.substr(0, layer + 1) + std::to_string(i) + name.substr(layer + 2), shape, options, tensors);
    } else {
        EXPECT_TRUE(tensors.emplace(name, shape).second) << name << " stands twice";
    }
}

Tensors on_the_page(const Kind& kind) {
    const TransformerOptions options = kind.options();
    Tensors tensors;
    for (const Row& row : table())
        if (kind.holds(row.condition)) expand(row.name, shape_of(row.shape, options), options, tensors);
    return tensors;
}

Tensors in_the_model(const Kind& kind) {
    Tensors tensors;
    for (const auto& [name, tensor] : Transformer(kind.options()).named_tensors()) tensors[name] = tensor.shape().str();
    return tensors;
}

TEST(ModelFormatPage, NamesTheTensorsOfEveryModel) {
    EXPECT_EQ(table().size(), 25u);
    for (const char* tie : {"all", "embeddings", "target", "none"})
        for (const char* positions : {"sinusoidal", "learned"})
            for (const char* norm : {"pre", "post"})
                for (const bool bias : {true, false})
                    for (const bool final_norm : {true, false}) {
                        const Kind kind{tie, positions, norm, bias, final_norm, !bias, final_norm != bias};
                        EXPECT_EQ(on_the_page(kind), in_the_model(kind)) << tie << " " << positions << " " << norm << " " << bias;
                        const Kind usual{tie, positions, norm, bias, final_norm, bias, bias};
                        EXPECT_EQ(on_the_page(usual), in_the_model(usual))
                            << tie << " " << positions << " " << norm << " " << bias;
                    }
}

}  // namespace
}  // namespace heddle::nn
