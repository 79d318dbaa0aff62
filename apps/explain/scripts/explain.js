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
    if (event.target.closest('select, input, .source') || event.ctrlKey || event.altKey || event.metaKey) return;
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
        ?? {ArrowUp: () => other_warp(-1), ArrowDown: () => other_warp(1)}[event.key];
    if (!change) return;
    event.preventDefault();
    change();
});

// ---- links

// "step=12&warp=0.3&kernel=1"; of two versions each has both, with a comma between.
const here = () => ['step', 'warp', 'kernel'].map(name => `${name}=${views.map(view => view.where()[name]).join(',')}`).join('&');
const link = make('a', {}, 'link to this step');
place.append(make('div', {class: 'bar tools'}, link));
// The address follows the step.
function remember() {
    const hash = '#' + here();
    link.href = hash;
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
