// Interactive pictures: shows the values at the pointer or arrow-key position in a line below the caption, and hides series when
// their legend entry is clicked. Works on the output of line_chart.cpp and bar_chart.cpp (<g class="plot">, "series" and "entry")
// and of heat_map.cpp ("map" and "level").
(() => {
'use strict';

function set(element, attributes) {
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
}

// Integers in full, other numbers with four digits, anything else ("nan") as written.
function number(text) {
    const value = Number(text);
    if (!Number.isFinite(value)) return text;
    return Number.isInteger(value) ? value.toLocaleString('en') : String(Number(value.toPrecision(4)));
}

const hint = 'Point at a picture, or focus it and use the arrow keys, for its values.';
let hints = 0;

// nearest(x, y): the place nearest to a point of the picture; moved(place, key): the place that a key leads to; both may be
// undefined. show(place) marks it and returns its description; show(null) removes the mark. Returns a function that shows the
// current place again.
function answer(svg, {nearest, moved, show}) {
    const readout = document.createElement('p'), silent = hints++ === 0 ? hint : '';  // shown once
    set(readout, {class: 'readout', role: 'status'});
    svg.parentNode.append(readout);  // below the caption, because it is usually empty
    let at = null;
    const go = place => {
        at = place;
        readout.textContent = show(place) || silent;
    };
    const point = event => {
        const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
        const place = nearest((event.clientX - box.left) / box.width * view.width,
                              (event.clientY - box.top) / box.height * view.height);
        if (place !== undefined && place !== at) go(place);
    };
    svg.addEventListener('pointermove', point);
    svg.addEventListener('pointerdown', point);
    // Keep the values after a finger leaves the screen: they have not been read yet.
    svg.addEventListener('pointerleave', event => event.pointerType === 'touch' || go(null));
    svg.addEventListener('keydown', event => {
        if (event.target !== svg) return;
        const place = event.key === 'Escape' ? null : moved(at, event.key);
        if (place === undefined) return;
        event.preventDefault();
        go(place);
    });
    set(svg, {tabindex: 0, role: 'group'});
    go(null);
    return () => go(at);
}

// ---- line charts and bar charts: a place is an x

// "low high start end logarithmic": maps a value to a coordinate of the picture.
function scale(text) {
    const [low, high, start, end, logarithmic] = text.split(' ').map(Number), of = logarithmic ? Math.log : value => value;
    return value => start + (of(value) - of(low)) / (of(high) - of(low)) * (end - start);
}

function series_of(group) {
    const values = (group.dataset.points || '').split(' '), at = new Map();  // "x y x y"
    for (let i = 0; i + 1 < values.length; i += 2) at.set(Number(values[i]), values[i + 1]);
    return {name: group.dataset.name || '', group, at, shown: true};
}

function chart(plot) {
    const svg = plot.ownerSVGElement, x = scale(plot.dataset.x), names = JSON.parse(plot.dataset.names || 'null');
    const all = [...plot.querySelectorAll('.series')].map(series_of);
    const places = () => [...new Set(all.filter(one => one.shown).flatMap(one => [...one.at.keys()]))].sort((a, b) => a - b);
    const [, , bottom, top] = plot.dataset.y.split(' ').map(Number);
    const guide = document.createElementNS(svg.namespaceURI, 'line');
    set(guide, {y1: top, y2: bottom, stroke: 'currentColor', 'stroke-dasharray': '3 3', 'pointer-events': 'none'});
    plot.append(guide);

    const again = answer(svg, {
        nearest: place => {
            const away = value => Math.abs(x(value) - place);
            return places().reduce((best, value) => best !== undefined && away(best) <= away(value) ? best : value, undefined);
        },
        moved: (at, key) => {
            const all_x = places(), last = all_x.length - 1, i = all_x.indexOf(at);
            const next = {ArrowLeft: Math.max(i - 1, 0), ArrowRight: Math.min(i + 1, last), Home: 0, End: last}[key];
            return next === undefined ? undefined : all_x[next];
        },
        show: at => {
            const said = at === null ? [] : all.filter(one => one.shown && one.at.has(at));
            set(guide, {visibility: said.length > 0 ? 'visible' : 'hidden'});
            if (said.length === 0) return '';
            set(guide, {x1: x(at), x2: x(at)});
            const where = names ? names[at] : `${plot.dataset.name || 'x'} ${number(at)}`;
            return `${where}: ${said.map(one => `${one.name} ${number(one.at.get(at))}`.trim()).join(', ')}`;
        }});

    for (const entry of svg.querySelectorAll('.entry')) {
        const one = all[Number(entry.dataset.series)];
        const toggle = () => {
            one.shown = !one.shown;
            set(one.group, {visibility: one.shown ? 'visible' : 'hidden'});
            set(entry, {opacity: one.shown ? 1 : 0.4, 'aria-pressed': one.shown});
            again();
        };
        set(entry, {tabindex: 0, role: 'button', 'aria-pressed': true, 'aria-label': one.name, cursor: 'pointer'});
        entry.addEventListener('click', toggle);
        entry.addEventListener('keydown', event => {
            if (event.key !== 'Enter' && event.key !== ' ') return;
            event.preventDefault();
            toggle();
        });
    }
}

// ---- heat maps: a place is the number of a cell, row by row

// A large map's values are derived from its colours: each has a path "M col row h count ..".
function values_of(group) {
    if (group.dataset.values) return group.dataset.values.split(' ').map(number);
    const values = [];
    for (const level of group.querySelectorAll('.level'))
        for (const [, col, row, count] of level.firstChild.getAttribute('d').matchAll(/M(\d+) (\d+)h(\d+)/g)) {
            const begin = Number(row) * Number(group.dataset.cols) + Number(col);
            for (let i = 0; i < Number(count); ++i) values[begin + i] = level.dataset.value;
        }
    return values;
}

function map(group) {
    const svg = group.ownerSVGElement, values = values_of(group), rows = Number(group.dataset.rows);
    const cols = Number(group.dataset.cols), [left, top, width, height] = group.dataset.box.split(' ').map(Number);
    const name = (what, i) => {
        const names = group.dataset[`${what}Names`];
        return names ? `“${JSON.parse(names)[i]}”` : `${group.dataset[what]} ${i}`;
    };
    const frame = document.createElementNS(svg.namespaceURI, 'rect');
    set(frame, {width, height, fill: 'none', stroke: '#d55e00', 'stroke-width': 3, 'pointer-events': 'none'});
    group.append(frame);
    const within = (value, count) => Math.min(Math.max(value, 0), count - 1);

    answer(svg, {
        nearest: (x, y) => {
            const row = Math.floor((y - top) / height), col = Math.floor((x - left) / width);
            return within(row, rows) === row && within(col, cols) === col ? row * cols + col : null;
        },
        moved: (at, key) => {
            const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -cols],
                          End: [0, cols]}[key];
            if (step === undefined || values.length === 0) return undefined;
            if (at === null) return 0;
            return within(Math.floor(at / cols) + step[0], rows) * cols + within(at % cols + step[1], cols);
        },
        show: at => {
            set(frame, {visibility: at === null ? 'hidden' : 'visible'});
            if (at === null) return '';
            const row = Math.floor(at / cols), col = at % cols;
            set(frame, {x: left + col * width, y: top + row * height});
            return `${name('row', row)}, ${name('col', col)}: ${values[at]}`;
        }});
}

for (const group of document.querySelectorAll('figure .plot, figure .map')) group.classList.contains('plot') ? chart(group) : map(group);
})();
