// A variational autoencoder (Kingma and Welling 2013): it packs pictures of one bar each into four numbers, and draws new ones.
#include <heddle/heddle.h>

#include <utility>

using namespace heddle;

constexpr std::int64_t side = 6, pixels = side * side, latent = 4;

// [count, pixels]: each row and each column of a picture as a bar, in turn.
Tensor bars(std::int64_t count) {
    Tensor pictures = Tensor::zeros({count, pixels});
    const auto pixel = pictures.mutable_values<float>();
    for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t k = 0; k < side; ++k) {
            const std::int64_t bar = i % (2 * side), at = bar < side ? bar * side + k : k * side + bar - side;
            pixel[static_cast<std::size_t>(i * pixels + at)] = 1;
        }
    return pictures;
}

struct Autoencoder : nn::Module {
    nn::Sequential encoder{*this, "encoder"}, decoder{*this, "decoder"};

    Autoencoder() {
        encoder.add<nn::Linear>(pixels, 64).add(relu).add<nn::Linear>(64, 2 * latent);
        decoder.add<nn::Linear>(latent, 64).add(relu).add<nn::Linear>(64, pixels);
    }

    // The upper bound of -ln p(x) for each picture, in nats; the noise comes from the seed.
    Variable loss(const Tensor& x, std::uint64_t seed) const {
        const auto parts = chunk(encoder(x), 2, -1);
        const Variable &mean = parts[0], &log_variance = parts[1];
        const Variable z = mean + exp(log_variance * 0.5) * Tensor::randn(mean.shape(), seed);
        const Variable divergence =
            sum(exp(log_variance) + square(mean) - 1 - log_variance) * (0.5 / static_cast<double>(x.dim(0)));
        return bce_with_logits(decoder(z), x, {.reduction = Reduction::batch_mean}) + divergence;
    }
};

void show(const Tensor& probabilities) {
    for (std::int64_t i = 0; i < pixels; ++i)
        fmt::print("{}{}", probabilities.values<float>()[static_cast<std::size_t>(i)] > 0.5 ? '#' : '.',
                   i % side == side - 1 ? "\n" : "");
}

int main() {
    Autoencoder model;
    optim::Adam adam(model, {.lr = 5e-3});
    const Tensor pictures = bars(48);
    double nats = 0;
    for (std::uint64_t update = 1; update <= 1500; ++update) {
        adam.zero_grad();
        const Variable loss = model.loss(pictures, update);
        loss.backward();
        adam.step();
        nats += loss.item() / 500;
        if (update % 500 == 0)
            fmt::print("updates up to {}: {:.3f} nats, at best ln 12 = 2.485\n", update, std::exchange(nats, 0));
    }
    const NoGrad no_grad;
    fmt::print("the first picture, packed and unpacked\n");
    show(sigmoid(model.decoder(chunk(model.encoder(bars(1)), 2, -1)[0])).value());
    fmt::print("a new one\n");
    show(sigmoid(model.decoder(Tensor::randn({1, latent}, 3))).value());
}
