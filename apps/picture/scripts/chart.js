// Line charts that answer: the values at the x under the pointer or the arrow keys, in a line below the chart, and series that a
// click on their legend takes away. Works on what apps/picture/line_chart.cpp writes: <g class="plot">, "series" and "entry".
(() => {
'use strict';
const number = value => Number.isInteger(value) ? value.toLocaleString('en') : String(Number(value.toPrecision(4)));

function set(element, attributes) {
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
}

// "low high start end logarithmic": from a value to a place in the picture.
function scale(text) {
    const [low, high, start, end, logarithmic] = text.split(' ').map(Number), of = logarithmic ? Math.log : value => value;
    return value => start + (of(value) - of(low)) / (of(high) - of(low)) * (end - start);
}

function series_of(group) {
    const values = (group.dataset.points || '').split(' ').map(Number), at = new Map();  // "x y x y"
    for (let i = 0; i + 1 < values.length; i += 2) at.set(values[i], values[i + 1]);
    return {name: group.dataset.name || '', group, at, shown: true};
}

function touch(plot) {
    const svg = plot.ownerSVGElement, x = scale(plot.dataset.x), y = scale(plot.dataset.y);
    const all = [...plot.querySelectorAll('.series')].map(series_of);
    const places = () => [...new Set(all.filter(one => one.shown).flatMap(one => [...one.at.keys()]))].sort((a, b) => a - b);
    const [, , bottom, top] = plot.dataset.y.split(' ').map(Number);
    const guide = document.createElementNS(svg.namespaceURI, 'line');
    set(guide, {y1: top, y2: bottom, stroke: 'currentColor', 'stroke-dasharray': '3 3', visibility: 'hidden'});
    plot.append(guide);
    const readout = document.createElement('p');
    set(readout, {class: 'readout', role: 'status'});
    svg.after(readout);
    let at = null;  // the x that is shown

    function show(value) {
        at = value;
        set(guide, {visibility: value === null ? 'hidden' : 'visible'});
        readout.textContent = 'Point at the chart, or focus it and use the arrow keys, for its values.';
        if (value === null) return;
        set(guide, {x1: x(value), x2: x(value)});
        const values = all.filter(one => one.shown && one.at.has(value)).map(one => `${one.name} ${number(one.at.get(value))}`);
        readout.textContent = `${plot.dataset.name || 'x'} ${number(value)}: ${values.join(', ')}`;
    }
    svg.addEventListener('pointermove', event => {
        const box = svg.getBoundingClientRect(), place = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
        const away = value => Math.abs(x(value) - place);
        const nearest = places().reduce((best, value) => best !== null && away(best) <= away(value) ? best : value, null);
        if (nearest !== at) show(nearest);
    });
    svg.addEventListener('pointerleave', () => show(null));
    svg.addEventListener('keydown', event => {
        const all_x = places(), i = all_x.indexOf(at), last = all_x.length - 1;
        const next = {ArrowLeft: Math.max(i - 1, 0), ArrowRight: Math.min(i + 1, last), Home: 0, End: last}[event.key];
        if (event.key === 'Escape') show(null);
        if (next === undefined || last < 0 || event.target !== svg) return;
        event.preventDefault();
        show(all_x[next]);
    });
    set(svg, {tabindex: 0, role: 'group'});

    for (const entry of svg.querySelectorAll('.entry')) {
        const one = all[Number(entry.dataset.series)];
        const toggle = () => {
            one.shown = !one.shown;
            set(one.group, {visibility: one.shown ? 'visible' : 'hidden'});
            set(entry, {opacity: one.shown ? 1 : 0.4, 'aria-pressed': one.shown});
            show(places().includes(at) ? at : null);
        };
        set(entry, {tabindex: 0, role: 'button', 'aria-pressed': true, 'aria-label': one.name, cursor: 'pointer'});
        entry.addEventListener('click', toggle);
        entry.addEventListener('keydown', event => {
            if (event.key !== 'Enter' && event.key !== ' ') return;
            event.preventDefault();
            toggle();
        });
    }
    show(null);
}

for (const plot of document.querySelectorAll('svg .plot')) touch(plot);
})();
