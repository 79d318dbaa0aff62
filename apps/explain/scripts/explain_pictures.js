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

// A sheet takes what a canvas's pen takes (rectangles, lines, text), and becomes an SVG.
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
}
// Gives the reader a file.
function save(name, blob) {
    const link = make('a', {href: URL.createObjectURL(blob), download: name});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
