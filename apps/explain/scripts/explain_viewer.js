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

const room = () => Math.max(240, right.clientWidth);

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
    const pen = paper(picture, shown_cols * cell, shown_rows * height);
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
    const pen = paper(picture, 32 * cell, deep.reduce((sum, n) => sum + n * height + gap, 0) + 16);
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
        legend.textContent = (fragments ? draw_fragments : draw_exchange)(picture, room(), fragments ? what : one, at.lane);
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
return {go, show, show_index, show_where, where, index, labels, jump, at};
}
