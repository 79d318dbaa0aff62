// The page of `heddle translate --attention`: one translation, one kind of attention, one layer, one head or their mean. The data
// comes from apps/translation/report/attention.h. All heads are drawn small, one of them large as a table; the row selected
// by pointer or arrow keys as lines from token to token; the likeliest tokens of the clicked step as bars.
(() => {
'use strict';
const data = JSON.parse(document.getElementById('attention-data').textContent);
const kinds = [['cross', 'from the translation to the source', 'written', 'source'],
               ['decoder', 'within the translation (causal)', 'written', 'read'],
               ['encoder', 'within the source', 'source', 'source']];
const at = {line: 0, kind: 0, layer: 0, head: -1, row: 0, col: 0, step: 0};  // head -1: the mean of the layer's heads

// ---- what is shown, as numbers

const line = () => data.lines[at.line];
const queries = () => line()[kinds[at.kind][2]];
const keys = () => line()[kinds[at.kind][3]];
const layers = () => line().maps[kinds[at.kind][0]];
const or_nan = value => value ?? NaN;  // JSON has null for numbers that are not finite
const mean = maps => maps[0].map((_, i) => maps.reduce((sum, map) => sum + or_nan(map[i]), 0) / maps.length);
const map = () => at.head < 0 ? mean(layers()[at.layer]) : layers()[at.layer][at.head];
const weight = (weights, row, col) => or_nan(weights[row * keys().length + col]) / 1000;  // stored in thousandths
const color = value => value === value ? data.ramp[Math.round(value * (data.ramp.length - 1))] : data.not_finite;
const said = value => value === value ? value.toFixed(3) : 'not a number';
const percent = value => value === null ? 'not a number' : (100 * value).toFixed(1) + ' %';

// ---- elements

function make(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
        if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
        else if (value !== false) element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
}

const place = document.getElementById('attention');
const part = (name, attributes) => place.appendChild(make(name, attributes));

// A labelled list of choices; `choices` gives [value, text] pairs, because they change with the sentence and the kind.
function chooser(label, name, choices) {
    const select = make('select', {onchange: () => set({[name]: Number(select.value)})});
    controls.append(make('label', {}, label, select));
    return () => {
        select.replaceChildren(...choices().map(([value, text]) => make('option', {value}, text)));
        select.value = at[name];
    };
}

const controls = part('div', {class: 'controls'});
const numbers = (count, text) => Array.from({length: count}, (_, i) => [i, `${text} ${i + 1}`]);
const choosers = [
    chooser('sentence', 'line', () => data.lines.map((one, i) => [i, `${i + 1}: ${one.line} → ${one.translation}`])),
    chooser('attention', 'kind', () => kinds.map((one, i) => [i, `${one[0]}: ${one[1]}`])),
    chooser('layer', 'layer', () => numbers(layers().length, 'layer')),
    chooser('head', 'head', () => [[-1, 'mean of the heads'], ...numbers(layers()[at.layer].length, 'head')])];
const overview = part('div', {class: 'heads', role: 'group', 'aria-label': 'all heads'});
const readout = part('p', {class: 'readout'});
const panes = part('div', {class: 'panes'});
const table = make('table', {class: 'map', role: 'grid', tabindex: 0, onkeydown: move});
const lines = make('div', {class: 'lines', role: 'group', 'aria-label': 'lines of one row', onkeydown: move});
panes.append(make('div', {class: 'wide'}, table), lines);
const steps = part('div', {class: 'steps', 'aria-live': 'polite'});

// ---- drawing

function draw_overview() {
    const rows = queries().length, cols = keys().length;
    const head = (maps, layer, number) => {
        const canvas = make('canvas', {width: cols, height: rows, 'aria-hidden': 'true'}), context = canvas.getContext('2d');
        const weights = number < 0 ? mean(maps) : maps[number];
        for (let i = 0; i < rows * cols; ++i) {
            context.fillStyle = color(weight(weights, 0, i));
            context.fillRect(i % cols, Math.floor(i / cols), 1, 1);
        }
        const chosen = layer === at.layer && number === at.head;
        return make('button', {type: 'button', 'aria-pressed': String(chosen), onclick: () => set({layer, head: number})}, canvas,
                    `layer ${layer + 1}, ${number < 0 ? 'mean' : `head ${number + 1}`}`);
    };
    const focused = overview.contains(document.activeElement);
    overview.replaceChildren(...layers().map((maps, layer) =>
        make('div', {}, ...[-1, ...maps.keys()].map(number => head(maps, layer, number)))));
    if (focused) overview.querySelector('[aria-pressed=true]').focus();
}

function draw_table() {
    const weights = map();
    const head = make('tr', {role: 'row'}, make('td', {}),
                      ...keys().map(token => make('th', {role: 'columnheader', scope: 'col', title: token},
                                               make('span', {}, token))));
    const rows = queries().map((token, row) => make('tr', {role: 'row'},
        make('th', {role: 'rowheader', scope: 'row', title: token, onclick: () => open_step(row),
                    onpointerover: () => look(row, at.col)}, token),
        ...keys().map((_, col) => {
            const style = `background:${color(weight(weights, row, col))}`;
            return make('td', {role: 'gridcell', id: `cell-${row}-${col}`, style, onpointerover: () => look(row, col),
                               onclick: () => open_step(row)});
        })));
    table.replaceChildren(make('tbody', {}, head, ...rows));
    table.setAttribute('aria-label', `${kinds[at.kind][0]} attention; the arrow keys go from cell to cell`);
}

// Both sides as columns of tokens, with a line between them for each weight of the current row.
function draw_lines() {
    const height = 24, size = Math.max(queries().length, keys().length) * height, weights = map();
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('viewBox', `0 0 100 ${size}`);
    svg.setAttribute('preserveAspectRatio', 'none');
    svg.setAttribute('style', `height:${size}px`);
    svg.setAttribute('aria-hidden', 'true');
    keys().forEach((_, col) => {
        const one = document.createElementNS(svg.namespaceURI, 'line'), value = weight(weights, at.row, col);
        for (const [key, number] of Object.entries({x1: 0, y1: (at.row + 0.5) * height, x2: 100, y2: (col + 0.5) * height}))
            one.setAttribute(key, number);
        one.setAttribute('stroke-opacity', value === value ? value : 0);
        svg.append(one);
    });
    const focused = lines.contains(document.activeElement);
    const left = queries().map((token, row) => make('button', {type: 'button', tabindex: row === at.row ? 0 : -1,
        title: token, 'aria-pressed': String(row === at.row), onclick: () => open_step(row),
        onpointerover: () => look(row, at.col)}, token));
    const right = keys().map((token, col) => {
        const value = weight(weights, at.row, col), style = `opacity:${value === value ? 0.65 + 0.35 * value : 1}`;
        return make('span', {style, title: token, onpointerover: () => look(at.row, col)}, token);
    });
    lines.replaceChildren(make('div', {}, ...left), svg, make('div', {}, ...right));
    if (focused) left[at.row].focus();
}

function draw_steps() {
    steps.replaceChildren();
    if (kinds[at.kind][2] !== 'written') return;  // the encoder generates no tokens
    const {read, written, steps: all} = line(), step = all[at.step];
    const words = read.slice(Math.max(0, at.step - 4), at.step + 1).join(' ');
    const bar = ([token, probability]) => make('li', {class: token === written[at.step] ? 'written' : false},
        make('span', {class: 'bar', style: `width:${100 * probability}%`, 'aria-hidden': 'true'}),
        make('span', {}, token), make('span', {class: 'n'}, percent(probability)));
    steps.append(make('h2', {}, `Step ${at.step + 1}: likeliest after “${at.step > 4 ? '… ' : ''}${words}”`),
                 make('p', {}, `It wrote “${written[at.step]}”, which had ${percent(step.probability)}. ` +
                               'Click a token for its step.'),
                 make('ol', {}, ...step.likeliest.map(bar)));
}

// ---- user input

function look(row, col) {
    const moved = row !== at.row;
    document.getElementById(`cell-${at.row}-${at.col}`)?.classList.remove('here');
    Object.assign(at, {row, col});
    const cell = document.getElementById(`cell-${row}-${col}`);
    cell.classList.add('here');
    table.setAttribute('aria-activedescendant', cell.id);
    const text = `“${queries()[row]}” looks at “${keys()[col]}” with ${said(weight(map(), row, col))}`;
    readout.textContent = text;
    cell.setAttribute('aria-label', text);
    if (moved) draw_lines();
}

function open_step(row) {
    at.step = row;
    look(row, at.col);
    draw_steps();
}

function move(event) {
    const steps = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
    const last = [queries().length - 1, keys().length - 1], inside = (value, end) => Math.min(Math.max(value, 0), end);
    let [row, col] = [at.row, at.col];
    if (event.key in steps) [row, col] = [row + steps[event.key][0], col + steps[event.key][1]];
    else if (event.key === 'Home') col = 0;
    else if (event.key === 'End') col = last[1];
    else if (event.key === 'Enter' && event.currentTarget === table) return open_step(at.row);
    else return;
    event.preventDefault();
    look(inside(row, last[0]), inside(col, last[1]));
    document.getElementById(`cell-${at.row}-${at.col}`).scrollIntoView({block: 'nearest', inline: 'nearest'});
}

// The cell of the largest weight; of equal ones the first.
function strongest() {
    const weights = map().map(value => Number.isFinite(value) ? value : -1), cols = keys().length;
    const best = weights.reduce((best, value, i) => value > weights[best] ? i : best, 0);
    return {row: Math.floor(best / cols), col: best % cols};
}

// Another sentence or kind starts at its strongest cell; selections that do not exist there are reset.
function set(change) {
    Object.assign(at, change);
    at.layer = Math.min(at.layer, layers().length - 1);
    at.head = Math.min(at.head, layers()[at.layer].length - 1);
    if ('line' in change || 'kind' in change) {
        Object.assign(at, strongest());
        at.step = at.row;
    }
    for (const draw of [...choosers, draw_overview, draw_table, draw_lines, draw_steps]) draw();
    look(at.row, at.col);
}

if (data.lines.length > 0) set({line: 0, layer: layers().length - 1});
})();
