#!/usr/bin/env bash
# Writes the pages of docs/explained into FOLDER, and the pictures of the chapters into KERNELS/<op>:
#     bash docs/make-explained.sh PROGRAM docs/explained kernels
# A test compares both with what comes out.
set -euo pipefail
program=$1 folder=$2 kernels=$3
mkdir -p "$folder"

# keep PAGE WORDS...: the page that heddle explain WORDS... makes. The pages share explain.js and explain.css.
keep() {
  "$program" explain "${@:2}" --kilobytes 160 --shared-scripts --out "$folder/$1.html" >/dev/null
}

keep coalescing --beside softmax-naive softmax-warp --shape 16,40
keep barriers softmax-block --shape 2,128
keep transpose --beside permute-tile permute-padding --shape 32,32
keep bank-conflicts attention-tiles --shape 32,32
keep tensor-cores matmul-tensor-cores --shape 32,32,64

# draw OP/PICTURE EXAMPLE SHAPE STEPS: the steps that the op's chapter is about, in KERNELS/OP/PICTURE.svg.
draw() {
  mkdir -p "$kernels/${1%/*}"
  "$program" explain "$2" --shape "$3" --picture "$4" --out "$kernels/$1.svg" >/dev/null
}

draw activation/activation gelu-backward 2,64 "read dy, read x, write dx"
draw adam/adam adam 128 "read gradients, read parameters, read m, read v, write m, write v, write parameters"
draw attention/attention attention 16,32 "copy-read key, copy-write shared, read shared, write output, warps"
draw attention/attention_mma attention-bf16 16,32 "copy-read query, copy-write shared, read shared, write shared, write output"
draw beam_step/beam_step beam-step 2,4 "read values, read ids, write parents, write tokens, warps"
draw cache_table/cache_table cache-table 4,32 "read parents, read table, write y"
draw cast/cast cast 2,64 "read x, write y"
draw concat/concat concat 2,64 "read a, write y"
draw cross_entropy/cross_entropy cross-entropy-backward 4,64 "read logits 2, write shared 33, read shared 33, write dlogits, warps 2"
draw dropout/dropout dropout 4,64 "read x, write y, warps"
draw elementwise/elementwise add 4,32 "read a, read b, write y"
draw embedding/embedding embedding 4,64 "read tokens 3, read table 3, read positions 3, write y 3"
draw feed_forward/feed_forward feed-forward 16,32,64 "copy-read x, copy-write shared, read shared, write shared, write y, warps"
draw few_rows/few_rows few-rows 4,32,64 "read x, write shared, read shared, read weight, write y, warps"
draw gather/gather gather-backward 8,32 "read dy, read dy 2, read dy 3, write dx, warps 3, warps 4"
draw gradient_norm/gradient_norm gradient-norm 2048 "read gradients, write shared, read shared, warps"
draw layer_norm/layer_norm layer-norm 4,64 "read x, read gamma, write y, write mean, warps"
draw linear/linear linear-backward-bias 64,64 "read dy, write shared, read shared, warps"
draw linear_cross_entropy/linear_cross_entropy linear-cross-entropy 8,64,16 "read workspace 2, write shared 33, read shared 33, write workspace 6, warps 2"
draw log_softmax/log_softmax log-softmax 4,64 "read x, write y, warps"
draw matmul/matmul_naive matmul-naive 16,32,16 "read a, read b, write c"
draw matmul/matmul matmul-tensor-cores 64,64,64 "copy-read a, copy-write shared, read shared, write c"
draw mean_probability/mean_probability mean-probability 4,64 "read first, write workspace, read workspace, write y, warps 3"
draw permute/permute permute 32,32 "read x, write shared, read shared, write y"
draw reduce/reduce sum-columns 16,64 "read x, write shared, read shared, write y, warps"
draw residual/residual residual 4,64 "read x, read sublayer, write y, warps"
draw slice/slice slice 4,64 "read x, write y"
draw softmax/softmax_naive softmax-naive 32,64 "read x"
draw softmax/softmax softmax 4,64 "read x, write y, warps"
draw target_log_probability/target_log_probability target-log-probability 4,64 "read targets, read logits, write y, warps"
draw top_k/top_k top-k 2,256 "read logits, write shared 3, read shared 3, write values, warps"
draw update_tally/update_tally update-tally 1 "read statistics, write tally, read measured, warps, warps 2"
