/* generator: heddle */

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
function paper(canvas, width, height, least_scale = 1) {
    const scale = Math.max(least_scale, window.devicePixelRatio || 1);
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

'use strict';
// Pictures of collectives, the cells of the lanes, and a sheet that a step is drawn on to be saved. `paper(width, height)` gives the
// pen of a canvas or of a sheet.

// The matrices of a tensor-core instruction: in each element the lane that has it, filled for the lane that is pointed at.
function draw_fragments(paper, room, what, chosen_lane) {
    const all = tensor_core_pictures[what], cell = Math.max(11, Math.min(18, Math.floor(room / 16) - 1)), high = 13;
    const wide = all.map(([, , cols]) => cols * cell + 12);
    let lines = 1, used = 0;
    const at_x = [], at_line = [];
    wide.forEach((width, i) => {
        if (used > 0 && used + width > room) [used, lines] = [0, lines + 1];
        [at_x[i], at_line[i]] = [used, lines - 1];
        used += width;
    });
    const tall = Math.max(...all.map(([, rows]) => rows)) * high + 22;
    const pen = paper(Math.max(room, ...wide), lines * tall);
    pen.font = '9px system-ui, sans-serif';
    all.forEach(([, rows, cols, lane_of], i) => {
        const x = at_x[i], y = at_line[i] * tall + 14;
        pen.fillStyle = getComputedStyle(place).color;
        pen.fillText(what.startsWith('mma') ? 'A B D'.split(' ')[i] : `matrix ${i}`, x, y - 3);
        for (let row = 0; row < rows; ++row)
            for (let col = 0; col < cols; ++col) {
                const lane = Math.floor(lane_of(row, col)), here = lane === chosen_lane;
                pen.fillStyle = here ? color('--other') : color('--soft');
                pen.fillRect(x + col * cell, y + row * high, cell - 1, high - 1);
                pen.fillStyle = here ? color('--text') : getComputedStyle(place).color;
                pen.fillText(lane, x + col * cell + 1, y + row * high + 9);
            }
    });
    return `${all.map(one => one[0]).join('; ')}. A number is the lane that has the element; point at a lane to see its own.`;
}

// What the lanes of a collective give and have after it, by lane.
function exchanged(one) {
    const lanes = one?.before ? [...Array(32).keys()].filter(lane => one.lanes >>> lane & 1) : [];
    const given = new Map(lanes.map((lane, i) => [lane, one.before[i]]));
    return new Map(lanes.map((lane, i) => [lane, {before: given.get(lane), from: one.from?.[i], after: one.after?.[i] ?? given.get(one.from[i]) ?? '?'}]));
}
function said_of_exchange(one, lane) {
    const {before, from, after} = exchanged(one).get(lane);
    return `lane ${lane}: gives ${before}, has ${after} after it` + (from === undefined ? '' : from < 0 ? ', from no lane' : from === lane ? ', its own' : `, from lane ${from}`);
}
// What stands in the cell of each lane: its value, or what it gives and has.
function cells_of(one) {
    const values = new Map(one && is_access(one) ? lanes_of(one).map(entry => [entry.lane, (entry.value ?? '').split(' ')[0]]) : []), moved = exchanged(one);
    return [...Array(32).keys()].map(lane => {
        const active = one && (one.lanes >>> lane & 1) === 1, pair = moved.get(lane);
        const lines = !one?.before ? [values.get(lane) ?? ''] : !pair ? [''] : [pair.before, pair.after, ...(pair.from >= 0 ? [`\u2190 ${pair.from}`] : [])];
        return {kind: active ? kind_of(one) : '', lines};
    });
}
// A shuffle: a line from each lane to the one that has its value after it.
function draw_exchange(paper, room, one, chosen_lane) {
    const cell = Math.max(7, Math.min(22, Math.floor(room / 32))), high = 14, below = 92;
    const pen = paper(32 * cell, below + high + 14);
    const ink = getComputedStyle(place).color;
    const line = (from, to, here) => {
        [pen.strokeStyle, pen.lineWidth, pen.globalAlpha] = [here ? color('--other') : ink, here ? 3 : 1, here ? 1 : .45];
        pen.beginPath();
        pen.moveTo((from + .5) * cell, high + 12);
        pen.lineTo((to + .5) * cell, below);
        pen.stroke();
        pen.globalAlpha = 1;
    };
    const all = [...exchanged(one)];
    for (const [lane, {from}] of all) if (from >= 0 && lane !== chosen_lane) line(from, lane, false);
    for (const [lane, {from}] of all) if (from >= 0 && lane === chosen_lane) line(from, lane, true);
    pen.font = '9px system-ui, sans-serif';
    pen.fillStyle = ink;
    pen.fillText('before', 0, 9);
    pen.fillText('after', 0, below + high + 11);
    for (const [top, named] of [[12, exchanged(one).get(chosen_lane)?.from], [below, chosen_lane]])
        for (let lane = 0; lane < 32; ++lane) {
            const active = one.lanes >>> lane & 1;
            pen.fillStyle = color(!active ? '--soft' : '--other');
            pen.globalAlpha = active && lane !== named ? .75 : 1;
            pen.fillRect(lane * cell, top, cell - 1, high - 1);
            pen.globalAlpha = 1;
            pen.fillStyle = active ? color('--text') : ink;
            if (cell > 11) pen.fillText(lane, lane * cell + (cell - (lane < 10 ? 5 : 10)) / 2, top + 10);
        }
    return 'Each lane above gives a value; a line leads to the lane that has it after. Point at a lane to see its own.';
}

// A sheet takes what a canvas's pen takes (rectangles, lines, text), and becomes an SVG or is drawn again on a canvas.
class Sheet {
    constructor(width) {
        Object.assign(this, {width, y: 8, shapes: [], at: [0, 0], globalAlpha: 1, lineWidth: 1, font: '11px', fillStyle: '', strokeStyle: '', path: []});
    }
    fillRect(x, y, width, height) { this.shapes.push({x: x + this.at[0], y: y + this.at[1], width, height, fill: this.fillStyle, alpha: this.globalAlpha}); }
    strokeRect(x, y, width, height) { this.shapes.push({x: x + this.at[0], y: y + this.at[1], width, height, stroke: this.strokeStyle, line: this.lineWidth}); }
    fillText(text, x, y) {
        this.shapes.push({text: String(text), x: x + this.at[0], y: y + this.at[1], size: parseFloat(/([\d.]+)px/.exec(this.font)[1]), bold: this.font.startsWith('bold'), fill: this.fillStyle});
    }
    beginPath() { this.path = []; }
    moveTo(x, y) { this.path = [x + this.at[0], y + this.at[1]]; }
    lineTo(x, y) { this.shapes.push({from: this.path, to: [x + this.at[0], y + this.at[1]], stroke: this.strokeStyle, line: this.lineWidth, alpha: this.globalAlpha}); }
    stroke() {}
    // Text in lines that fit.
    words(text, size, bold = false) {
        this.font = `${bold ? 'bold ' : ''}${size}px`;
        this.fillStyle = getComputedStyle(place).color;
        const most = Math.floor((this.width - 16) / size / .56);
        for (let rest = text; rest;) {
            const space = rest.lastIndexOf(' ', most), end = rest.length <= most ? rest.length : space > most / 2 ? space : most;
            this.fillText(rest.slice(0, end), 8, this.y += size + 3);
            rest = rest.slice(end).trimStart();
        }
        this.y += 4;
    }
    cells(cells) {
        const wide = (this.width - 16) / 8, high = 16 + 11 * Math.max(...cells.map(one => one.lines.length));
        cells.forEach(({kind, lines}, lane) => {
            const x = 8 + lane % 8 * wide, y = this.y + Math.floor(lane / 8) * (high + 2);
            this.fillStyle = color(kind_colors[kind]);
            this.fillRect(x, y, wide - 2, high);
            this.fillStyle = kind ? color('--text') : getComputedStyle(place).color;
            [String(lane), ...lines].forEach((line, i) => (this.font = '10px', line && this.fillText(line, x + 5, y + 11 + 11 * i)));
        });
        this.y += 4 * (high + 2) + 6;
    }
    // Room for a picture, whose coordinates begin there.
    room(width, height) {
        this.at = [8, this.y];
        this.font = '11px';
        this.y += height;
        return this;
    }
    end_room() { this.at = [0, 0]; }
    svg() {  // the page itself holds no address: the name of the language is put together
        const escaped = text => text.replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`), n = x => Math.round(100 * x) / 100;
        const shape = one => one.text !== undefined
            ? `<text x="${n(one.x)}" y="${n(one.y)}" font-size="${one.size}" fill="${one.fill}"${one.bold ? ' font-weight="bold"' : ''}>${escaped(one.text)}</text>`
            : one.from ? `<path d="M${one.from.map(n)}L${one.to.map(n)}" stroke="${one.stroke}" stroke-width="${one.line}" opacity="${one.alpha}"/>`
            : `<rect x="${n(one.x)}" y="${n(one.y)}" width="${n(one.width)}" height="${n(one.height)}" ` +
              (one.stroke ? `fill="none" stroke="${one.stroke}" stroke-width="${one.line}"/>` : `fill="${one.fill}"${one.alpha < 1 ? ` opacity="${one.alpha}"` : ''}/>`);
        const height = Math.ceil(this.y + 8);
        return `<svg xmlns="${['http', '//www.w3.org/2000/svg'].join(':')}" width="${this.width}" height="${height}" viewBox="0 0 ${this.width} ${height}" font-family="system-ui, sans-serif">\n` +
            `<rect width="100%" height="100%" fill="${color('--page')}"/>\n${this.shapes.map(shape).join('\n')}\n</svg>\n`;
    }
    canvas() {
        const canvas = make('canvas', {}), pen = paper(canvas, this.width, Math.ceil(this.y + 8), 2);
        pen.fillStyle = color('--page');
        pen.fillRect(0, 0, this.width, this.y + 8);
        for (const one of this.shapes) {
            [pen.globalAlpha, pen.fillStyle, pen.strokeStyle, pen.lineWidth] = [one.alpha ?? 1, one.fill ?? '', one.stroke ?? '', one.line ?? 1];
            if (one.text !== undefined) pen.font = `${one.bold ? 'bold ' : ''}${one.size}px system-ui, sans-serif`, pen.fillText(one.text, one.x, one.y);
            else if (one.from) pen.beginPath(), pen.moveTo(...one.from), pen.lineTo(...one.to), pen.stroke();
            else if (one.stroke) pen.strokeRect(one.x, one.y, one.width, one.height);
            else pen.fillRect(one.x, one.y, one.width, one.height);
        }
        return canvas;
    }
}
// Gives the reader a file.
function save(name, blob) {
    const link = make('a', {href: URL.createObjectURL(blob), download: name});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

'use strict';
// One version of a kernel: its views below `root`. shared: another slider moves it; then it has none of its own, and its steps are
// those of all its launches, one after the other.
function viewer(data, root, shared, moved) {
const at = {launch: 0, warp: 0, step: 0, lane: -1};
const launch = () => data.launches[at.launch];
const warp = () => launch().warps[at.warp];
const steps = () => warp() ? warp().steps : [];
const step = () => steps()[at.step];
const site = () => launch().sites[step().site];

// ---- what is shown, as words

function element(lane, one) {
    if (one.memory === 'shared') {
        const piece = launch().pieces?.findLast(piece => lane.offset >= piece.start), bank = Math.floor(lane.offset / 4) % 32;
        const named = piece ? `${piece.name}[${Math.floor((lane.offset - piece.start) / piece.element_bytes)}], ` : '';
        return `${named}shared memory, byte ${lane.offset} (bank ${bank})`;
    }
    const tensor = data.tensors[lane.tensor];
    if (!tensor) return `workspace, byte ${lane.offset}`;
    let rest = Math.floor(lane.offset / tensor.element_bytes);
    const count = Math.max(1, Math.floor(one.bytes / tensor.element_bytes));
    const index = [];
    for (let axis = tensor.shape.length - 1; axis >= 0; --axis) {
        index.unshift(axis === 0 ? rest : rest % tensor.shape[axis]);  // past the end, the first index exceeds its extent
        rest = Math.floor(rest / tensor.shape[axis]);
    }
    if (index.length === 0) return tensor.name;
    const last = index.length - 1, names = index.length === 2 ? ['row ', 'col '] : index.map(() => '');
    return `${tensor.name}[${index.map((n, i) => names[i] + n + (i === last && count > 1 ? `..${n + count - 1}` : '')).join(', ')}]`;
}
function sentence(one) {
    const what = launch().sites[one.site].what, missing = bits(all_lanes()) - bits(one.lanes);
    const absent = missing > 0 ? ` ${plural(missing, 'lane')} of the warp ${missing === 1 ? 'takes' : 'take'} no part.` : '';
    if (one.action === 'barrier') return `${what}, a barrier: the warps of the block meet here. No thread passes before all have come.${absent}`;
    if (what?.startsWith('mma')) return `${what}: the warp multiplies two matrices and adds the product to a third, all in its registers.${absent}`;
    if (what?.startsWith('ldmatrix')) return `${what}: the warp takes four matrices of 8 x 8 numbers of 2 bytes from shared memory, a row a lane.${absent}`;
    if (what === '__syncwarp') return `${what}, a collective: the lanes of the warp wait for each other; they exchange nothing.${absent}`;
    if (one.action === 'collective')
        return `${what}, a collective: the lanes of the warp exchange values.` +
            (one.from ? ' Each shows what it gives and what it has after it, ← with the lane that gave that.'
                : one.before ? ' Each shows what it gives and what it has after it.' : '') + absent;
    if (one.action === 'commit') return 'Closes a group of asynchronous copies.';
    if (one.action === 'wait') return `Waits for asynchronous copies: at most ${plural(one.pending, 'group')} may still be in flight.`;
    const verb = {read: 'reads', write: 'writes', atomic: 'updates atomically', 'copy-read': 'starts asynchronous copies from',
                  'copy-write': 'starts asynchronous copies to'}[one.action];
    const first = lanes_of(one)[0];
    const place = one.memory === 'shared' ? 'shared memory' : data.tensors[first.tensor]?.name ?? 'a workspace';
    const size = `${plural(one.bytes, 'byte')} a lane`;
    if (one.memory === 'shared') {
        const conflict = one.degree > 1 ? `a ${one.degree}-way bank conflict` : 'no bank conflict';
        return `The warp ${verb} ${place}, ${size}: ${plural(one.cycles, 'cycle')} of the banks, at least ${one.parts}; ${conflict}.${absent}`;
    }
    const moved = 32 * one.sectors;
    return `The warp ${verb} ${place}, ${size}: ${one.needed} bytes needed, ${moved} moved in ${plural(one.sectors, 'sector')}` +
        ` of 32 (${Math.round(1000 * one.needed / moved) / 10} % used).${absent}`;
}
function all_lanes() {
    const [x, y, z] = launch().block, rest = x * y * z - 32 * warp().warp;
    return rest >= 32 ? 0xffffffff : 2 ** rest - 1;
}

// ---- elements

const bar = root.appendChild(make('div', {class: 'bar'}));
const choose_launch = make('select', {onchange: () => go({launch: choose_launch.selectedIndex, warp: 0, step: 0})});
const choose_warp = make('select', {onchange: () => go({warp: choose_warp.selectedIndex, step: 0})});
const slider = make('input', {type: 'range', min: 0, oninput: () => go({step: Number(slider.value)})});
const count = make('span', {});
bar.append(make('label', {}, 'kernel', choose_launch), make('label', {}, 'block and warp', choose_warp));
if (shared) bar.append(count);
else bar.append(button('◀', 'one step back', () => go({step: at.step - 1})), button('▶', 'one step on', () => go({step: at.step + 1})),
                make('label', {}, count, slider));
const found = data.finding && finding_view(data, one => show_access(one));
if (found) root.append(found.panel);
const note = root.appendChild(make('p', {class: 'said note'}));
const timeline_box = root.appendChild(make('div', {class: 'scroll'}));
const timeline = timeline_box.appendChild(make('canvas', {role: 'img', onclick: event => click_timeline(event)}));
const split = root.appendChild(make('div', {class: 'split'}));
const left = split.appendChild(make('div', {})), right = split.appendChild(make('div', {}));
const file_name = left.appendChild(make('p', {class: 'file'}));
const source = left.appendChild(make('pre', {class: 'source', tabindex: 0, 'aria-label': 'source'}));
const now = right.appendChild(make('p', {class: 'now', 'aria-live': 'polite'}));
const flight = right.appendChild(make('p', {class: 'flight'}));
const lane_grid = right.appendChild(make('div', {class: 'lanes', role: 'group', 'aria-label': 'lanes'}));
const said = right.appendChild(make('p', {class: 'said'}));
const picture = right.appendChild(make('canvas', {role: 'img'}));
const legend = right.appendChild(make('p', {class: 'said'}));
const lane_buttons = Array.from({length: 32}, (_, lane) => lane_grid.appendChild(make('button', {
    type: 'button', onmouseenter: () => say_lane(lane), onfocus: () => say_lane(lane), onclick: () => say_lane(lane)})));

// ---- source

let shown_file = '';
function show_source(file, number) {
    if (file !== shown_file) {
        shown_file = file;
        const used = new Set(launch().lines.filter(one => one.file === file).map(one => one.line));
        source.replaceChildren(...(data.sources[file] ?? '').split('\n').map((text, i) => {
            const line = make('span', {class: used.has(i + 1) ? 'line used' : 'line', 'data-n': i + 1});
            const indent = Math.min(16, text.search(/\S|$/));  // a line that wraps goes on behind its own indent
            line.style.setProperty('--indent', `${indent + 2}ch`);
            coloured(line, ' '.repeat(indent) + text.trimStart());
            line.append('\u200b');
            return line;
        }));
        found?.mark(source.children, file);
    }
    file_name.textContent = file ? `${file}, line ${number}` : 'no source line is known here';
    for (const line of source.querySelectorAll('.here')) line.classList.remove('here');
    const line = source.children[number - 1];
    if (!line) return;
    line.classList.add('here');
    const top = line.offsetTop - source.offsetTop;
    if (top < source.scrollTop + 20 || top > source.scrollTop + source.clientHeight - 60) source.scrollTop = top - source.clientHeight / 3;
}

// ---- pictures

let surface = paper, sheet_room = 0;  // where pictures are drawn: on the page, or on a sheet that is saved
const room = () => sheet_room || Math.max(240, right.clientWidth);

// Of the lanes whose access is that of a mistake.
function wrong_lanes(one) {
    const wrong = new Set(found?.at_step(at.launch, warp(), at.step).map(i => found.accesses[i].lane));
    return lanes_of(one).filter(({lane}) => wrong.has(lane));
}
function ring(pen, x, y, width, height) {
    pen.strokeStyle = color('--wrong');
    pen.lineWidth = 3;
    pen.strokeRect(x - 1, y - 1, width + 1, height + 1);
}

// A tensor's elements, row by row: sectors that move are tinted, bytes that are needed filled.
function draw_global(one) {
    const lanes = lanes_of(one), number = lanes[0].tensor, tensor = data.tensors[number];
    const bytes = tensor ? tensor.element_bytes : 4;
    const cols = tensor ? tensor.shape.at(-1) ?? 1 : 64;
    const touched = new Set(), sectors = new Set();
    for (const lane of lanes) {
        if (lane.tensor !== number) continue;
        for (let byte = 0; byte < one.bytes; byte += Math.min(bytes, one.bytes)) touched.add(Math.floor((lane.offset + byte) / bytes));
        for (let byte = 0; byte < one.bytes; ++byte) sectors.add(Math.floor((lane.offset + byte) / 32));
    }
    const first_row = Math.floor(Math.min(...touched) / cols), last_row = Math.floor(Math.max(...touched) / cols);
    const rows = tensor ? Math.max(1, last_row + 1, tensor.shape.slice(0, -1).reduce((a, b) => a * b, 1)) : 1 << 20;
    const shown_cols = Math.min(cols, 128), first_col = cols > 128 ? Math.floor(Math.min(...[...touched].map(i => i % cols)) / 8) * 8 : 0;
    const from = rows <= 32 ? 0 : Math.max(0, Math.min(first_row, rows - 32)), to = Math.min(rows, Math.max(from + Math.min(rows, 32), Math.min(last_row + 1, from + 64)));
    const shown_rows = tensor ? to - from : Math.min(last_row - first_row + 1, 32);
    const cell = Math.max(2, Math.min(16, Math.floor(room() / Math.min(shown_cols, cols))));
    const height = Math.max(3, Math.min(cell, 14));
    const pen = surface(picture, shown_cols * cell, shown_rows * height);
    for (let row = 0; row < shown_rows; ++row)
        for (let col = 0; col < shown_cols; ++col) {
            const index = (row + (tensor ? from : first_row)) * cols + col + first_col;
            if (col + first_col >= cols) continue;
            const moves = sectors.has(Math.floor(index * bytes / 32));
            pen.globalAlpha = touched.has(index) ? 1 : moves ? .35 : 1;
            pen.fillStyle = touched.has(index) || moves ? main_color(one) : color('--soft');
            pen.fillRect(col * cell, row * height, cell - (cell > 3 ? 1 : 0), height - 1);
        }
    pen.globalAlpha = 1;
    for (const {offset} of wrong_lanes(one)) {
        const index = Math.floor(offset / bytes), row = Math.floor(index / cols) - (tensor ? from : first_row), col = index % cols - first_col;
        ring(pen, col * cell, row * height, cell, height);
    }
    const name = tensor ? `${tensor.name} [${tensor.shape.join(', ')}] ${tensor.dtype}` : 'a workspace';
    const part = tensor && shown_rows * shown_cols < rows * cols ? `, rows ${from} to ${from + shown_rows - 1}, columns ${first_col} to ${first_col + shown_cols - 1}` : '';
    legend.textContent = `${name}${part}: filled are the elements that the warp asks for, pale the rest of the sectors that move with them.`;
    picture.setAttribute('aria-label', legend.textContent);
}

// 32 banks side by side; of each part of the warp the words that a bank must deliver, one above the other.
function draw_shared(one) {
    const together = one.bytes <= 4 ? 32 : one.bytes <= 8 ? 16 : 8;
    const parts = new Map();
    for (const lane of lanes_of(one)) {
        const part = Math.floor(lane.lane / together);
        if (!parts.has(part)) parts.set(part, Array.from({length: 32}, () => new Set()));
        for (let word = Math.floor(lane.offset / 4); word * 4 < lane.offset + one.bytes; ++word) parts.get(part)[word % 32].add(word);
    }
    const cell = Math.max(7, Math.min(18, Math.floor(room() / 32))), height = one.cycles > 16 ? 5 : 12, gap = 6;
    const deep = [...parts.values()].map(banks => Math.max(...banks.map(words => words.size)));
    const pen = surface(picture, 32 * cell, deep.reduce((sum, n) => sum + n * height + gap, 0) + 16);
    let y = 0;
    [...parts.values()].forEach((banks, i) => {
        banks.forEach((words, bank) => {
            for (let n = 0; n < deep[i]; ++n) {
                pen.fillStyle = n < words.size ? main_color(one) : color('--soft');
                pen.fillRect(bank * cell, y + n * height, cell - 1, height - 1);
            }
        });
        for (const {lane, offset} of wrong_lanes(one)) {
            const word = Math.floor(offset / 4);
            if (Math.floor(lane / together) === [...parts.keys()][i]) ring(pen, word % 32 * cell, y + [...banks[word % 32]].indexOf(word) * height, cell, height);
        }
        y += deep[i] * height + gap;
    });
    pen.fillStyle = getComputedStyle(place).color;
    for (let bank = 0; bank < 32; bank += 8) pen.fillText(bank, bank * cell, y + 8);
    legend.textContent = `The 32 banks of shared memory. Filled are the words that each must deliver, one a cycle` +
        (parts.size > 1 ? `; the warp is served in ${parts.size} parts, for a lane has ${one.bytes} bytes.` : '.');
    picture.setAttribute('aria-label', legend.textContent);
}

function draw_picture() {
    const one = step(), what = one && launch().sites[one.site].what, fragments = tensor_core_pictures[what] !== undefined;
    picture.hidden = legend.hidden = !one || !(is_access(one) || fragments || one.from);
    if (picture.hidden) return;
    if (!is_access(one)) {
        legend.textContent = (fragments ? draw_fragments : draw_exchange)((width, height) => surface(picture, width, height), room(), fragments ? what : one, at.lane);
        picture.setAttribute('aria-label', legend.textContent);
    }
    else if (one.memory === 'shared') draw_shared(one);
    else draw_global(one);
}

// Groups of asynchronous copies that this warp has closed before this step, and has not waited for.
function show_flight() {
    const flying = [];
    let open = 0, landed = 0;
    for (const one of steps().slice(0, at.step + 1)) {
        if (one.action === 'copy-write') open += one.asked;
        if (one.action === 'commit') flying.push(open), open = 0;
        if (one.action === 'wait') while (flying.length > one.pending) flying.shift(), ++landed;
    }
    flight.hidden = open === 0 && landed === 0 && flying.length === 0;
    flight.textContent = `Asynchronous copies: ${landed ? plural(landed, 'group') + ' waited for; ' : ''}` +
        (flying.length ? `in flight ${flying.map((bytes, i) => `group ${landed + i + 1} (${bytes} bytes)`).join(', ')}` : 'none in flight') +
        (open ? `; ${open} bytes asked for and not yet in a group` : '') + '.';
}

// ---- the timeline of the block's warps: a column is a step, barriers stand under each other

let columns = [], row_height = 12, step_width = 6;
const beside = () => launch().warps.map((one, index) => ({one, index})).filter(row => row.one.block === warp().block);
function lay_out() {
    const rows = beside();
    const barriers = row => row.one.steps.map((one, i) => one.action === 'barrier' ? i : -1).filter(i => i >= 0);
    const met = rows.map(barriers), most = Math.max(0, ...met.map(one => one.length));
    const widths = Array.from({length: most + 1}, (_, k) => Math.max(1, ...rows.map((row, r) =>
        (met[r][k] ?? row.one.steps.length - 1) - (k > 0 ? met[r][k - 1] ?? row.one.steps.length - 1 : -1))));
    const ends = widths.map((sum => width => sum += width)(0));
    columns = rows.map((row, r) => row.one.steps.map((one, i) => {
        const k = met[r].findIndex(barrier => barrier >= i), segment = k < 0 ? met[r].length : k;
        if (one.action === 'barrier') return ends[segment] - 1;
        return (segment > 0 ? ends[segment - 1] : 0) + i - (segment > 0 ? met[r][segment - 1] + 1 : 0);
    }));
    return ends.at(-1) ?? 1;
}
function draw_timeline() {
    const rows = beside(), width = lay_out();
    step_width = Math.max(2, Math.min(14, Math.floor((place.clientWidth - 10) / Math.max(1, width))));
    const pen = paper(timeline, Math.min(width * step_width + 2, 16000), rows.length * row_height + 2);
    rows.forEach((row, r) => row.one.steps.forEach((one, i) => {
        const x = columns[r][i] * step_width, here = row.index === at.warp && i === at.step;
        pen.fillStyle = main_color(one);
        pen.globalAlpha = row.index === at.warp ? 1 : .5;
        pen.fillRect(x, r * row_height + (one.action === 'barrier' ? 0 : 2), Math.max(1, step_width - 1), one.action === 'barrier' ? row_height : row_height - 4);
        if (here) {
            const end = x + 2 * step_width - timeline_box.clientWidth;
            timeline_box.scrollLeft = Math.max(end, Math.min(timeline_box.scrollLeft, x));
            pen.globalAlpha = 1;
            pen.strokeStyle = getComputedStyle(place).color;
            pen.lineWidth = 2;
            pen.strokeRect(x, r * row_height + 1, Math.max(3, step_width), row_height - 2);
        }
    }));
    // The accesses of a mistake, joined if both are of this block.
    const ends = (found?.accesses ?? []).filter(one => one.launch === at.launch && one.block === warp().block && one.step >= 0).map(one => {
        const r = rows.findIndex(row => row.one.warp === one.warp);
        return {x: ((columns[r]?.[one.step] ?? -1) + .5) * step_width, y: (r + .5) * row_height};
    }).filter(({x}) => x > 0);
    pen.globalAlpha = 1;
    pen.strokeStyle = pen.fillStyle = color('--wrong');
    pen.lineWidth = 2;
    pen.beginPath();
    ends.forEach(({x, y}, i) => i === 0 ? pen.moveTo(x, y) : pen.lineTo(x, y));
    pen.stroke();
    for (const {x, y} of ends) pen.beginPath(), pen.arc(x, y, 4, 0, 7), pen.fill();
    timeline.setAttribute('aria-label', `the warps of block ${warp().block}, one a row, with their steps; barriers stand under each other`);
}
function click_timeline(event) {
    const rows = beside(), r = Math.floor(event.offsetY / row_height), x = Math.floor(event.offsetX / step_width);
    if (!rows[r]) return;
    const found = columns[r].findIndex(column => column >= x);
    go({warp: rows[r].index, step: found < 0 ? rows[r].one.steps.length - 1 : found});
}

// ---- one state

function say_lane(lane) {
    const moved_on = lane !== at.lane;
    at.lane = lane;
    const one = step(), found = one && is_access(one) ? lanes_of(one).find(entry => entry.lane === lane) : undefined;
    said.textContent = lane < 0 ? 'Point at a lane, or focus it, to see its address and value.'
        : found ? `lane ${lane}: ${element(found, one)}${found.value === undefined ? '' : ' = ' + found.value}`
        : one?.before && one.lanes >>> lane & 1 ? said_of_exchange(one, lane)
        : one && one.lanes >>> lane & 1 ? `lane ${lane} takes part` : `lane ${lane} takes no part`;
    if (moved_on && one && !is_access(one)) draw_picture();
}
function show_lanes() {
    const one = step(), cells = cells_of(one);
    lane_buttons.forEach((made, lane) => {
        made.className = cells[lane].kind;
        made.classList.toggle('wrong', found?.at_step(at.launch, warp(), at.step).some(i => found.accesses[i].lane === lane) ?? false);
        made.replaceChildren(String(lane), ...cells[lane].lines.map(line => make('small', {}, line || '\u200b')));
    });
}
// The steps of all launches, each with its chosen warp.
const chosen = data.launches.map(() => 0);
const lengths = () => data.launches.map((one, i) => (one.warps[chosen[i]] ?? one.warps[0])?.steps.length ?? 0);
const sum = list => list.reduce((a, b) => a + b, 0);
// The number of a step among these, and the step with a number.
const index = () => sum(lengths().slice(0, at.launch)) + at.step;
function show_index(number) {
    const all = lengths();
    let rest = Math.max(0, Math.min(number, sum(all) - 1)), which = 0;
    while (which + 1 < all.length && rest >= all[which]) rest -= all[which++];
    show({launch: which, warp: chosen[which], step: rest});
}
// What each of these steps does ("read x", "barrier"), and where.
const labels = () => data.launches.flatMap((one, i) => ((one.warps[chosen[i]] ?? one.warps[0])?.steps ?? []).map(step => {
    const tensor = data.tensors[step.tensors?.[0] ?? step.tensor]?.name ?? 'workspace';
    const label = !is_access(step) ? step.action === 'barrier' ? 'barrier' : 'meeting'
        : `${reads(step) ? 'read' : 'write'} ${step.memory === 'shared' ? 'shared' : tensor}`;
    return {label, site: `${i} ${step.site}`};
}));
// Where the reader is, as in a link: counted from 1, the warp as block.warp.
const where = () => ({step: at.step + 1, warp: warp() ? `${warp().block}.${warp().warp}` : '0.0', kernel: at.launch + 1});
function show_where({step, warp, kernel}) {
    const number = Math.max(0, Math.min(Number(kernel) - 1 || 0, data.launches.length - 1));
    const found = data.launches[number].warps.findIndex(one => `${one.block}.${one.warp}` === warp);
    show({launch: number, warp: Math.max(0, found), step: Number(step) - 1 || 0});
}
// This step on a sheet of its own: sentence, source line, lanes, picture.
function drawn() {
    const sheet = new Sheet(760), {step: number, warp: name} = where(), one = step();
    sheet.words(`${data.op}, ${launch().kernel}: warp ${name.split('.')[1]} of block ${name.split('.')[0]}, step ${number} of ${steps().length}`, 13, true);
    sheet.words(now.textContent, 12);
    const text = one && (data.sources[site().file] ?? '').split('\n')[site().line - 1]?.trim();
    if (text) sheet.words(`${site().file.split('/').at(-1)}:${site().line}:  ${text}`, 11);
    sheet.cells(cells_of(one));
    if (!picture.hidden) {
        [surface, sheet_room] = [(_, width, height) => sheet.room(width, height), 744];
        draw_picture();
        [surface, sheet_room] = [paper, 0];
        sheet.end_room();
        sheet.words(legend.textContent, 11);
        draw_picture();
    }
    return {sheet, name: `${data.op}-kernel${at.launch + 1}-warp${name}-step${number}`};
}
function show(change) {
    Object.assign(at, change);
    const warps = launch().warps;
    if (choose_warp.dataset.launch !== String(at.launch)) {
        choose_warp.dataset.launch = at.launch;
        choose_warp.replaceChildren(...warps.map(one => make('option', {}, `block ${one.block}, warp ${one.warp}`)));
        shown_file = '';
    }
    at.warp = chosen[at.launch] = Math.max(0, Math.min(at.warp, warps.length - 1));
    at.step = Math.max(0, Math.min(at.step, steps().length - 1));
    const all = launch().warps_in_all, {grid, block} = launch();
    note.textContent = `Grid ${grid.join(' x ')}, blocks of ${block.join(' x ')} threads, ${plural(all, 'warp')} with steps.` +
        (warps.length < all ? ` Shown are ${found ? '' : 'the first '}${warps.length}; the counts below are of all.` : '') +
        (warp()?.is_cut ? ` Of this warp the first ${steps().length} steps are shown.` : '') +
        (launch().is_cut ? ' The kernel ran on after the last step that was recorded.' : '') +
        ' A row of the strip is a warp of this block, a mark a step; there is no time in it.';
    choose_launch.selectedIndex = at.launch;
    choose_warp.selectedIndex = at.warp;
    slider.max = Math.max(0, steps().length - 1);
    slider.value = at.step;
    count.textContent = step() ? `step ${at.step + 1} of ${steps().length}` : 'no step';
    now.textContent = step() ? sentence(step()) + (found?.said(at.launch, warp(), at.step) ?? '') : launch().warps_in_all > 0 ? 'No warp of this kernel fits the page: choose a smaller shape.'
        : 'No thread accessed memory or waited.';
    timeline.hidden = !step();
    if (step()) show_source(site().file, site().line);
    else show_source('', 0);
    found?.show(at.launch, warp(), at.step);
    show_lanes();
    say_lane(at.lane);
    show_flight();
    draw_picture();
    if (step()) draw_timeline();
}
// What the reader does here moves the other version, too.
function go(change) {
    show(change);
    moved();
}
// To a line: its first step, or only its source, when no warp on the page comes there.
function jump(number, file, line) {
    const {sites, warps} = data.launches[number];
    for (let w = 0; w < warps.length; ++w) {
        const found = warps[w].steps.findIndex(one => sites[one.site].file === file && sites[one.site].line === line);
        if (found < 0) continue;
        go({launch: number, warp: w, step: found});
        root.scrollIntoView({block: 'start'});
        return;
    }
    go({launch: number});
    show_source(file, line);
    now.textContent = 'No warp on this page comes to this line: choose a smaller shape.';
    root.scrollIntoView({block: 'start'});
}
// To an access of the verdict.
function show_access({launch, block, warp, step, lane}) {
    const number = data.launches[launch].warps.findIndex(one => one.block === block && one.warp === warp);
    if (number < 0) return;
    at.lane = lane;
    go({launch, warp: number, step});
}
choose_launch.append(...data.launches.map(one => make('option', {}, one.kernel)));
const first = found?.accesses.findLast(one => one.step >= 0);
if (first) show_access(first);
return {go, show, show_index, show_where, where, index, labels, jump, drawn, at, last: () => steps().length - 1};
}

// The page of `heddle explain`: the steps of one warp beside the kernel's source, or of two warps side by side. The data is that of
// --json, of the first warps (docs/explain.md). Arrow keys: left and right one step, up and down one warp.
'use strict';

// ---- one version, or two with one slider

const shared = versions.length > 1;
const master = make('input', {type: 'range', min: 0, value: 0, 'aria-label': 'steps of both', oninput: () => move_to(Number(master.value))});
if (shared)
    place.append(make('div', {class: 'bar both'}, button('◀', 'one step back', () => move_to(Number(master.value) - 1)),
                      button('▶', 'one step on', () => move_to(Number(master.value) + 1)),
                      make('label', {}, 'both: what both do in the same order stands side by side', master)));
const key = place.appendChild(make('p', {class: 'key', 'aria-label': 'key of the colours'}));
for (const [kind, text] of Object.entries(kinds)) key.append(make('span', {}, make('i', {class: kind}), text));
key.append(make('span', {}, 'a bar beside a source line: it touches memory or waits'));
let is_ready = false;  // a page with a verdict begins at its step, before there is anything else to tell
const halves = place.appendChild(make('div', {class: shared ? 'halves' : ''}));
const views = versions.map((data, i) => {
    const root = halves.appendChild(make('section', {}));
    if (shared) root.append(make('h2', {}, `${data.op}: ${data.title}`));
    return viewer(data, root, shared, () => is_ready && (shared && follow(i), remember()));
});
// The places of the slider: a step of the left version and one of the right. Consecutive steps of one place in the source are a
// phase, and do one thing, such as reading x. Phases that both have in the same order (the most that can be paired) stand beside each other; within a pair, and
// within what lies between two pairs, the longer side sets the pace.
function aligned(left, right) {
    const phases = labels => labels.reduce((all, {label, site}, i) =>
        (all.at(-1)?.label === label && all.at(-1).site === site ? ++all.at(-1).count : all.push({label, site, begin: i, count: 1}), all), []);
    const a = phases(left), b = phases(right), n = Math.min(a.length, 1500), m = Math.min(b.length, 1500), width = m + 1;
    const most = new Uint16Array((n + 1) * width);  // pairs among the phases from (i, j) on
    for (let i = n - 1; i >= 0; --i)
        for (let j = m - 1; j >= 0; --j)
            most[i * width + j] = a[i].label === b[j].label ? 1 + most[(i + 1) * width + j + 1] : Math.max(most[(i + 1) * width + j], most[i * width + j + 1]);
    const places = [];
    const add = (i, some, j, others) => {
        for (let k = 0, all = Math.max(some, others); k < all; ++k)
            places.push([some ? i + Math.floor(k * some / all) : Math.max(0, i - 1), others ? j + Math.floor(k * others / all) : Math.max(0, j - 1)]);
    };
    let [done, there] = [0, 0];
    const up_to = (i, j) => (add(done, i - done, there, j - there), [done, there] = [i, j]);
    for (let i = 0, j = 0; i < n && j < m;) {
        if (a[i].label === b[j].label) {
            up_to(a[i].begin, b[j].begin);
            up_to(a[i].begin + a[i].count, b[j].begin + b[j].count);
            ++i, ++j;
            continue;
        }
        const by = most[(i + 1) * width + j] - most[i * width + j + 1];
        if (by > 0 || (by === 0 && n - i < m - j)) ++i;
        else ++j;
    }
    up_to(left.length, right.length);
    return places.length > 0 ? places : [[0, 0]];
}
let places = [[0, 0]], aligned_for = '';
function align() {
    const labels = views.map(view => view.labels()), now = JSON.stringify(labels.map(all => all.length)) + views.map(view => JSON.stringify(view.where().warp + view.at.launch));
    if (now !== aligned_for) [places, aligned_for] = [aligned(...labels), now];
    master.max = Math.max(1, places.length - 1);
    return labels;
}
// The other version comes to what stands beside this one's step.
function follow(mover) {
    align();
    const step = views[mover].index(), found = places.findIndex(pair => pair[mover] >= step);
    master.value = found < 0 ? places.length - 1 : found;
    views[1 - mover].show_index(places[Number(master.value)][1 - mover]);
}
function move_to(position) {
    align();
    master.value = Math.max(0, Math.min(position, places.length - 1));
    views.forEach((view, i) => view.show_index(places[Number(master.value)][i]));
    remember();
}
// The first place where both access memory.
function first_place() {
    const labels = align(), found = places.findIndex(pair => pair.every((step, i) => /^(read|write) /.test(labels[i][step]?.label)));
    return Math.max(0, found);
}
place.addEventListener('keydown', event => {
    if (event.target.closest('select, input, textarea, .source') || event.ctrlKey || event.altKey || event.metaKey) return;
    const {step} = views[0].at, position = Number(master.value);
    const other_warp = by => {
        views.forEach(view => view.show({warp: view.at.warp + by}));
        if (shared) move_to(position);
        else remember();
    };
    const change = (shared ? {ArrowLeft: () => move_to(position - 1), ArrowRight: () => move_to(position + 1), Home: () => move_to(0),
                              End: () => move_to(1 << 30)}
                           : {ArrowLeft: () => views[0].go({step: step - 1}), ArrowRight: () => views[0].go({step: step + 1}),
                              Home: () => views[0].go({step: 0}), End: () => views[0].go({step: 1 << 30})})[event.key]
        ?? {ArrowUp: () => other_warp(-1), ArrowDown: () => other_warp(1)}[event.key] ?? (event.key === ' ' && event.target === place ? play : undefined);
    if (!change) return;
    event.preventDefault();
    change();
});

// ---- playing, links, pictures and notes

let timer = 0;
const speed = make('select', {'aria-label': 'steps in a second'}, ...[.5, 1, 2, 5, 10].map(n => make('option', {value: n, selected: n === 1 && ''}, `${n} a second`)));
const player = button('play', 'play the steps one after the other', () => play());
function play() {
    if (timer) return pause();
    const is_last = () => shared ? Number(master.value) >= places.length - 1 : views[0].at.step >= views[0].last();
    const next = () => {
        if (is_last()) return pause();
        if (shared) move_to(Number(master.value) + 1);
        else views[0].go({step: views[0].at.step + 1});
        timer = setTimeout(next, 1000 / Number(speed.value));
    };
    if (is_last()) shared ? move_to(0) : views[0].go({step: 0});
    player.textContent = 'pause';
    timer = setTimeout(next, 1000 / Number(speed.value));
}
function pause() {
    clearTimeout(timer);
    timer = 0;
    player.textContent = 'play';
}
// "step=12&warp=0.3&kernel=1"; of two versions each has both, with a comma between.
const here = () => ['step', 'warp', 'kernel'].map(name => `${name}=${views.map(view => view.where()[name]).join(',')}`).join('&');
const notes = new Map();
const link = make('a', {}, 'link to this step');
const own = make('textarea', {rows: 2, 'aria-label': 'your note on this step', placeholder: 'your note on this step', oninput: () => {
    if (own.value) notes.set(here(), own.value);
    else notes.delete(here());
    remember();
}});
const noted = make('span', {class: 'noted'});
const chooser = make('input', {type: 'file', accept: '.json', hidden: '', onchange: async () => {
    try {
        const read = JSON.parse(await chooser.files[0].text());
        for (const [where, text] of Object.entries(read.notes)) if (/^step=/.test(where) && typeof text === 'string') notes.set(where, text);
        remember();
    } catch {
        noted.textContent = 'This file has no notes of an explain page.';
    }
    chooser.value = '';
}});
const save_step = (as, view) => {
    const {sheet, name} = view.drawn();
    if (as === 'svg') save(name + '.svg', new Blob([sheet.svg()], {type: 'image/svg+xml'}));
    else sheet.canvas().toBlob(blob => save(name + '.png', blob), 'image/png');
};
const sides = shared ? [' left', ' right'] : [''];
place.querySelector('.bar').append(player, make('label', {}, 'speed', speed));
place.append(make('div', {class: 'bar tools'}, link,
    ...views.flatMap((view, i) => ['svg', 'png'].map(as => button(`save${sides[i]} ${as.toUpperCase()}`, `save this step${sides[i]} as ${as.toUpperCase()}`, () => save_step(as, view))))),
    make('div', {class: 'bar notes'}, own, button('save notes', 'save all notes in a file', () =>
        save('notes.json', new Blob([JSON.stringify({page: document.title, notes: Object.fromEntries(notes)}, null, 1)], {type: 'application/json'}))),
    button('load notes', 'load notes from a file', () => chooser.click()), chooser, noted));
// The address and the note follow the step.
function remember() {
    const now = here(), note = notes.get(now);
    const hash = '#' + now + (note ? '&note=' + encodeURIComponent(note) : '');
    link.href = hash;
    if (document.activeElement !== own || own.value !== (note ?? '')) own.value = note ?? '';
    noted.replaceChildren(...[...notes].map(([where]) => make('a', {href: `#${where}`}, where.replace(/&/g, ', ').replace(/=/g, ' '))));
    try {
        history.replaceState(null, '', hash);
    } catch {}  // a browser may refuse many changes in a short time
}
// To the step of the address, if it names one.
function restore() {
    const words = new URLSearchParams(location.hash.slice(1));
    if (!words.has('step')) return false;
    const lists = ['step', 'warp', 'kernel'].map(name => (words.get(name) ?? '').split(','));
    views.forEach((view, i) => view.show_where({step: lists[0][i], warp: lists[1][i], kernel: lists[2][i]}));
    if (shared) {
        align();
        const [left, right] = views.map(view => view.index());
        const exact = places.findIndex(pair => pair[0] === left && pair[1] === right);
        master.value = exact >= 0 ? exact : Math.max(0, places.findIndex(pair => pair[0] >= left));
    }
    if (words.get('note')) notes.set(here(), words.get('note'));
    remember();
    return true;
}
window.addEventListener('hashchange', restore);

// ---- the tables: a line leads to its source and its first step there, a total to the lines that cause most of it

const causes = {'global memory: requests of warps': 'global_requests', 'bytes moved, in sectors of 32': 'sectors',
                'shared memory: requests of warps': 'shared_requests', 'cycles of the banks': 'shared_cycles',
                'requests with lanes missing': 'divergent_requests', 'barriers, once for each warp': 'barriers',
                'warp collectives': 'collectives'};
const tables = [...document.querySelectorAll('table')];
const launches = versions.flatMap((data, version) => data.launches.map((one, number) => ({one, number, view: views[version]})));
const to_line = (text, {number, view}, file, line) => make('button', {type: 'button', class: 'jump', onclick: () => view.jump(number, file, line)}, text);
tables.filter(table => table.querySelector('th')?.textContent === 'count').forEach((table, i) => {
    for (const row of table.querySelectorAll('tr')) {
        const key = causes[row.firstChild.textContent.trim()], is_head = row.querySelector('th') !== null;
        const cell = row.appendChild(is_head ? make('th', {}, 'mostly at') : make('td', {}));
        if (!key) continue;
        const lines = launches[i].one.lines.filter(line => line.totals[key] > 0).sort((a, b) => b.totals[key] - a.totals[key]).slice(0, 3);
        lines.forEach(({file, line}) => cell.append(to_line(`${file.split('/').at(-1)}:${line}`, launches[i], file, line), ' '));
    }
});
tables.filter(table => table.querySelector('th')?.textContent === 'line').forEach((table, i) => {
    for (const cell of table.querySelectorAll('td:first-child')) {
        const [file, line] = cell.textContent.split(':');
        cell.replaceChildren(to_line(cell.textContent, launches[i], file, Number(line)));
    }
});
const draw_again = () => views.forEach(view => view.show({}));
is_ready = true;
if (!restore()) shared ? move_to(first_place()) : views[0].go({});
window.addEventListener('resize', draw_again);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw_again);
