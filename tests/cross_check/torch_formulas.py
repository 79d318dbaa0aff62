"""The ops of autograd/ops.h as PyTorch computes them: its own function where it has one, else the formula.

Each takes the inputs (None: absent), the step's options and its constants, and returns a list of outputs.
"""
import torch
import torch.nn.functional as F

INFINITY = float("inf")


def kept(value, constants):
    """Times the factors of a dropout, where there is one."""
    return value * constants["kept"].reshape(value.shape) if "kept" in constants else value


def first_maximum(x, options, _):
    axis = options["axis"]
    largest = x.detach().amax(axis, keepdim=True)
    place = (x.detach() == largest).to(torch.uint8).argmax(axis, keepdim=True)
    y = x.gather(axis, place)
    return [y if options["keep"] else y.squeeze(axis)]


def total(inputs, options, _):
    return [inputs[0].sum(options["axis"], keepdim=options["keep"]) if "axis" in options else inputs[0].sum()]


def slice_of(inputs, options, _):
    return [inputs[0].narrow(options["axis"], options["begin"], options["end"] - options["begin"])]


def matmul(inputs, options, _):
    a, b = inputs
    return [(a.mT if options["transpose_a"] else a) @ (b.mT if options["transpose_b"] else b)]


def rows_of(spans, rows, tensor):
    """[rows, ...] with the sentences' results at their rows, zeros elsewhere."""
    parts, at = [], 0
    for (start, length), part in zip(spans, tensor):
        parts += [part.new_zeros((start - at, *part.shape[1:])), part]
        at = start + length
    return torch.cat([*parts, tensor[0].new_zeros((rows - at, *tensor[0].shape[1:]))])


def embedding(inputs, options, constants):
    table, positions = inputs
    tokens = constants["tokens"].long()
    parts = []
    for start, length in options["spans"]:
        part = options["scale"] * F.embedding(tokens[start:start + length], table)
        first = options["first_position"]
        parts.append(part if positions is None else part + positions[first:first + length])
    return [kept(rows_of(options["spans"], len(tokens), parts), constants)]


def softmax_where(scores, allowed):
    """The softmax over the allowed places; zeros in a row without any."""
    some = allowed.any(-1, keepdim=True)
    scores = torch.where(some, scores.masked_fill(~allowed, -INFINITY), torch.zeros_like(scores))
    return torch.where(allowed, F.softmax(scores, -1), torch.zeros_like(scores))


def causal(queries, keys):
    """Aligned to the end: query i sees keys up to i + keys - queries."""
    return torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)


def softmax(inputs, options, constants):
    x = inputs[0] * options.get("scale", 1.0)
    if len(inputs) > 1: x = x + inputs[1]
    allowed = torch.ones(x.shape, dtype=torch.bool)
    if "mask" in constants: allowed = allowed & constants["mask"].bool()
    if options.get("causal"): allowed = allowed & causal(*x.shape[-2:])
    if "lengths" in constants:
        lengths = constants["lengths"].long().reshape(-1, *[1] * (x.dim() - 1))
        allowed = allowed & (torch.arange(x.shape[-1]) < lengths)
    return [F.softmax(x, -1) if allowed.all() else softmax_where(x, allowed)]


def of_sentence(tensor, sentence, heads, queries, keys):
    """The part of a mask or a bias of two to four axes for one sentence, [heads, queries, keys]."""
    if tensor.dim() == 4: tensor = tensor[sentence if tensor.shape[0] > 1 else 0]
    return tensor[..., :queries, :keys].expand(heads, queries, keys)


