/* Every text that a page cuts off, as an array of {text, where, needs, has}: it is wider than its box, and nothing scrolls.

A field scrolls with the cursor: it may be too short for a value that is written elsewhere on the page as well. Code, and
texts of many lines, scroll. */
() => {
    const shown = document.body.innerText;
    const found = [], cut = (element, text, needs, has) => {
        const where = element.closest("[data-testid]")?.dataset.testid ?? element.tagName;
        found.push({text: text.slice(0, 60), where, needs: Math.round(needs), has: Math.round(has)});
    };
    for (const element of document.querySelectorAll("body *:not(pre, pre *, textarea, script, style)")) {
        const field = element.tagName === "INPUT", text = field ? element.value : element.textContent.trim();
        const style = getComputedStyle(element);
        if (!text || element.clientWidth < 2 || style.visibility === "hidden") continue;
        const scrolls = ["auto", "scroll"].includes(style.overflowX) && !element.closest("[data-testid=stButtonGroup]");
        if (field ? shown.includes(text) : style.overflowX === "visible" || scrolls) continue;
        if (element.scrollWidth > element.clientWidth + 1) cut(element, text, element.scrollWidth, element.clientWidth);
    }
    for (const text of document.querySelectorAll(".js-plotly-plot .main-svg text")) {
        const box = text.getBoundingClientRect(), figure = text.closest(".svg-container").getBoundingClientRect();
        if (!text.textContent || box.width < 2) continue;
        const out = Math.max(figure.left - box.left, box.right - figure.right, figure.top - box.top, 0);
        if (out > 1) cut(text, text.textContent, box.width, box.width - out);
    }
    return found;
}
