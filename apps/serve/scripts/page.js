"use strict";
// The page of heddle serve: translates while one types, and shows what the model does for the line at the cursor.
const at = id => document.getElementById(id);
const pairs = [];        // [source, target] codes
let shown = null;        // the answer of /inspect for the line
let chosen = -1;         // the token of the translation that is looked at
let pending = null;      // aborts the requests that a newer text replaces
let timer = 0, playing = 0;
const moved = new Set();  // the settings that somebody has moved

function element(name, text, properties = {}) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
    return made;
}
const percent = p => p >= 0.0995 ? `${Math.round(100 * p)} %` : `${(100 * p).toPrecision(2)} %`;
const visible = token => token.replace(/\u2581/g, "\u2423");  // a space as an open box

async function ask(path, fields, signal) {
    const key = at("key").value;
    const response = await fetch(path, {method: "POST", signal, headers: {"Content-Type": "application/json"},
                                        body: JSON.stringify(key ? {...fields, api_key: key} : fields)});
    const answer = await response.json();
    if (response.status === 403) at("key-row").hidden = false;
    if (!response.ok) throw new Error(answer.error);
    return answer;
}

function lineAtCursor() {
    const {value, selectionStart} = at("text");
    const begin = value.lastIndexOf("\n", selectionStart - 1) + 1;
    const end = value.indexOf("\n", selectionStart);
    return value.slice(begin, end < 0 ? undefined : end);
}

async function update() {
    if (pending) pending.abort();
    pending = new AbortController();
    const {signal} = pending;
    const q = at("text").value, source = at("source").value, target = at("target").value;
    at("result").classList.add("waiting");
    try {
        const answer = await ask("/translate", {q, source, target}, signal);
        at("result").textContent = answer.translatedText;
        at("result").classList.remove("waiting");
        at("message").textContent = "";
        await inspect(signal);
    } catch (error) {
        if (error.name !== "AbortError") at("message").textContent = error.message;
    }
}

async function inspect(signal) {
    const q = lineAtCursor();
    if (q.trim() === "") {
        shown = null;
        at("line").hidden = true;
        return;
    }
    // Until somebody moves them, the run's own beam and length penalty count, and the answer tells them.
    const fields = {q, source: at("source").value, target: at("target").value, n_best: 8, tree: true};
    if (moved.has("beam")) fields.beam = +at("beam").value;
    if (moved.has("penalty")) fields.length_penalty = +at("penalty").value;
    shown = await ask("/inspect", fields, signal);
    for (const [name, value] of [["beam", shown.beam], ["penalty", shown.length_penalty]])
        at(name).value = at(`${name}-value`).textContent = value;
    chosen = -1;
    at("line").hidden = false;
    draw();
}

function soon(wait = 200) {
    clearTimeout(timer);
    timer = setTimeout(update, wait);
}

// ---- the line

function draw() {
    stop();
    at("best").replaceChildren(...shown.translations.map(each => {
        const row = element("li", each.text + " ");
        row.append(element("small", `score ${each.score.toFixed(3)}, log p ${each.log_probability.toFixed(2)}`));
        return row;
    }));
    at("source-tokens").replaceChildren(...(shown.source || []).map(token => element("span", visible(token))));
    at("target-tokens").replaceChildren(...(shown.tokens || []).map((token, i) => {
        const made = element("span", visible(token.text), {tabindex: i === 0 ? "0" : "-1", role: "button",
                                                           "aria-label": `${token.text}, ${percent(token.probability)}`});
        made.style.setProperty("--probability", token.probability);
        made.addEventListener("pointerenter", () => choose(i));
        made.addEventListener("focus", () => choose(i));
        made.addEventListener("keydown", event => {
            const to = {ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: shown.tokens.length - 1}[event.key];
            if (to === undefined || !shown.tokens[to]) return;
            event.preventDefault();
            at("target-tokens").children[to].focus();
        });
        return made;
    }));
    const layers = shown.attention ? shown.attention.length : 0;
    choices(at("layer"), layers, layers);
    choices(at("head"), layers ? shown.attention[0].length : 0, 0);
    at("token").textContent = "Choose a token: with the pointer, or with Tab and the arrow keys.";
    const steps = shown.steps ? shown.steps.length : 0;
    at("step").max = Math.max(steps, 1);
    at("step").value = Math.max(steps, 1);
    drawTree();
}

// The numbers of layers or heads, and for heads their mean; what was chosen before stays.
function choices(select, count, last) {
    const before = select.value;
    select.replaceChildren(...(last ? [] : [element("option", "mean", {value: "-1"})]),
                           ...Array.from({length: count}, (_, i) => element("option", i + 1, {value: i})));
    select.value = before !== "" && [...select.options].some(option => option.value === before) ? before : last ? last - 1 : -1;
}

function weights(token) {
    const layer = shown.attention[+at("layer").value], head = +at("head").value;
    if (head >= 0) return layer[head][token];
    return layer[0][token].map((_, i) => layer.reduce((sum, one) => sum + one[token][i], 0) / layer.length);
}

