// The page of `heddle explain`: the steps of one warp beside the kernel's source, or of two warps side by side. The data is that of
// --json, of the first warps (docs/explain.md). Arrow keys: left and right one step, up and down one warp.
'use strict';

// ---- one version, or two with one slider

const shared = versions.length > 1;
const master = make('input', {type: 'range', min: 0, value: 0, 'aria-label': 'steps of both', oninput: () => move_to(Number(master.value))});
const both = () => Math.max(...views.map(view => view.steps()));
if (shared)
    place.append(make('div', {class: 'bar both'}, button('◀', 'one step back', () => move_to(Number(master.value) - 1)),
                      button('▶', 'one step on', () => move_to(Number(master.value) + 1)),
                      make('label', {}, 'both, each at the same part of its steps', master)));
const halves = place.appendChild(make('div', {class: shared ? 'halves' : ''}));
const views = versions.map((data, i) => {
    const root = halves.appendChild(make('section', {}));
    if (shared) root.append(make('h2', {}, `${data.op}: ${data.title}`));
    return viewer(data, root, shared, fraction => shared && follow(i, fraction));
});
function set_master(fraction) {
    master.max = Math.max(1, both() - 1);
    master.value = Math.round(fraction * master.max);
}
function follow(mover, fraction) {
    set_master(fraction);
    views.forEach((view, i) => i !== mover && view.show_at(fraction));
}
function move_to(position) {
    const last = Math.max(1, both() - 1), fraction = Math.max(0, Math.min(position, last)) / last;
    set_master(fraction);
    views.forEach(view => view.show_at(fraction));
}
place.addEventListener('keydown', event => {
    if (event.target.closest('select, input, .source') || event.ctrlKey || event.altKey || event.metaKey) return;
    const {step} = views[0].at, position = Number(master.value);
    const other_warp = by => {
        views.forEach(view => view.show({warp: view.at.warp + by}));
        if (shared) move_to(position);
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

// ---- the tables: a line leads to its source and its first step there, a total to the lines that cause most of it

const causes = {'global memory: requests of warps': 'global_requests', 'bytes moved, in sectors of 32': 'sectors',
                'shared memory: requests of warps': 'shared_requests', 'cycles of the banks': 'shared_cycles',
                'requests with lanes missing': 'divergent_requests', 'barriers, once for each warp': 'barriers',
                'warp collectives': 'collectives'};
const tables = [...document.querySelectorAll('table')];
const launches = versions.flatMap((data, version) => data.launches.map((one, number) => ({one, number, view: views[version]})));
const link = (text, {number, view}, file, line) => make('button', {type: 'button', class: 'jump', onclick: () => view.jump(number, file, line)}, text);
tables.filter(table => table.querySelector('th')?.textContent === 'count').forEach((table, i) => {
    for (const row of table.querySelectorAll('tr')) {
        const key = causes[row.firstChild.textContent.trim()], is_head = row.querySelector('th') !== null;
        const cell = row.appendChild(is_head ? make('th', {}, 'mostly at') : make('td', {}));
        if (!key) continue;
        const lines = launches[i].one.lines.filter(line => line.totals[key] > 0).sort((a, b) => b.totals[key] - a.totals[key]).slice(0, 3);
        lines.forEach(({file, line}) => cell.append(link(`${file.split('/').at(-1)}:${line}`, launches[i], file, line), ' '));
    }
});
tables.filter(table => table.querySelector('th')?.textContent === 'line').forEach((table, i) => {
    for (const cell of table.querySelectorAll('td:first-child')) {
        const [file, line] = cell.textContent.split(':');
        cell.replaceChildren(link(cell.textContent, launches[i], file, Number(line)));
    }
});
const begin = () => shared ? move_to(Number(master.value)) : views[0].show({});
begin();
window.addEventListener('resize', begin);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', begin);
