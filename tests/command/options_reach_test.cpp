// Each option reaches the model and the optimizer.
#include <gtest/gtest.h>

#include "apps/command/option_rows.h"
#include "apps/command/run.h"
#include "apps/translation/training/learner.h"
#include "tests/command/options_support.h"

namespace heddle::app {
namespace {

TEST(Options, HaveTheStandardTranslatorAsDefault) {
    TrainSettings settings = parsed("");
    resolve(settings.model, settings.vocabulary);
    resolve(settings.training);
    EXPECT_EQ(settings.model.encoder_layers, 3);
    EXPECT_EQ(settings.model.decoder_layers, 3);
    EXPECT_EQ(settings.model.head_dim, 32);
    EXPECT_EQ(settings.model.attention_dropout, 0.2);
    EXPECT_EQ(settings.model.ffn_dropout, 0.2);
    EXPECT_EQ(settings.model.final_norm, true);
    EXPECT_EQ(settings.model.tie, nn::Tie::all);
    EXPECT_EQ(settings.training.epochs, default_epochs);
}

TEST(Options, EachModelOptionReachesTheModel) {
    const auto model_of = [](const std::string& words) {
        TrainSettings settings = parsed(words);
        resolve(settings.model, settings.vocabulary);
        return settings.model.with_vocabularies(100, 200);
    };
    const nn::TransformerOptions all = model_of(
        "--encoder-layers 5 --decoder-layers 2 --d-model 48 --heads 6 --head-dim 9 --key-heads 3 --d-ff 77 --bias false "
        "--dropout 0.11 --attention-dropout 0.12 --ffn-dropout 0.13 --norm post --final-norm --activation gelu --positions "
        "learned "
        "--position-table 33 --tie target --attention-bias --norm-eps 1e-6 --scale-embeddings false --embedding-init xavier");
    EXPECT_EQ(all.source_vocabulary, 100);
    EXPECT_EQ(all.target_vocabulary, 200);
    EXPECT_EQ(all.encoder_layers, 5);
    EXPECT_EQ(all.decoder_layers, 2);
    EXPECT_EQ(all.d_model, 48);
    EXPECT_EQ(all.heads, 6);
    EXPECT_EQ(all.head_dim, 9);
    EXPECT_EQ(all.key_heads, 3);
    EXPECT_EQ(all.d_ff, 77);
    EXPECT_FALSE(all.bias);
    EXPECT_EQ(all.dropout, 0.11);
    EXPECT_EQ(all.attention_dropout, 0.12);
    EXPECT_EQ(all.ffn_dropout, 0.13);
    EXPECT_EQ(all.norm, nn::NormPlace::post);
    EXPECT_EQ(all.final_norm, true);
    EXPECT_EQ(all.activation, ops::Activation::gelu);
    EXPECT_EQ(all.positions, nn::Positions::learned);
    EXPECT_EQ(all.position_table, 33);
    EXPECT_EQ(all.tie, nn::Tie::target);
    EXPECT_EQ(all.attention_bias, true);
    EXPECT_EQ(all.norm_eps, 1e-6);
    EXPECT_FALSE(all.scale_embeddings);
    EXPECT_EQ(all.embedding_init, nn::EmbeddingInit::xavier);
    EXPECT_EQ(all.memory, nn::MemoryFrom::last);

    const nn::TransformerOptions few = model_of("--layers 4 --dropout 0.3 --norm post --activation gelu-tanh");
    EXPECT_EQ(few.encoder_layers, 4);
    EXPECT_EQ(few.decoder_layers, 4);
    EXPECT_EQ(few.head_dim, 32);
    EXPECT_EQ(few.key_heads, std::nullopt) << "as many as heads";
    EXPECT_EQ(few.attention_dropout, 0.3);
    EXPECT_EQ(few.ffn_dropout, 0.3);
    EXPECT_EQ(few.final_norm, false) << "post-norm has none unless asked for";
    EXPECT_EQ(few.activation, ops::Activation::gelu_tanh);
    EXPECT_EQ(few.positions, nn::Positions::sinusoidal);
    EXPECT_EQ(few.tie, nn::Tie::all);
    EXPECT_EQ(model_of("--tie none").tie, nn::Tie::none);
    EXPECT_EQ(model_of("").norm, nn::NormPlace::pre);
}

TEST(Options, EachOptimizerOptionReachesTheOptimizer) {
    const optim::OptimizerOptions all = optimizer_options(
        parsed("--optimizer adamw --momentum 0.7 --adam-betas 0.8 0.95 --adam-eps 1e-7 --weight-decay 0.02").training);
    EXPECT_EQ(all.method, optim::Method::adamw);
    EXPECT_EQ(all.momentum, 0.7);
    EXPECT_EQ(all.beta1, 0.8);
    EXPECT_EQ(all.beta2, 0.95);
    EXPECT_EQ(all.eps, 1e-7);
    EXPECT_EQ(all.weight_decay, 0.02);
    EXPECT_EQ(optimizer_options(parsed("--optimizer sgd").training).method, optim::Method::sgd);
}

}  // namespace
}  // namespace heddle::app
