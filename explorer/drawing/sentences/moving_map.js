// Draw a map of sentences that moves through frames: from A to B, through layers, or through the steps of a run.
// It follows map_labels.js in one script. Positions and neighbours of all frames are here, so moving, choosing a sentence and reading ask nothing of the server.
const TAU = 2 * Math.PI, DRAG = 4, NEAR = 12, SECONDS = 1.6, STEPS = 100, LISTED = 100;

const numbers = (text, Kind) => new Kind(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer);
const decimal = (value) => Number.isFinite(value) ? value.toFixed(2).replace("-", "−") : "–";
const part = (tag, name, text) => { const made = document.createElement(tag); made.className = name; made.textContent = text; return made; };

export default function (component) {
  const { parentElement, data, setTriggerValue } = component;
  const root = parentElement.querySelector(".moving-map"), find = (name) => root.querySelector(name);
  const canvas = find("canvas"), context = canvas.getContext("2d"), tip = find(".tip"), panel = find(".panel");
  const play = find(".play"), slider = find(".time"), name = find(".now"), lasso = find(".lasso");
  const frames = data.frames.length, count = data.texts.length;
  // what the visitor did outlasts a run of the page, and what is decoded too
  const state = (root.movingMap ??= {});
  if (state.subject !== data.subject) Object.assign(state, { subject: data.subject, at: 0, view: null, chosen: -1, sides: [] });
  if (state.key !== data.key) {
    const four = (text) => numbers(text, Float32Array);
    Object.assign(state, { key: data.key, sprites: new Map(), places: four(data.places), shades: numbers(data.shades, Uint8Array),
      near: numbers(data.near, Int32Array), own: four(data.own), before: four(data.before), after: four(data.after),
      moved: data.moved && four(data.moved) });
  }
  if (state.revision !== data.revision) {
    if (data.selected.length && data.selected.some((at) => !state.selected?.has(at))) state.chosen = -1;  // they are listed
    Object.assign(state, { revision: data.revision, selected: new Set(data.selected) });
  }
  if (state.jump !== data.jump) Object.assign(state, { jump: data.jump, at: Math.min(data.at, frames - 1) });
  const { places, shades, near, own, before, after, moved } = state;
  const k = data.nearest, most = new Set(data.most), still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const x = new Float32Array(count), y = new Float32Array(count);
  let width = 0, height = 0, ratio = 1, ask = 0, playing = null, drag = null;

  const px = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
  const ink = (name, other) => getComputedStyle(root).getPropertyValue(name).trim() || other;
  const size = () => (count <= 60 ? 5 : count <= 200 ? 4.5 : count <= 1000 ? 3.5 : 2.5) * px();
  const fit = () => {
    const { low, high } = data, room = count < 60 ? 0.72 : 0.9;  // whole labels need room around the outermost points
    const scale = room * Math.min(width / (high[0] - low[0]), height / (high[1] - low[1]));
    state.view = { x: (low[0] + high[0]) / 2, y: (low[1] + high[1]) / 2, scale };
  };
  const redraw = () => { if (!ask) ask = requestAnimationFrame(draw); };
  const spot = (frame, at) => {
    const here = 2 * (frame * count + at), { view } = state;
    return [width / 2 + (places[here] - view.x) * view.scale, height / 2 - (places[here + 1] - view.y) * view.scale];
  };
  const between = () => {
    const from = Math.min(Math.floor(state.at), frames - 1), share = state.at - from;
    return [from, Math.min(from + 1, frames - 1), share * share * (3 - 2 * share)];
  };
  const position = () => {
    const [from, to, share] = between(), one = 2 * from * count, other = 2 * to * count, { view } = state;
    const left = width / 2 - view.x * view.scale, top = height / 2 + view.y * view.scale;
    for (let at = 0; at < count; at++) {
      const a = one + 2 * at, b = other + 2 * at;
      x[at] = left + (places[a] + share * (places[b] - places[a])) * view.scale;
      y[at] = top - (places[a + 1] + share * (places[b + 1] - places[a + 1])) * view.scale;
    }
  };
  const shadeOf = (at) => shades[(shades.length > count ? Math.round(state.at) * count : 0) + at];
  const sprite = (shade, radius) => {  // a point is drawn once for each colour, and then copied
    const rim = ink("--st-text-color", "#808080"), key = `${shade} ${radius} ${ratio} ${rim}`;
    if (!state.sprites.has(key)) {
      const made = document.createElement("canvas"), wide = 2 * Math.ceil((radius + 1) * ratio), pen = made.getContext("2d");
      made.width = made.height = wide;
      pen.arc(wide / 2, wide / 2, radius * ratio, 0, TAU);
      pen.fillStyle = data.palette[shade];
      pen.fill();
      pen.strokeStyle = rim;  // the darkest and the palest are seen on any ground
      pen.globalAlpha = 0.5;
      pen.lineWidth = 0.9 * ratio;
      pen.stroke();
      state.sprites.set(key, made);
    }
    return state.sprites.get(key);
  };

  // the lines of a map: [x, y, x, y, colour at the start, colour at the end, width, dashed]
  const lines = () => {
    const found = [], [a, b] = data.inks, now = (at) => [x[at], y[at]];
    for (const [one, other, shade] of data.pairs) found.push([...now(one), ...now(other), shade, shade, 1.2, false]);
    if (frames > 1) for (const at of data.trails) {
      const end = data.ends ? spot(frames - 1, at) : now(at);
      found.push([...spot(0, at), ...end, a, b, most.has(at) ? 1.8 : 0.7, false]);
    }
    if (state.chosen >= 0) {
      const { kept, lost, gained } = neighbours(state.chosen), from = now(state.chosen);
      for (const [some, shade, dashed] of [[kept, ink("--st-text-color", "#333"), false], [lost, a, true], [gained, b, true]])
        for (const [at] of some) found.push([...from, ...now(at), shade, shade, 1.4, dashed]);
    }
    return found;
  };
  const compared = () => frames < 2 ? 0 : data.ends || Math.round(state.at) === 0 ? frames - 1 : Math.round(state.at);
  const neighbours = (at) => {  // [sentence, cosine in the first frame, cosine in the other one]
    const to = compared(), first = at * k, here = (to * count + at) * k;
    const one = [...near.subarray(first, first + k)], other = [...near.subarray(here, here + k)];
    const of = (some, base, from, cosines, there) => some.map((value, n) => [value, from[base + n], cosines[there + n]]);
    const inOne = of(one, first, own, after, here), inOther = of(other, here, before, own, here);
    const both = new Set(other), first10 = new Set(one);
    return { kept: inOne.filter(([one]) => both.has(one)), lost: inOne.filter(([one]) => !both.has(one)),
      gained: inOther.filter(([one]) => !first10.has(one)) };
  };

  // who is labelled: of few every sentence, whole; of many what was found or chosen, what moved most, and regions
  const wanted = () => {
    const listed = [], seen = new Set(), text = 12 * px();
    const add = (at, lines, must) => {
      if (seen.has(at) || at < 0) return;
      seen.add(at);
      listed.push({ at, lines, must, size: text, id: at });
    };
    const whole = count <= data.whole;
    if (whole) data.texts.forEach((one, at) => add(at, wrapped(one), true));
    add(state.chosen, wrapped(short(data.texts[state.chosen] ?? "", 80)), true);
    [...state.selected].slice(0, 12).forEach((at) => add(at, wrapped(short(data.texts[at], 60)), false));
    if (!state.selected.size) data.most.slice(0, count < 60 ? 10 : 5).forEach((at) => add(at, wrapped(short(data.texts[at], 52)), false));
    if (count < 60 && !state.selected.size) data.texts.forEach((one, at) => add(at, wrapped(short(one, 52)), false));
    const [from, to, share] = between();
    if (!state.selected.size) data.regions.forEach(([label, where], n) => {
      const on = (axis) => where[from][axis] + share * (where[to][axis] - where[from][axis]), { view } = state;
      listed.push({ at: -1, lines: [short(label, 40)], size: text, id: `region ${n}`, plate: true,
        x: width / 2 + (on(0) - view.x) * view.scale, y: height / 2 - (on(1) - view.y) * view.scale });
    });
    return listed;
  };
  const stroke = (some) => {
    for (const [a, b, c, d, from, to, wide, dashed] of some) {
      if (from === to) context.strokeStyle = from;
      else {
        const shade = context.createLinearGradient(a, b, c + 0.01, d);
        shade.addColorStop(0, from);
        shade.addColorStop(1, to);
        context.strokeStyle = shade;
      }
      context.globalAlpha = wide < 1 ? 0.5 : 0.9;
      context.lineWidth = wide * px();
      context.setLineDash(dashed ? [4, 3] : []);
      context.beginPath();
      context.moveTo(a, b);
      context.lineTo(c, d);
      context.stroke();
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
  };
  const draw = () => {
    ask = 0;
    const started = performance.now(), radius = size();
    position();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const text = ink("--st-text-color", "#1b2a2e"), ground = ink("--st-background-color", "#ffffff");
    const every = lines(), thick = ([, , , , , , wide]) => wide > 1.3;
    stroke(every.filter((one) => !thick(one)));
    const some = state.selected.size;
    for (const lit of some ? [false, true] : [true]) {
      context.globalAlpha = lit ? 0.9 : 0.18;
      for (let at = 0; at < count; at++) {
        if (some && state.selected.has(at) !== lit) continue;
        if (x[at] < -9 || y[at] < -9 || x[at] > width + 9 || y[at] > height + 9) continue;
        const made = sprite(shadeOf(at), some && lit ? radius + 1.5 : radius), half = made.width / ratio / 2;
        context.drawImage(made, x[at] - half, y[at] - half, 2 * half, 2 * half);
      }
    }
    stroke(every.filter(thick));  // those of the sentences that moved most, and to neighbours: over the points
    if (state.chosen >= 0) {
      context.strokeStyle = text;
      context.lineWidth = 2;
      context.beginPath();
      context.arc(x[state.chosen], y[state.chosen], radius + 4, 0, TAU);
      context.stroke();
    }
    const labels = placed(context, wanted(), { x, y, count, width, height, radius, state });
    context.textBaseline = "top";
    const font = family(context);
    for (const one of labels) {
      context.font = `${one.size}px ${font}`;
      if (!one.plate) {
        context.strokeStyle = text;  // says which point it belongs to
        context.globalAlpha = 0.35;
        context.lineWidth = 1;
        context.beginPath();
        context.moveTo(one.x, one.y);
        context.lineTo(Math.max(one.left, Math.min(one.x, one.left + one.wide)), Math.max(one.top, Math.min(one.y, one.top + one.high)));
        context.stroke();
        context.globalAlpha = 1;
      }
      if (one.plate) {
        context.fillStyle = "rgba(27,42,46,0.72)";
        context.fillRect(one.left - PAD, one.top - 1, one.wide + 2 * PAD, one.high);
      }
      one.lines.forEach((line, n) => {
        const top = one.top + 1.22 * one.size * n;
        context.lineJoin = "round";
        if (!one.plate) {
          context.strokeStyle = ground;
          context.lineWidth = 3;
          context.strokeText(line, one.left, top);
        }
        context.fillStyle = one.plate ? "#ffffff" : text;
        context.fillText(line, one.left, top);
      });
    }
    if (drag?.ring) {
      context.strokeStyle = text;
      context.setLineDash([4, 3]);
      context.beginPath();
      drag.ring.forEach(([a, b], n) => n ? context.lineTo(a, b) : context.moveTo(a, b));
      context.closePath();
      context.stroke();
      context.setLineDash([]);
    }
    Object.assign(state, { labels, x, y, radius, cost: [...(state.cost ?? []).slice(-199), performance.now() - started] });
    if (playing === null) tall();
    const shown = Math.round(state.at);
    slider.value = state.at;
    slider.setAttribute("aria-valuetext", data.frames[shown]);
    if (!data.ends) name.textContent = data.frames[shown];
    root.dataset.at = state.at.toFixed(2);
    root.dataset.drawn = data.key;
  };

  const goTo = (at, rest = true) => {
    state.at = Math.max(0, Math.min(frames - 1, at));
    redraw();
    if (!rest) return;
    if (!data.ends) answer();
    if (data.tells && Math.round(state.at) !== state.told) setTriggerValue("at", (state.told = Math.round(state.at)));
  };
  const pause = () => { cancelAnimationFrame(playing); playing = null; root.dataset.playing = ""; play.textContent = "▶ Play"; };
  const start = () => {
    if (state.at >= frames - 1) state.at = 0;
    root.dataset.playing = "yes";
    play.textContent = "❚❚ Pause";
    const seconds = frames > 2 ? 0.9 : SECONDS;
    let then = performance.now(), at = state.at;
    const move = (now) => {
      at = Math.min(frames - 1, at + (now - then) / 1000 / seconds);
      then = now;
      if (at >= frames - 1) { pause(); goTo(frames - 1); return; }
      goTo(still ? Math.floor(at) : at, false);
      playing = requestAnimationFrame(move);
    };
    playing = requestAnimationFrame(move);
  };
  play.onclick = () => { if (playing === null) start(); else { pause(); goTo(Math.round(state.at)); } };
  slider.max = frames - 1;
  slider.step = 1 / STEPS;
  slider.oninput = () => { if (playing !== null) pause(); goTo(parseFloat(slider.value), false); };
  slider.onchange = () => goTo(data.ends ? parseFloat(slider.value) : Math.round(parseFloat(slider.value)));
  slider.onkeydown = (event) => {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    if (playing !== null) pause();
    goTo(Math.round(state.at) + by);
  };

  const choose = (at) => { state.chosen = at; answer(); redraw(); };
  const entry = (at, value) => {
    const item = part("li", "", ""), button = part("button", "sentence", data.texts[at]);
    button.onclick = () => choose(at);
    item.append(button, part("span", "value", value));
    return item;
  };
  const group = (title, items, shade) => {
    if (!items.length) return;
    const heading = part("h4", "", `${title} (${items.length})`), list = part("ol", "", "");
    heading.style.borderLeft = `4px solid ${shade}`;
    list.append(...items);
    panel.append(heading, list);
  };
  const answer = () => {
    const at = state.chosen, to = compared(), change = ([one, a, b]) => entry(one, frames < 2 ? decimal(a) : `${decimal(a)} → ${decimal(b)}`);
    panel.replaceChildren();
    if (at < 0) {
      panel.append(part("p", "hint", "Click a point, or a sentence here, for its nearest neighbours."));
      const some = [...state.selected].slice(0, LISTED);
      if (some.length) {
        group("Selected", some.map((one) => entry(one, frames > 1 && moved ? decimal(moved[(frames - 1) * count + one]) : "")), data.inks[1]);
        return;
      }
      group(data.mostTitle, data.most.map((one) => entry(one, moved ? decimal(moved[(frames - 1) * count + one]) : "")), data.inks[1]);
      return;
    }
    const { kept, lost, gained } = neighbours(at), back = part("button", "back", "✕");
    back.title = back.ariaLabel = "Show what moved most";
    back.onclick = () => choose(-1);
    const head = part("p", "head", data.texts[at]);
    head.prepend(back);
    panel.append(head);
    if (frames < 2) { group(`Nearest by cosine in ${data.frames[0]}`, kept.map(change), data.inks[0]); return; }
    const far = moved ? `, moved ${decimal(moved[to * count + at])}` : "";
    panel.append(part("p", "hint", `${data.frames[0]} → ${data.frames[to]}: keeps ${kept.length} of ${k} nearest${far}. Cosines:`));
    group("Kept", kept.map(change), ink("--st-text-color", "#333"));
    group(`Lost: only in ${data.frames[0]}`, lost.map(change), data.inks[0]);
    group(`Gained: only in ${data.frames[to]}`, gained.map(change), data.inks[1]);
  };
  const legend = () => {
    const { title, groups, low, high, scale } = data.legend, line = find(".legend");
    line.replaceChildren(part("b", "", title));
    for (const [label, shade] of groups) {
      const dot = part("i", "", ""), item = part("span", "", label);
      dot.style.background = shade;
      item.prepend(dot);
      line.append(item);
    }
    if (!scale) return;
    const bar = part("i", "scale", "");
    bar.style.background = `linear-gradient(to right, ${scale.join(",")})`;
    const ends = part("span", "ends", "");
    ends.append(low, bar, high);
    line.append(ends);
  };

  const nearest = (atX, atY) => {
    let found = -1, least = (NEAR * px()) ** 2;
    for (let at = 0; at < count; at++) {
      const far = (x[at] - atX) ** 2 + (y[at] - atY) ** 2;
      if (far < least) { least = far; found = at; }
    }
    return found;
  };
  const inside = (ring, a, b) => ring.reduce((found, [c, d], n) => {
    const [e, f] = ring[(n + 1) % ring.length];
    return (d > b) !== (f > b) && a < (e - c) * (b - d) / (f - d) + c ? !found : found;
  }, false);
  const select = (chosen) => {
    Object.assign(state, { selected: new Set(chosen), chosen: -1 });
    answer();
    redraw();
    setTriggerValue("selected", [...state.selected]);
  };
  canvas.onpointerdown = (event) => {
    const here = [event.offsetX, event.offsetY];
    drag = { from: here, far: 0, ring: event.shiftKey || root.dataset.lasso ? [here] : null };
    try { canvas.setPointerCapture(event.pointerId); } catch { /* the pointer is gone */ }
    tip.hidden = true;
  };
  canvas.onpointermove = (event) => {
    const [a, b] = [event.offsetX, event.offsetY];
    if (drag) {
      drag.far += Math.hypot(a - drag.from[0], b - drag.from[1]);
      if (drag.ring) drag.ring.push([a, b]);
      else {
        const { view } = state;
        state.view = { ...view, x: view.x - (a - drag.from[0]) / view.scale, y: view.y + (b - drag.from[1]) / view.scale };
      }
      drag.from = [a, b];
      redraw();
      return;
    }
    const at = nearest(a, b);
    tip.hidden = at < 0;
    canvas.style.cursor = at < 0 ? "" : "pointer";
    if (at < 0) return;
    tip.textContent = data.values ? `${data.texts[at]} (${data.values[at]})` : data.texts[at];
    tip.style.left = `${Math.min(a + 12, Math.max(0, width - 260 * px()))}px`;
    tip.style.top = `${b + 14}px`;
  };
  canvas.onpointerup = (event) => {
    const done = drag;
    drag = null;
    if (!done) return;
    const at = done.far < DRAG ? nearest(event.offsetX, event.offsetY) : -1;
    if (done.far < DRAG && done.ring && at >= 0) {  // with the shift key one more, or one less
      select(state.selected.has(at) ? [...state.selected].filter((one) => one !== at) : [...state.selected, at]);
    } else if (done.far < DRAG) choose(at);
    else if (done.ring) select([...x.keys()].filter((one) => inside(done.ring, x[one], y[one])));
    redraw();
  };
  canvas.onpointercancel = () => { drag = null; redraw(); };
  canvas.onpointerleave = () => { tip.hidden = true; };
  canvas.ondblclick = () => { fit(); redraw(); };
  const zoom = (factor, a = width / 2, b = height / 2) => {
    const { view } = state, dx = (a - width / 2) / view.scale, dy = (b - height / 2) / view.scale;
    state.view = { x: view.x + dx - dx / factor, y: view.y - dy + dy / factor, scale: view.scale * factor };
    redraw();
  };
  canvas.onwheel = (event) => {  // the page scrolls unless the map was clicked
    if (root.getRootNode().activeElement !== canvas && !event.ctrlKey) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
  };
  find(".in").onclick = () => zoom(1.6);
  find(".out").onclick = () => zoom(1 / 1.6);
  find(".all").onclick = () => { fit(); redraw(); };
  lasso.onclick = () => { root.dataset.lasso = root.dataset.lasso ? "" : "yes"; lasso.ariaPressed = Boolean(root.dataset.lasso); };
  find(".save").onclick = () => {
    const link = document.createElement("a");
    link.download = `${data.file}.${data.picture.toLowerCase()}`;
    link.href = data.picture === "PNG" ? canvas.toDataURL("image/png") : URL.createObjectURL(new Blob([drawing()], { type: "image/svg+xml" }));
    link.click();
  };
  const drawing = () => {  // the same as SVG
    const safe = (text) => text.replace(/[&<>]/g, (one) => `&#${one.charCodeAt(0)};`), text = ink("--st-text-color", "#1b2a2e");
    const made = [`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif">`];
    for (const [a, b, c, d, , shade, wide, dashed] of lines())
      made.push(`<path d="M${a} ${b}L${c} ${d}" stroke="${shade}" stroke-width="${wide}"${dashed ? ' stroke-dasharray="4 3"' : ""}/>`);
    for (let at = 0; at < count; at++) made.push(`<circle cx="${x[at]}" cy="${y[at]}" r="${state.radius}" fill="${data.palette[shadeOf(at)]}"/>`);
    for (const one of state.labels) {
      if (one.plate) made.push(`<rect x="${one.left - PAD}" y="${one.top - 1}" width="${one.wide + 2 * PAD}" height="${one.high}" fill="#1b2a2e" opacity="0.72"/>`);
      one.lines.forEach((line, n) => made.push(`<text x="${one.left}" y="${one.top + (1.22 * n + 0.9) * one.size}" font-size="${one.size}" fill="${one.plate ? "#fff" : text}">${safe(line)}</text>`));
    }
    return [...made, "</svg>"].join("");
  };

  // the map of a page ends where the window does, whatever is above it
  const tall = () => {
    const main = document.querySelector("[data-testid=stMain]");
    if (!main) return;  // an exported talk, where its style says how high it is
    const top = root.getBoundingClientRect().top + main.scrollTop;
    const wanted = `${Math.max(320, Math.floor(window.innerHeight - top - 12))}px`;
    const needed = window.innerWidth > 700 ? wanted : "";  // on a narrow screen the list is below the map
    if (root.style.height !== needed) root.style.height = needed;
  };
  const resize = () => {
    tall();
    const box = canvas.parentElement, wide = box.clientWidth, high = box.clientHeight;
    if (!wide || !high) return;
    const other = wide !== width || high !== height;
    [width, height, ratio] = [wide, high, window.devicePixelRatio || 1];
    canvas.width = wide * ratio;
    canvas.height = high * ratio;
    if (!state.view || (other && !state.zoomed)) fit();
    redraw();
  };
  for (const one of root.querySelectorAll(".travels")) one.hidden = frames < 2;
  find(".from").textContent = data.ends && frames > 1 ? data.frames[0] : "";
  find(".to").textContent = data.ends && frames > 1 ? data.frames[frames - 1] : "";
  if (data.ends) [find(".from").style.color, find(".to").style.color] = data.inks;
  name.hidden = data.ends;
  find(".kind").textContent = data.title;
  canvas.ariaLabel = data.alt;
  if (playing === null) pause();
  legend();
  answer();
  const watcher = new ResizeObserver(resize);
  watcher.observe(canvas.parentElement);
  const measuring = setInterval(tall, 300);  // nothing tells that a longer answer above has moved the map down
  resize();
  return () => {
    watcher.disconnect();
    clearInterval(measuring);
    cancelAnimationFrame(ask);
    cancelAnimationFrame(playing);
  };
}
