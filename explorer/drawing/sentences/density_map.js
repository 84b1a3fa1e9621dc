// Draw a map of very many points on a canvas: their density where many are in view, else the points themselves.
// Every frame is drawn anew from the positions, which takes milliseconds: panning asks nothing of the server.
const FEW = 20000, SIDE = 4, NEAR = 8, DRAG = 4;

export default function (component) {
  const { parentElement, data, setTriggerValue } = component;
  const root = parentElement.querySelector(".density-map");
  const canvas = root.querySelector("canvas"), tip = root.querySelector(".tip"), told = root.querySelector(".told");
  const bytes = Uint8Array.from(atob(data.places), (one) => one.charCodeAt(0));
  const places = new Float32Array(bytes.buffer), count = places.length / 2, texts = data.texts;
  const context = canvas.getContext("2d");
  let view, picture, pixels, counts, frame = 0, drawn = { few: false };

  const fit = () => {
    const { low, high } = data;
    const scale = 0.94 * Math.min(canvas.width / (high[0] - low[0]), canvas.height / (high[1] - low[1]));
    view = { x: (low[0] + high[0]) / 2, y: (low[1] + high[1]) / 2, scale };
  };
  const resize = () => {
    const width = Math.max(200, Math.floor(root.clientWidth));
    if (canvas.width === width && picture) return;
    const first = !view;
    canvas.width = width;
    picture = context.createImageData(canvas.width, canvas.height);
    pixels = new Uint32Array(picture.data.buffer);
    counts = new Uint16Array(Math.ceil(canvas.width / 2) * Math.ceil(canvas.height / 2));
    if (first) fit();
    ask();
  };
  const ask = () => { if (!frame) frame = requestAnimationFrame(draw); };

  const draw = () => {
    frame = 0;
    const w = canvas.width, h = canvas.height, half = Math.ceil(w / 2);
    const left = w / 2 - view.x * view.scale, top = h / 2 + view.y * view.scale, scale = view.scale;
    counts.fill(0);
    pixels.fill(0);
    let seen = 0, largest = 1;
    for (let at = 0; at < count; at++) {
      const x = places[2 * at] * scale + left, y = top - places[2 * at + 1] * scale;
      if (x < 0 || y < 0 || x >= w || y >= h) continue;
      seen++;
      const cell = (y >> 1) * half + (x >> 1);
      if (++counts[cell] > largest) largest = counts[cell];
    }
    const few = seen <= FEW;
    if (few) {
      for (let at = 0; at < count; at++) {
        const x = places[2 * at] * scale + left, y = top - places[2 * at + 1] * scale;
        if (x < 0 || y < 0 || x >= w || y >= h) continue;
        const endX = Math.min(w, (x | 0) + SIDE), endY = Math.min(h, (y | 0) + SIDE);
        for (let py = y | 0; py < endY; py++) for (let px = x | 0; px < endX; px++) pixels[py * w + px] = 0xd9d69400;
      }
    } else {
      const most = Math.log1p(largest);
      for (let y = 0; y < h; y++) for (let x = 0; x < w; x++) {
        const here = counts[(y >> 1) * half + (x >> 1)];
        if (here) pixels[y * w + x] = ((60 + 195 * (Math.log1p(here) / most)) << 24 >>> 0) | 0xd69400;
      }
    }
    context.putImageData(picture, 0, 0);
    if (!few) names(left, top, scale);
    drawn = { few, seen };
    root.dataset.seen = seen;
    root.dataset.mode = few ? "points" : "density";
    told.textContent = `${seen.toLocaleString("en")} of ${count.toLocaleString("en")} in view, as ` +
      (few ? "points: hover to read, click for neighbours" : "density: scroll to zoom in");
  };
  const names = (left, top, scale) => {
    const text = 0.75 * parseFloat(getComputedStyle(document.documentElement).fontSize);  // 12 pixels, unless presented
    context.font = `${text}px ${getComputedStyle(canvas).fontFamily}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const shown = [];
    for (const [name, x, y] of data.names) {  // the largest clusters first: a name that would cover another is left out
      const atX = x * scale + left, atY = top - y * scale, wide = context.measureText(name).width / 2 + 4;
      if (shown.some(([oneX, oneY, one]) => Math.abs(oneX - atX) < one + wide && Math.abs(oneY - atY) < text * 5 / 3)) continue;
      shown.push([atX, atY, wide]);
      context.fillStyle = "rgba(27,42,46,0.78)";
      context.fillRect(atX - wide, atY - 0.75 * text, 2 * wide, 1.5 * text);
      context.fillStyle = "#ffffff";
      context.fillText(name, atX, atY);
    }
  };
  const nearest = (x, y) => {
    const mapX = view.x + (x - canvas.width / 2) / view.scale, mapY = view.y - (y - canvas.height / 2) / view.scale;
    let found = -1, least = (NEAR / view.scale) ** 2;
    for (let at = 0; at < count; at++) {
      const dx = places[2 * at] - mapX, dy = places[2 * at + 1] - mapY, far = dx * dx + dy * dy;
      if (far < least) { least = far; found = at; }
    }
    return found;
  };
  const zoom = (factor, x = canvas.width / 2, y = canvas.height / 2) => {
    const dx = (x - canvas.width / 2) / view.scale, dy = (y - canvas.height / 2) / view.scale;
    view = { x: view.x + dx - dx / factor, y: view.y - dy + dy / factor, scale: view.scale * factor };
    ask();
  };

  let from = null, moved = 0;
  canvas.onpointerdown = (event) => {
    from = [event.offsetX, event.offsetY];
    moved = 0;
    canvas.setPointerCapture(event.pointerId);
    tip.hidden = true;
  };
  canvas.onpointermove = (event) => {
    const x = event.offsetX, y = event.offsetY;
    if (from) {
      moved += Math.abs(x - from[0]) + Math.abs(y - from[1]);
      view = { ...view, x: view.x - (x - from[0]) / view.scale, y: view.y + (y - from[1]) / view.scale };
      from = [x, y];
      ask();
      return;
    }
    const at = drawn.few ? nearest(x, y) : -1;
    tip.hidden = at < 0;
    if (at >= 0) {
      tip.textContent = texts[at];
      tip.style.left = `${Math.min(x + 12, Math.max(0, canvas.width - 260))}px`;
      tip.style.top = `${y + 14}px`;
    }
  };
  canvas.onpointerup = (event) => {
    const at = from && moved < DRAG && drawn.few ? nearest(event.offsetX, event.offsetY) : -1;
    from = null;
    if (at >= 0) setTriggerValue("picked", at);
  };
  canvas.onpointercancel = () => { from = null; };
  canvas.onpointerleave = () => { tip.hidden = true; };
  canvas.ondblclick = () => { fit(); ask(); };
  canvas.onwheel = (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
  };
  root.querySelector(".in").onclick = () => zoom(2);
  root.querySelector(".out").onclick = () => zoom(0.5);
  root.querySelector(".all").onclick = () => { fit(); ask(); };
  const watcher = new ResizeObserver(resize);
  watcher.observe(root);
  resize();
  return () => { watcher.disconnect(); cancelAnimationFrame(frame); };
}
