// What the scripts of an explain page share: the data, elements and words that know no version. They are classic scripts, one after
// the other: explain_base.js, explain_pictures.js, explain_viewer.js, explain.js.
'use strict';
const given = JSON.parse(document.getElementById('explain-data').textContent);
const versions = given.beside ?? [given];
const place = document.getElementById('explain');
place.replaceChildren();
place.tabIndex = 0;
place.setAttribute('aria-label', 'steps of a warp: arrow keys left and right for steps, up and down for warps');

// ---- elements and words that know no version

function make(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
        if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
        else if (value !== false) made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
}
const reads = one => ['read', 'copy-read', 'atomic'].includes(one.action);
const is_access = one => one.memory !== undefined;
const bits = mask => Array.from({length: 32}, (_, i) => mask >>> i & 1).reduce((a, b) => a + b);
const plural = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`;
const color = name => getComputedStyle(place).getPropertyValue(name).trim();
// What is done at a step, which chooses its colour; `kinds`: in words, for the key.
const kind_of = one => !is_access(one) ? one.action === 'barrier' ? 'stops' : 'meets' : reads(one) ? 'reads' : 'writes';
const kinds = {reads: 'read', writes: 'write', meets: 'collective of a warp, or wait for copies', stops: 'barrier of a block'};
const kind_colors = {reads: '--read', writes: '--write', meets: '--other', stops: '--stop', '': '--soft'};
const main_color = one => color(kind_colors[kind_of(one)]);
const button = (text, label, onclick) => make('button', {type: 'button', 'aria-label': label, onclick}, text);
function paper(canvas, width, height) {
    const scale = Math.max(1, window.devicePixelRatio || 1);
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = width + 'px';
    canvas.style.height = height + 'px';
    const pen = canvas.getContext('2d');
    pen.scale(scale, scale);
    pen.font = '11px system-ui, sans-serif';
    return pen;
}
// The active lanes of an access: where each is, and what it reads or writes.
function lanes_of(one) {
    const lanes = [];
    for (let lane = 0; lane < 32; ++lane) {
        if ((one.lanes >>> lane & 1) === 0) continue;
        const number = lanes.length;
        const offset = one.offsets ? one.offsets[number] : one.offset + one.stride * (lane - (lanes[0]?.lane ?? lane));
        lanes.push({lane, offset, tensor: one.tensors ? one.tensors[number] : one.tensor, value: one.values?.[number]});
    }
    return lanes;
}
const keywords = /\b(?:template|class|const|constexpr|auto|int|float|double|void|bool|unsigned|for|if|else|return|while|using|namespace|struct|static|true|false|__global__|__device__|__forceinline__|__syncthreads|__syncwarp)\b/g;
function coloured(line, text) {
    const comment = text.indexOf('//');
    const code = comment < 0 ? text : text.slice(0, comment);
    let done = 0;
    for (const match of code.matchAll(keywords)) {
        line.append(code.slice(done, match.index), make('b', {}, match[0]));
        done = match.index + match[0].length;
    }
    line.append(code.slice(done));
    if (comment >= 0) line.append(make('i', {}, text.slice(comment)));
}

// Tensor cores: which lane has an element. Each picture is a matrix [rows, cols] and the lane of (row, col).
const tensor_core_pictures = {
    mma_bf16: [['A, 16 rows of 16', 16, 16, (row, col) => row % 8 * 4 + col % 8 / 2],
               ['B, 16 rows of 8', 16, 8, (row, col) => col * 4 + row % 8 / 2],
               ['C and D, 16 rows of 8', 16, 8, (row, col) => row % 8 * 4 + col / 2]],
    mma_tf32: [['A, 16 rows of 8', 16, 8, (row, col) => row % 8 * 4 + col % 4], ['B, 8 rows of 8', 8, 8, (row, col) => col * 4 + row % 4],
               ['C and D, 16 rows of 8', 16, 8, (row, col) => row % 8 * 4 + col / 2]],
    ldmatrix_x4: [0, 1, 2, 3].map(i => [`matrix ${i}: row r comes from lane ${8 * i} + r`, 8, 8, (row, col) => row * 4 + col / 2]),
    ldmatrix_x4_trans: [0, 1, 2, 3].map(i => [`matrix ${i}: row r comes from lane ${8 * i} + r`, 8, 8, (row, col) => col * 4 + row / 2]),
};
