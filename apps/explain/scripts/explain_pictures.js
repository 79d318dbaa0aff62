'use strict';
// Pictures of collectives, and the cells of the lanes.

// The matrices of a tensor-core instruction: in each element the lane that has it, filled for the lane that is pointed at.
function draw_fragments(canvas, room, what, chosen_lane) {
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
    const pen = paper(canvas, Math.max(room, ...wide), lines * tall);
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
function draw_exchange(canvas, room, one, chosen_lane) {
    const cell = Math.max(7, Math.min(22, Math.floor(room / 32))), high = 14, below = 92;
    const pen = paper(canvas, 32 * cell, below + high + 14);
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
