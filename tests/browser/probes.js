"use strict";
// What the tests ask of a page that a browser shows. Evaluated over the DevTools protocol, so no policy forbids it.
window.probes = (() => {
  const frames = (n) => new Promise((done) => { const step = () => (n-- > 0 ? requestAnimationFrame(step) : done()); step(); });
  const shown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });

  // Scrolls through the page as a reader does, until every figure is drawn.
  const readThrough = async () => {
    const boxes = [...document.querySelectorAll(".drawing")];
    for (const box of boxes) {
      const { top, height } = box.getBoundingClientRect();
      // In Chromium 150, scrollIntoView also moves the place from which Tab starts; a reader's scrolling does not.
      scrollBy({ top: top + (height - innerHeight) / 2, behavior: "instant" });
      for (let i = 0; i < 600 && !box.querySelector("svg, canvas") && !box.textContent; i++) await frames(1);
    }
    await frames(2);
    return boxes.filter((box) => !box.querySelector("svg, canvas")).map((box) => box.closest("figure")?.id ?? "a drawing");
  };

  // The corners of a text on the screen, turned as it is; glyphs are lower than the line they stand in.
  const corners = (text) => {
    const { x, y, width, height } = text.getBBox();
    const [left, right, top, bottom] = [x + 0.5, x + width - 0.5, y + 0.2 * height, y + 0.85 * height];
    const matrix = text.getScreenCTM();
    return [[left, top], [right, top], [right, bottom], [left, bottom]].map(([a, b]) => new DOMPoint(a, b).matrixTransform(matrix));
  };
  // Two convex shapes are apart when an edge of one has all of the other beyond it.
  const apart = (one, other) => one.some((p, i) => {
    const q = one[(i + 1) % one.length];
    const side = (r) => (q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x);
    return other.every((r) => side(r) <= 0);
  });
  const texts = (drawing) => [...drawing.querySelectorAll("svg text")].filter((t) => t.textContent.trim() && shown(t) && t.getBBox().width > 1);
  const near = (p, q) => Math.abs(p[0].x - q[0].x) < 700 && Math.abs(p[0].y - q[0].y) < 700;

  // Texts of a drawing that lie on each other, and texts that its edge cuts.
  const collisions = () => {
    const found = [];
    for (const drawing of document.querySelectorAll(".drawing")) {
      const id = drawing.closest("figure")?.id ?? "a drawing";
      const all = texts(drawing).map((t) => [t.textContent, corners(t), t.ownerSVGElement]);
      for (let i = 0; i < all.length; i++) {
        for (let j = i + 1; j < all.length; j++) {
          const [[a, p], [b, q]] = [all[i], all[j]];
          if (near(p, q) && !apart(p, q) && !apart(q, p)) found.push(`${id}: "${a}" lies on "${b}"`);
        }
        const [text, at, svg] = all[i];
        const edge = svg.getBoundingClientRect();
        if (at.some((r) => r.x < edge.left - 1.5 || r.x > edge.right + 1.5 || r.y < edge.top - 1.5 || r.y > edge.bottom + 1.5)) found.push(`${id}: "${text}" is cut`);
      }
    }
    return found;
  };

  // Contrast of the texts of drawings with the page, after the definition of the WCAG.
  const light = (colour) => {
    const parts = colour.match(/[\d.]+/g).map(Number);
    const [r, g, b] = parts.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const paper = () => getComputedStyle(document.body).backgroundColor;
  const faint = () => {
    const found = new Set();
    for (const drawing of document.querySelectorAll(".drawing")) for (const text of texts(drawing)) {
      const { fill, fillOpacity, opacity } = getComputedStyle(text);
      const is = contrast(fill, paper());
      if (is < 4.5 || fillOpacity * opacity < 0.85) found.add(`${drawing.closest("figure")?.id}: "${text.textContent}" has ${is.toFixed(1)} (opacity ${fillOpacity * opacity})`);
    }
    return [...found];
  };

  // Elements of the body that reach beyond the window, but those inside a box that scrolls.
  const wide = () => {
    const edge = document.documentElement.clientWidth;
    const scrolls = (e) => e && e !== document.body && (getComputedStyle(e).overflowX !== "visible" || scrolls(e.parentElement));
    const beyond = [...document.body.querySelectorAll("*")].filter((e) => shown(e) && !e.closest(".unseen, .skip") && e.getBoundingClientRect().right > edge + 0.5 && !scrolls(e.parentElement));
    const body = document.documentElement.scrollWidth > edge ? [`the page is ${document.documentElement.scrollWidth} wide`] : [];
    return [...body, ...beyond.map((e) => `${e.tagName.toLowerCase()} ${e.className} "${e.textContent.slice(0, 40)}"`)].slice(0, 20);
  };

  // What the tab key must reach, in order: each by a number that `focused` knows again.
  const controls = () => {
    const all = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")];
    const reached = all.filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.tabIndex >= 0
      && !(e.type === "radio" && !e.checked && document.querySelector(`input[name="${CSS.escape(e.name)}"]:checked`)));
    window.reached = reached;
    return reached.map((e) => `${e.tagName.toLowerCase()} ${e.id || e.className} "${(e.getAttribute("aria-label") ?? e.textContent).trim().slice(0, 40)}"`);
  };
  const focused = () => {
    const now = document.activeElement;
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(now);
    const box = now.getBoundingClientRect();
    const seen = box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
    return { at: window.reached.indexOf(now), ring: (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || boxShadow !== "none", seen, body: now === document.body };
  };

  // How far things moved that were already in sight, each time (the browser's own measure; 0.1 is called good).
  const shifts = [];
  const moved = ({ node, previousRect: from, currentRect: to }) =>
    `${node?.closest?.("[id]")?.id ?? node?.nodeName} (${node?.nodeName}) from ${from.y} to ${to.y} of ${innerWidth} x ${innerHeight}, scrolled by ${Math.round(scrollY)}`;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) shifts.push([entry.value, entry.sources.map(moved).join(", ")]);
  }).observe({ type: "layout-shift", buffered: true });

  return { readThrough, collisions, faint, wide, controls, focused, shift: () => shifts };
})();
