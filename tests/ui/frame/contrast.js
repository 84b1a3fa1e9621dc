/* The contrast (WCAG 2.2) of every text that a page shows, as an array of {text, where, ratio, least}.

What is behind a text: the backgrounds of its ancestors, and in a figure also the filled shapes and pictures drawn under
its middle. Disabled controls are left out, as WCAG allows, and so is what is transparent. */
() => {
    const pixel = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
    const once = make => {  // a function of one argument that is computed once for each
        const made = new Map();
        return key => made.has(key) ? made.get(key) : made.set(key, make(key)).get(key);
    };
    const parts = once(colour => {  // of any colour that CSS can write, with its opacity from 0 to 1
        pixel.clearRect(0, 0, 1, 1);
        pixel.fillStyle = colour;
        pixel.fillRect(0, 0, 1, 1);
        const [red, green, blue, opacity] = pixel.getImageData(0, 0, 1, 1).data;
        return [red, green, blue, opacity / 255];
    });
    const over = ([red, green, blue, opacity], under) =>
        [red, green, blue].map((part, at) => opacity * part + (1 - opacity) * under[at]);
    const luminance = colour => colour
        .map(part => part / 255)
        .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
    const chain = once(element => element ? [...chain(element.parentElement), element] : []);
    const opacity = once(element => element ? opacity(element.parentElement) * +getComputedStyle(element).opacity : 1);
    const layer = once(element =>
        ({box: element.getBoundingClientRect(), colour: parts(getComputedStyle(element).backgroundColor)}));
    const picture = once(image => {
        const box = image.getBoundingClientRect();
        const canvas = new OffscreenCanvas(Math.ceil(box.width), Math.ceil(box.height));
        const context = canvas.getContext("2d", {willReadFrequently: true});
        context.imageSmoothingEnabled = false;
        context.drawImage(image, 0, 0, canvas.width, canvas.height);
        return context;
    });
    const inPicture = (image, box, x, y) => {
        const [red, green, blue, share] = picture(image).getImageData(x - box.x, y - box.y, 1, 1).data;
        return [red, green, blue, share / 255];
    };
    // of a figure: what is filled, with its box and its colour
    const filled = once(figure => [...figure.querySelectorAll("image, rect, path")].map(shape => {
        const style = getComputedStyle(shape), image = shape.tagName === "image";
        const colour = image || style.fill === "none" ? [0, 0, 0, 0] : parts(style.fill);
        const share = opacity(shape) * (image ? 1 : +style.fillOpacity);
        return {shape, image, share, colour, box: shape.getBoundingClientRect()};
    }).filter(one => one.share > 0 && (one.image || one.colour[3] > 0) && one.box.width * one.box.height > 0));
    const ground = (element, x, y) => {
        let colour = [255, 255, 255];
        for (const at of chain(element)) {
            const {box, colour: own} = layer(at);  // a text may stand outside of its ancestor, as a slider's does
            const inside = x >= box.left && x < box.right && y >= box.top && y < box.bottom;
            if (inside || at === document.body) colour = over(own, colour);
        }
        const figure = element.closest("svg") && element.closest(".js-plotly-plot");
        for (const {shape, image, share, colour: own, box} of figure ? filled(figure) : []) {
            if (x < box.left || x >= box.right || y < box.top || y >= box.bottom) continue;
            if (!(shape.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING)) continue;
            const [red, green, blue, part] = image ? inPicture(shape, box, x, y) : own;
            colour = over([red, green, blue, part * share], colour);
        }
        return colour;
    };
    const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const text = node.textContent.trim(), element = node.parentElement;
        if (!text || element.closest("script, style, noscript, [disabled], [aria-disabled=true]")) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        const box = range.getBoundingClientRect(), style = getComputedStyle(element), share = opacity(element);
        if (box.width < 2 || box.height < 2 || style.visibility === "hidden" || share === 0) continue;
        const svg = element.closest("svg");
        const behind = ground(element, box.x + box.width / 2, box.y + box.height / 2);
        const [red, green, blue, part] = parts(svg ? style.fill : style.color);
        const drawn = over([red, green, blue, part * share * (svg ? +style.fillOpacity : 1)], behind);
        const [darker, lighter] = [behind, drawn].map(luminance).sort((one, other) => one - other);
        const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && +style.fontWeight >= 700);
        found.push({
            text: text.slice(0, 40),
            where: svg ? `.${element.closest("[class]")?.getAttribute("class")}` :
                element.closest("[data-testid]")?.dataset.testid ?? element.tagName,
            ratio: (lighter + 0.05) / (darker + 0.05),
            least: large ? 3 : 4.5,
            colours: `${svg ? style.fill : style.color} on ${behind.map(Math.round)}`,
        });
    }
    return found;
}
