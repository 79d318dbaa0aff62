'use strict';
// What a check found (`heddle learn explain`): each access of a race, or of another mistake, is an arrow at the element. `go_to`: shows
// the step of an access.
function finding_view(data, go_to) {
const {accesses, file} = data.finding;
const reading = one => ['read', 'copy-read'].includes(one.action);
const verbs = {read: 'reads', write: 'writes', atomic: 'updates', 'copy-read': 'copies from', 'copy-write': 'copies to'};
const line_of = one => data.launches[one.launch].sites[one.site].line;
const file_of = one => data.launches[one.launch].sites[one.site].file;
const position = (number, [x, y, z]) => y * z === 1 ? `${number}` : `(${number % x}, ${Math.floor(number / x) % y}, ${Math.floor(number / x / y)})`;
const thread_of = one => {
    const {grid, block} = data.launches[one.launch];
    return `thread ${position(one.thread, block)} of block ${position(one.block, grid)}`;
};
const element_of = one => one.element || (one.memory === 'shared' ? `byte ${one.offset}` : 'no array');
const where = one => one.memory === 'shared' ? `shared memory, byte ${one.offset}, bank ${Math.floor(one.offset / 4) % 32}` : 'global memory';
const picture = (name, attributes, ...children) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
};
const arrow = one => picture('svg', {viewBox: '0 0 60 16', width: 60, height: 16, role: 'img', 'aria-label': `${verbs[one.action]} ${element_of(one)}`},
    picture('path', {d: 'M2 8H46', 'stroke-width': 4, stroke: 'currentColor'}), picture('path', {d: 'M44 1L59 8L44 15Z', fill: 'currentColor'}));
const card = (one, i) => {
    const text = (data.sources[file_of(one)] ?? '').split('\n')[line_of(one) - 1]?.trim() ?? '';
    const made = make('div', {class: `access ${reading(one) ? 'reads' : 'writes'}`},
        make('p', {}, accesses.length > 1 ? `${i + 1}. ` : '', make('b', {}, thread_of(one)), ` (warp ${one.warp}, lane ${one.lane}) `,
             make('b', {class: 'verb'}, `${verbs[one.action]} ${element_of(one)}`)),
        make('pre', {}, `${line_of(one)} | ${text}`));
    if (one.step >= 0) made.append(make('button', {type: 'button', onclick: () => go_to(one)}, `show it, step ${one.step + 1} of its warp`));
    return made;
};
const cards = accesses.map(card);
const panel = make('div', {class: 'mistake', role: 'group', 'aria-label': `the accesses of the verdict: ${data.finding.kind}`});
const what = accesses.length < 2 ? 'The access that the verdict is about.'
    : data.finding.kind === 'race' ? 'Two threads, one element, and nothing orders the two: here 1 came first; on a GPU 2 may.'
    : 'Two accesses to one element, and nothing orders the two.';
if (accesses.length > 0) {
    const last = accesses.at(-1);
    const element = make('div', {class: 'element'}, make('b', {}, element_of(last)), make('small', {}, where(last)));
    const arrows = accesses.map(one => make('div', {class: `arrow ${reading(one) ? 'reads' : 'writes'}`}, arrow(one)));
    const meeting = make('div', {class: accesses.length > 1 ? 'meeting' : 'meeting alone'}, cards[0], arrows[0], element);
    if (accesses.length > 1) {
        arrows[1].classList.add('back');
        meeting.append(arrows[1], cards[1]);
    }
    panel.append(make('p', {class: 'said'}, what), meeting);
}
// The numbers of the accesses that a step of a warp makes.
const at_step = (launch, warp, step) => accesses.map((one, i) => i).filter(i => accesses[i].launch === launch &&
    accesses[i].block === warp?.block && accesses[i].warp === warp?.warp && accesses[i].step === step);
return {
    panel, accesses, at_step,
    // The lines of the verdict in the source that is shown; `lines`: its elements.
    mark(lines, shown) {
        for (const i of accesses.keys())
            if (file_of(accesses[i]) === shown) lines[line_of(accesses[i]) - 1]?.classList.add('wrong', reading(accesses[i]) ? 'wrong-read' : 'wrong-write');
        if (accesses.length === 0 && file === shown)
            for (const line of [data.finding.line, data.finding.other_line]) lines[line - 1]?.classList.add('wrong', 'wrong-write');
    },
    show(launch, warp, step) {
        const here = at_step(launch, warp, step);
        cards.forEach((made, i) => made.classList.toggle('shown', here.includes(i)));
    },
    said(launch, warp, step) {
        return at_step(launch, warp, step).map(i => ` Lane ${accesses[i].lane} ${verbs[accesses[i].action]} ${element_of(accesses[i])}: access ` +
            `${accesses.length > 1 ? `${i + 1} of the ${data.finding.kind}` : 'of the verdict'}.`).join('');
    },
};
}