function choose(token) {
    chosen = token;
    const {text, probability, likeliest} = shown.tokens[token];
    [...at("target-tokens").children].forEach((each, i) => each.setAttribute("aria-selected", i === token));
    const looked = weights(token);
    [...at("source-tokens").children].forEach((each, i) => each.style.setProperty("--weight", looked[i]));
    const most = looked.indexOf(Math.max(...looked));
    at("token").textContent = `${visible(text)}: ${percent(probability)}; it looks at ${visible(shown.source[most])} most ` +
        `(${percent(looked[most])}). The likeliest here: ${likeliest.map(([t, p]) => `${visible(t)} ${percent(p)}`).join(", ")}.`;
}

// ---- the beam

// The hypotheses after each step as one tree: {token: {children, last step it was kept at, ended}}.
function treeUpTo(step) {
    const root = {children: new Map(), depth: 0};
    shown.steps.slice(0, step).forEach((hypotheses, i) => hypotheses.forEach(({tokens, ended}) => {
        let node = root;
        tokens.forEach(token => {
            if (!node.children.has(token)) node.children.set(token, {token, children: new Map(), depth: node.depth + 1, kept: 0});
            node = node.children.get(token);
            node.kept = i + 1;
        });
        if (ended) node.ended = true;
    }));
    return root;
}

function drawTree() {
    const step = +at("step").value, steps = shown.steps ? shown.steps.length : 0;
    at("step-value").textContent = `${step} of ${Math.max(steps, 1)} tokens`;
    if (!steps) return at("tree").replaceChildren();
    const column = 92, row = 22, svg = (name, properties, text) => {
        const made = document.createElementNS("http://www.w3.org/2000/svg", name);
        for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
        if (text !== undefined) made.textContent = text;
        return made;
    };
    const picture = svg("svg", {}), lines = svg("g", {}), words = svg("g", {});
    let rows = 0, depth = 0;
    const place = node => {
        const children = [...node.children.values()].sort((a, b) => b.kept - a.kept);
        node.y = children.length ? (children.forEach(place), children[0].y) : row * (rows++ + 0.7);
        depth = Math.max(depth, node.depth);
        for (const child of children) {
            const x = column * node.depth + 8 + (node.depth ? Math.min(8 * visible(node.token).length + 3, column - 22) : 0), to = column * child.depth + 8;
            const kept = child.kept === step || (child.ended && child.kept >= step);
            lines.append(svg("path", {d: `M${x} ${node.y}C${x + 12} ${node.y} ${to - 14} ${child.y} ${to - 2} ${child.y}`, class: kept ? "kept" : ""}));
            words.append(svg("text", {x: to, y: child.y + 4, class: kept ? child.ended ? "ended" : "" : "dropped"},
                             visible(child.token) + (child.ended ? " \u25a0" : "")));
        }
    };
    place(treeUpTo(step));
    const width = column * (depth + 1) + 20, height = row * Math.max(rows, 1) + 6;
    for (const [key, value] of Object.entries({width, height, viewBox: `0 0 ${width} ${height}`})) picture.setAttribute(key, value);
    picture.append(lines, words);
    at("tree").replaceChildren(picture);
}

function stop() {
    clearInterval(playing);
    playing = 0;
    at("play").textContent = "Play";
}

function play() {
    if (playing) return stop();
    at("play").textContent = "Stop";
    at("step").value = 1;
    drawTree();
    playing = setInterval(() => {
        if (+at("step").value >= +at("step").max) return stop();
        at("step").value = +at("step").value + 1;
        drawTree();
    }, 500);
}

// ---- start

async function start() {
    const languages = await (await fetch("/languages")).json();
    const names = new Map(languages.map(each => [each.code, each.name]));
    const targets = () => {
        const {targets} = languages.find(each => each.code === at("source").value);
        at("target").replaceChildren(...targets.map(code => element("option", names.get(code), {value: code})));
    };
    at("source").replaceChildren(...languages.filter(each => each.targets.length)
                                             .map(each => element("option", each.name, {value: each.code})));
    targets();
    at("source").addEventListener("change", () => { targets(); soon(0); });
    at("target").addEventListener("change", () => soon(0));
    at("key").addEventListener("change", () => soon(0));
    at("text").addEventListener("input", () => soon());
    let line = "";
    at("text").addEventListener("selectionchange", () => {
        if (lineAtCursor() !== line) soon();
        line = lineAtCursor();
    });
    for (const name of ["beam", "penalty"])
        at(name).addEventListener("input", () => {
            moved.add(name);
            at(`${name}-value`).textContent = at(name).value;
            soon();
        });
    for (const name of ["layer", "head"]) at(name).addEventListener("change", () => chosen >= 0 && choose(chosen));
    at("step").addEventListener("input", () => { stop(); drawTree(); });
    at("play").addEventListener("click", play);
    if (at("text").value) soon(0);
}
start().catch(error => { at("message").textContent = error.message; });