def attention(inputs, options, constants):
    query, key, value = (inputs[base][:, begin:begin + count] for base, begin, count in options["columns"])
    heads, key_heads = options["heads"], options["key_heads"]

    def by_head(part, count):  # [rows, count * width] to [heads, rows, width]
        return part.unflatten(1, (count, -1)).transpose(0, 1).repeat_interleave(heads // count, 0)

    parts = []
    for sentence, ((q0, queries), (k0, keys)) in enumerate(zip(options["query_spans"], options["key_spans"])):
        q, k, v = by_head(query[q0:q0 + queries], heads), by_head(key[k0:k0 + keys], key_heads), by_head(value[k0:k0 + keys], key_heads)
        allowed = torch.ones(heads, queries, keys, dtype=torch.bool)
        if options["causal"]: allowed = allowed & causal(queries, keys)
        if "mask" in constants:
            mask = constants["mask"].bool()
            if mask.dim() == 3: mask = mask[sentence]
            allowed = allowed & of_sentence(mask, sentence, heads, queries, keys)
        bias = of_sentence(inputs[-1], sentence, heads, queries, keys) if options["biased"] else q.new_zeros(heads, queries, keys)
        if "kept" in constants or not allowed.any(-1).all():
            scale = options.get("scale", q.shape[-1]**-0.5)
            weights = softmax_where(scale * (q @ k.mT) + bias, allowed) if keys else q.new_zeros(heads, queries, keys)
            if "kept" in constants: weights = weights * constants["kept"][sentence, :, :queries, :keys]
            y = weights @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.masked_fill(~allowed, -INFINITY), scale=options.get("scale"))
        parts.append(y.transpose(0, 1).flatten(1))
    return [rows_of(options["query_spans"], len(query), parts)]


def feed_forward(inputs, options, constants):
    x, w1, b1, w2, b2 = inputs
    hidden = F.linear(x, w1, b1)
    hidden = F.relu(hidden) if options["activation"] == "relu" else F.gelu(hidden, approximate=tanh_or_none(options["activation"] != "gelu"))
    return [F.linear(kept(hidden, constants), w2, b2)]


def tanh_or_none(tanh):
    return "tanh" if tanh else "none"


def residual_layer_norm(inputs, options, constants):
    x, sublayer, gamma, beta = inputs
    both = x + kept(sublayer, constants)
    return [both, F.layer_norm(both, gamma.shape, gamma, beta, options["eps"])]


def loss(logits, options, constants):
    targets = constants["targets"].long()
    counted = int((targets != options["ignore"]).sum())
    summed = F.cross_entropy(logits, targets, ignore_index=options["ignore"], label_smoothing=options["label_smoothing"], reduction="sum")
    return [summed / (options["divisor"] or counted or 1)]


FORMULAS = {
    "add": lambda i, o, c: [i[0] + i[1]],
    "sub": lambda i, o, c: [i[0] - i[1]],
    "mul": lambda i, o, c: [i[0] * i[1]],
    "div": lambda i, o, c: [i[0] / i[1]],
    "neg": lambda i, o, c: [-i[0]],
    "exp": lambda i, o, c: [i[0].exp()],
    "log": lambda i, o, c: [i[0].log()],
    "sqrt": lambda i, o, c: [i[0].sqrt()],
    "tanh": lambda i, o, c: [i[0].tanh()],
    "where": lambda i, o, c: [torch.where(c["condition"].bool(), i[0], i[1])],
    "scale": lambda i, o, c: [i[0] * o["factor"]],
    "sum": total,
    "mean": lambda i, o, c: [i[0].mean(o["axis"], keepdim=o["keep"])],
    "max": lambda i, o, c: first_maximum(i[0], o, c),
    "reshape": lambda i, o, c: [i[0].reshape(o["shape"])],
    "permute": lambda i, o, c: [i[0].permute(o["axes"])],
    "slice": slice_of,
    "concat": lambda i, o, c: [torch.cat(i, o["axis"])],
    "gather": lambda i, o, c: [i[0].index_select(0, c["indices"].long())],
    "matmul": matmul,
    "linear": lambda i, o, c: [F.linear(*i)],
    "relu": lambda i, o, c: [F.relu(i[0])],
    "gelu": lambda i, o, c: [F.gelu(i[0], approximate=tanh_or_none(o["tanh_form"]))],
    "dropout": lambda i, o, c: [kept(i[0], c)],
    "residual": lambda i, o, c: [i[0] + kept(i[1], c)],
    "embedding": embedding,
    "softmax": softmax,
    "log_softmax": lambda i, o, c: [F.log_softmax(i[0], -1)],
    "layer_norm": lambda i, o, c: [F.layer_norm(i[0], i[1].shape, i[1], i[2], o["eps"])],
    "residual_layer_norm": residual_layer_norm,
    "attention": attention,
    "feed_forward": feed_forward,
    "cross_entropy": lambda i, o, c: loss(i[0], o, c),
    "linear_cross_entropy": lambda i, o, c: loss(F.linear(*i), o, c),
}
