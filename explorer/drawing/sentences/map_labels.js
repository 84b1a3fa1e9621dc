// Where the labels of a map are: next to their points, over neither a label nor a point.
const PLATE = 16000;  // square pixels of a map for each name of a region
const CELL = 4, PAD = 3, WRAP = 26, CIRCLE = 2 * Math.PI, TURNS = 16;
const RINGS = [0.9, 1.6, 2.6, 4, 6, 8.5], FAR = [...RINGS, 12, 16, 21, 27, 34];  // distances, in heights of a text

const wrapped = (text) => {
  const found = [""];
  for (const word of text.split(/\s+/)) {
    const last = found[found.length - 1];
    if (last && last.length + word.length + 1 > WRAP) found.push(word);
    else found[found.length - 1] = last ? `${last} ${word}` : word;
  }
  return found;
};
const short = (text, most) => text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text;
const family = (context) => getComputedStyle(context.canvas).fontFamily;  // that of the page
// Each label at the free place next to its point; one that is not needed and finds none is left out
const placed = (context, wanted, { x, y, count, width, height, radius, state }) => {
  const across = Math.ceil(width / CELL) + 1, down = Math.ceil(height / CELL) + 1;
  const sums = new Int32Array((across + 1) * (down + 1));
  for (let at = 0; at < count; at++) {
    if (state.selected.size && !state.selected.has(at) && at !== state.chosen) continue;  // a pale point may be covered
    const column = Math.floor(x[at] / CELL), row = Math.floor(y[at] / CELL);
    if (column >= 0 && row >= 0 && column < across && row < down) sums[(row + 1) * (across + 1) + column + 1]++;
  }
  for (let row = 1; row <= down; row++) for (let column = 1; column <= across; column++) {
    const here = row * (across + 1) + column;
    sums[here] += sums[here - 1] + sums[here - across - 1] - sums[here - across - 2];
  }
  const points = (left, top, w, h) => {
    const cut = (value, most) => Math.max(0, Math.min(most, value)), edge = radius + 1;
    const c = cut(Math.floor((left - edge) / CELL), across), d = cut(Math.ceil((left + w + edge) / CELL), across);
    const r = cut(Math.floor((top - edge) / CELL), down), s = cut(Math.ceil((top + h + edge) / CELL), down), wide = across + 1;
    return sums[s * wide + d] - sums[r * wide + d] - sums[s * wide + c] + sums[r * wide + c];
  };
  const marked = [...state.selected, state.chosen].filter((at) => at >= 0).slice(0, 500);
  const shown = [], last = state.last ?? new Map(), next = new Map(), font = family(context);
  for (const label of wanted) {
    if (label.plate && shown.filter((one) => one.plate).length * PLATE >= width * height) continue;  // few on a small map
    context.font = `${label.size}px ${font}`;
    const high = 1.22 * label.size * label.lines.length, wide = Math.max(...label.lines.map((one) => context.measureText(one).width));
    const [atX, atY] = label.at < 0 ? [label.x, label.y] : [x[label.at], y[label.at]];
    if (atX < 0 || atY < 0 || atX > width || atY > height) continue;
    let best = null;
    const rings = label.plate ? [0, ...RINGS.slice(0, 4)] : label.must ? FAR : RINGS;  // the name of a region stays with it
    for (let ring = 0; ring < rings.length; ring++) for (let turn = 0; turn < (rings[ring] ? TURNS : 1); turn++) {
      const angle = CIRCLE * turn / TURNS, cos = Math.cos(angle), sin = Math.sin(angle), far = rings[ring] * label.size;
      // the middle of a box whose edge is `far` away from the point in this direction
      const left = atX + cos * (wide / 2 + far) - wide / 2, top = atY + sin * (high / 2 + far) - high / 2;
      if (left < 1 || top < 1 || left + wide > width - 1 || top + high > height - 1) continue;
      let clash = 0;
      for (const one of shown) {
        const w = Math.min(left + wide, one.left + one.wide) - Math.max(left, one.left) + PAD;
        const h = Math.min(top + high, one.top + one.high) - Math.max(top, one.top) + PAD;
        if (w > 0 && h > 0) clash += w * h;
      }
      if (clash && !label.must) continue;
      const covers = points(left, top, wide, high), kept = last.get(label.id) === `${ring} ${turn}`;
      const hidden = marked.some((at) => x[at] > left - radius && x[at] < left + wide + radius && y[at] > top - radius && y[at] < top + high + radius);
      if (hidden && !label.must && !label.plate) continue;
      if (covers && !label.must && !label.plate) continue;
      const cost = 50 * clash + (hidden ? 400 : 0) + (label.must ? 400 : 40) * covers + far - (kept ? 25 : 0);
      if (!best || cost < best.cost) best = { left, top, wide, high, cost, spot: `${ring} ${turn}`, covers, clash };
    }
    if (!best || (label.plate && best.cost > 2000)) continue;
    next.set(label.id, best.spot);
    shown.push({ ...label, ...best, x: atX, y: atY });
  }
  state.last = next;
  return shown;
};

