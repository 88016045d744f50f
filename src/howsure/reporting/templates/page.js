"use strict";
// Draws figures when they come near, tables when they are opened. Every name is shown as text.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const labels = read("labels");
  // Columns of words hold each word once.
  const columnsOf = (id) => {
    const columns = read(`table-${id}`);
    for (const [name, values] of Object.entries(columns)) if (!Array.isArray(values)) columns[name] = values.at.map((place) => values.names[place]);
    return columns;
  };
  const element = (tag, text, name) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  };

  // Tables
  const shown = (value) => {
    if (value === null || value === "") return "–";
    if (typeof value !== "number") return String(value);
    return (Number.isInteger(value) ? value.toLocaleString("en-US") : String(Number(value.toPrecision(4)))).replace("-", "−");
  };
  // A table of numbers begins with 200 rows, so that one of 10,000 opens at once; it can be sorted and searched.
  const ROWS = 200;
  // An id that is a hash shows its first digits; its title has all of them.
  const HASH = /^%HASH%$/;
  const fill = (details) => {
    const columns = columnsOf(details.dataset.table);
    const part = details.dataset.table.split("-")[0];
    const names = Object.keys(columns).filter((name) => labels[name]);
    const numeric = names.map((name) => columns[name].some((value) => typeof value === "number"));
    const words = columns.question && document.getElementById(`questions-${part}`) ? questionsOf(part).words : new Map();
    const all = Array.from({ length: columns[names[0]].length }, (_, row) => row);
    const texts = all.map((row) => [...names.filter((_, i) => !numeric[i]).map((name) => columns[name][row] ?? ""), words.get(columns.question?.[row]) ?? ""].join("\n").toLowerCase());
    let rows = all, most = ROWS;
    const table = element("table"), head = table.createTHead().insertRow(), body = table.createTBody();
    const status = element("span", "", "status"), more = element("button", "", "more");
    const show = () => {
      body.replaceChildren();
      for (const row of rows.slice(0, most)) {
        const line = body.insertRow();
        names.forEach((name, i) => {
          const cell = element("td", undefined, numeric[i] ? "n" : ""), value = columns[name][row];
          if (name === "question" && words.size + questionsOf(part).names.length) {
            const short = shown(value).replace(HASH, "$1…"), link = element("a", short);
            if (short !== shown(value)) link.title = value;
            link.href = `#${new URLSearchParams({ q: value, b: part })}`;
            if (words.get(value)) link.title = [link.title, words.get(value)].filter(Boolean).join("\n");
            cell.append(link);
          } else cell.textContent = shown(value);
          line.append(cell);
        });
      }
      status.textContent = `${Math.min(most, rows.length).toLocaleString("en-US")} of ${all.length.toLocaleString("en-US")} rows${rows.length < all.length ? `, ${rows.length.toLocaleString("en-US")} match` : ""}`;
      more.hidden = rows.length <= most;
      more.textContent = `Show ${Math.min(1000, rows.length - most).toLocaleString("en-US")} more rows`;
    };
    const order = (place, heading) => {
      const values = columns[names[place]], down = heading.getAttribute("aria-sort") ? heading.getAttribute("aria-sort") === "ascending" : numeric[place];
      for (const other of head.cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const compare = numeric[place] ? (x, y) => x - y : (x, y) => String(x).localeCompare(String(y), "en", { numeric: true });
      // What is unknown stays last.
      const place_of = (x, y) => (values[x] === null) - (values[y] === null) || (values[x] === null ? 0 : down ? compare(values[y], values[x]) : compare(values[x], values[y]));
      all.sort(place_of);
      rows = [...rows].sort(place_of);
      show();
    };
    names.forEach((name, i) => {
      const cell = element("th", undefined, numeric[i] ? "n" : ""), button = element("button", labels[name], "sort");
      cell.scope = "col";
      button.type = "button";
      button.addEventListener("click", () => order(i, cell));
      cell.append(button);
      head.append(cell);
    });
    more.type = "button";
    more.addEventListener("click", () => { most += 1000; show(); });
    const search = searchBox("Rows that contain", (wanted) => {
      rows = all.filter((row) => texts[row].includes(wanted));
      most = ROWS;
      show();
    });
    search.append(status);
    const box = element("div", undefined, "scroll");
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", "Table");
    box.append(table);
    details.append(...(all.length > 5 ? [search] : []), box, more);
    show();
  };
  let searches = 0;
  const searchBox = (text, act) => {
    const box = element("div", undefined, "search"), label = element("label", text), input = element("input");
    label.htmlFor = input.id = `search-${++searches}`;
    Object.assign(input, { type: "search", autocomplete: "off", spellcheck: false });
    input.addEventListener("input", () => act(input.value.trim().toLowerCase()));
    box.append(label, input);
    return box;
  };
  for (const details of document.querySelectorAll("details.numbers")) {
    details.addEventListener("toggle", () => fill(details), { once: true });
  }

  // Downloads
  const field = (value) => {
    if (value === null) return "";
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const save = (button) => {
    const columns = columnsOf(button.dataset.table);
    const names = Object.keys(columns);
    const lines = [names.join(",")];
    for (let row = 0; row < columns[names[0]].length; row++) lines.push(names.map((name) => field(columns[name][row])).join(","));
    offer(lines, button.dataset.name);
  };
  const offer = (lines, name) => {
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([`${lines.join("\r\n")}\r\n`], { type: "text/csv" }));
    link.download = `${name}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  for (const button of document.querySelectorAll("button.csv[data-table]")) button.addEventListener("click", () => save(button));

  // Long tables of scores
  document.body.classList.add("folded");
  for (const button of document.querySelectorAll("button.more")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") === "false";
      button.setAttribute("aria-expanded", String(open));
      document.getElementById(button.getAttribute("aria-controls")).classList.toggle("long", !open);
      button.textContent = open ? "Show the first 12 models" : button.dataset.all;
    });
    button.dataset.all = button.textContent;
  }

  // Listings are sorted by a click on a heading, numbers from the largest at first; again, the other way round.
  const value = (cell) => {
    const text = cell.textContent.trim();
    const number = Number.parseFloat(text.replaceAll(",", "").replace("−", "-").replace(/^[<>]/, ""));
    return cell.classList.contains("n") ? number : text;
  };
  const sort = (table, place, heading) => {
    const body = table.tBodies[0];
    const numeric = heading.classList.contains("n");
    const before = heading.getAttribute("aria-sort");
    const down = before ? before === "ascending" : numeric;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const keyed = [...body.rows].map((row) => [value(row.cells[place]), row]);
    const compare = numeric ? (a, b) => a - b : (a, b) => a.localeCompare(b, "en", { numeric: true });
    // What is unknown stays last.
    keyed.sort(([a], [b]) => Number.isNaN(a) - Number.isNaN(b) || (down ? compare(b, a) : compare(a, b)));
    body.append(...keyed.map(([, row]) => row));
  };
  for (const table of document.querySelectorAll(".listing table, table.index, table.answer")) {
    if (table.tBodies[0].rows.length < 3) continue;
    [...table.tHead.rows[0].cells].forEach((heading, place) => {
      if (heading.matches(".axis")) return;
      const button = element("button", heading.textContent, "sort");
      button.type = "button";
      button.addEventListener("click", () => sort(table, place, heading));
      heading.replaceChildren(button);
    });
  }

  // The questions of a benchmark from the hardest to the easiest, and the first words of those whose texts are here
  const ordered = new Map();
  const questionsOf = (part) => {
    if (!ordered.has(part)) {
      const script = document.getElementById(`questions-${part}`);
      const index = script ? JSON.parse(script.textContent) : { names: [] };
      const words = new Map(index.names.map((name, i) => [name, index.openings?.[i]]));
      ordered.set(part, { names: columnsOf(`${part}-questions`).question, words });
    }
    return ordered.get(part);
  };
  const clicked = (figure, spec, datum) => {
    if (spec.usermeta?.click === "question") return datum?.question;
    if (spec.usermeta?.click === "place" && datum?.place !== undefined) return questionsOf(figure.id.split("-")[0]).names[datum.place];
    return undefined;
  };

  // Models of a long table of scores are found by a part of their name.
  for (const table of document.querySelectorAll("table.answer")) {
    const rows = [...table.tBodies[0].rows], folded = table.classList.contains("long");
    if (rows.length < 11) continue;
    const button = document.querySelector(`button.more[aria-controls="${table.id}"]`);
    // Its place is held from the start, so that nothing below moves.
    table.parentElement.previousElementSibling.append(searchBox("Models that contain", (wanted) => {
      for (const row of rows) row.hidden = !row.querySelector("th").textContent.toLowerCase().includes(wanted);
      table.classList.toggle("long", folded && !wanted && button?.getAttribute("aria-expanded") === "false");
      if (button) button.hidden = Boolean(wanted);
    }));
  }

  // Scores of all questions and models
  for (const button of document.querySelectorAll("button.scores-csv")) {
    const part = button.dataset.part, script = document.getElementById(`questions-${part}`);
    const index = script && JSON.parse(script.textContent);
    if (!index?.n) continue;
    button.hidden = false;
    button.addEventListener("click", () => {
      const of = (m, i) => (Array.isArray(index.n[m]) ? index.n[m][i] : index.n[m]);
      const lines = [["question", ...index.models].map(field).join(",")];
      index.names.forEach((name, i) => lines.push([name, ...index.models.map((_, m) => (of(m, i) ? index.total[m][i] / of(m, i) : null))].map(field).join(",")));
      offer(lines, `${part}-question-scores`);
    });
  }

  // Tooltips
  const tip = element("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const tooltip = (figure, spec) => (handler, event, item, value) => {
    tip.hidden = value === null || value === undefined || value === "";
    if (tip.hidden) return;
    tip.replaceChildren();
    if (typeof value === "object") {
      const list = element("dl");
      const question = clicked(figure, spec, item?.datum);
      const words = question === undefined ? undefined : questionsOf(figure.id.split("-")[0]).words.get(question);
      const named = question !== undefined && !Object.values(value).includes(question) ? { Question: question } : {};
      for (const [name, text] of Object.entries({ ...named, ...value })) list.append(element("dt", name), element("dd", text === null || text === "null" ? "–" : String(text)));
      tip.append(list);
      if (words) tip.append(element("p", words, "words"));
    } else tip.textContent = String(value);
    const width = document.documentElement.clientWidth;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, width - tip.offsetWidth - 8))}px`;
    tip.style.top = `${event.clientY + 14 + tip.offsetHeight > window.innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 14}px`;
  };

  // Figures
  const views = new Map();
  const refuse = () => Promise.reject(new Error("this page loads nothing"));
  // Names that are longer than there is room for lose their middle: models differ at both ends.
  const LABEL = "length(datum.label) > 36 ? slice(datum.label, 0, 16) + '…' + slice(datum.label, -19) : datum.label";
  // The cut is where most names stay different, as shorten_label of chart_elements.py has it.
  const shortLabel = (most, names = []) => {
    const middle = Math.floor(((most - 1) * 19) / 35);
    const long = names.filter((name) => name.length > most);
    const different = (last, margin) => new Set(long.map((name) => JSON.stringify([name.slice(0, Math.max(most - 1 - last - margin, 0)), name.slice(margin - last)]))).size;
    const rank = (last) => [different(last, 0), different(last, 2), -Math.abs(last - middle)];
    let last = middle;
    if (long.length) {
      let best = null;
      for (let one = 3; one < Math.max(most - 3, 4); one += 1) {
        const its = rank(one);
        const first = best && its.findIndex((part, i) => part !== best[i]);
        if (!best || (first >= 0 && its[first] > best[first])) [best, last] = [its, one];
      }
    }
    return `length(datum.label) > ${most} ? slice(datum.label, 0, ${most - 1 - last}) + '…' + slice(datum.label, -${last}) : datum.label`;
  };
  // As many characters as have room; capitals and Chinese take more of it than other letters.
  const pen = document.createElement("canvas").getContext("2d");
  const fit = (room, names = []) => {
    pen.font = "12px system-ui, sans-serif";
    const widths = names.filter((name) => typeof name === "string" && name).map((name) => pen.measureText(name).width / name.length);
    return Math.min(36, Math.floor(room / Math.max(7.2, widths.reduce((sum, width) => sum + width, 0) / Math.max(widths.length, 1))));
  };
  const NAME = LABEL.replaceAll("datum.label", "datum.model");
  // Marks that change the direction of text would show a name as another one; a question is found by its own.
  const plain = (value) => (typeof value === "string" ? value.replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd") : value);
  const plainColumns = (columns) => Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, name === "question" || !Array.isArray(values) ? values : values.map(plain)]));
  const shortened = (value, room, inside) => {
    if (Array.isArray(value)) return value.map((part) => shortened(part, room, inside));
    if (value === null || typeof value !== "object") return plain(value);
    const changed = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, name === "datasets" ? part : shortened(part, room, inside)]));
    if (value.expr === NAME) changed.expr = inside.replaceAll("datum.label", "datum.model");
    const names = Array.isArray(value.scale?.domain) ? value.scale.domain : [];
    if (value.axis?.labelExpr === LABEL) changed.axis.labelExpr = shortLabel(fit(room, names), names);
    return changed;
  };
  const draw = (figure) => {
    const box = figure.querySelector(".drawing");
    const width = Math.max(box.clientWidth, 240);
    const most = width < 480 ? 0.4 * width : Math.min(260, 0.34 * width);
    const given = read(`${figure.id}-spec`);
    const inside = shortLabel(fit(0.4 * width, given.usermeta?.names), given.usermeta?.names);
    const spec = shortened(given, most, inside);
    for (const [name, table] of Object.entries(spec.datasets)) spec.datasets[name] = (typeof table === "string" ? [columnsOf(table)] : table).map(plainColumns);
    if (spec.usermeta?.widest) box.style.maxWidth = `${spec.usermeta.widest}px`;
    views.get(figure)?.finalize();
    views.set(figure, { width, finalize() {} });
    spec.config.axisY = { labelLimit: most, ...spec.config.axisY };
    // A legend of names has as many columns as fit.
    const longest = spec.usermeta?.longest;
    if (longest) spec.config.legend.columns = Math.max(1, Math.floor((width - most) / (7 * longest + 44)));
    spec.config.legend.labelLimit = Math.max(80, width - most - 40);
    if (spec.spec) spec.spec.width = Math.max(160, width - 60);
    return vegaEmbed(box, spec, {
      mode: "vega-lite", ast: true, actions: false, defaultStyle: false, tooltip: tooltip(figure, spec), logLevel: 1,
      renderer: figure.dataset.renderer, loader: { load: refuse, sanitize: refuse, http: refuse, file: refuse },
    }).then((result) => {
      // Vega states the width of a canvas on fine screens only; on paper it is made smaller as the drawing of the text is.
      for (const canvas of box.querySelectorAll("canvas")) canvas.style.width ||= `${canvas.width}px`;
      // What must be scrolled can be reached by the keyboard.
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      views.set(figure, { width, finalize: () => result.finalize() });
      // A point that stands for a question leads to it.
      if (spec.usermeta?.click) {
        result.view.addEventListener("click", (_, item) => {
          const question = clicked(figure, spec, item?.datum);
          if (question !== undefined) location.hash = `q=${encodeURIComponent(question)}&b=${figure.id.split("-")[0]}`;
        });
      }
    })
      .catch((error) => { box.textContent = `This figure could not be drawn: ${error.message}`; console.error(error); });
  };
  const figures = [...document.querySelectorAll("figure.figure")];
  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) { watcher.unobserve(target); draw(target); }
  }, { rootMargin: "400px" });
  figures.forEach((figure) => watcher.observe(figure));

  let waiting;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      for (const [figure, { width }] of views) if (Math.abs(figure.querySelector(".drawing").clientWidth - width) > 8) draw(figure);
    }, 200);
  });
  // Paper shows everything; what is drawn keeps its size unless it is wider than the sheet.
  window.addEventListener("beforeprint", () => { for (const fold of document.querySelectorAll("details.fold")) fold.open = true; for (const figure of figures) if (!views.has(figure)) { watcher.unobserve(figure); draw(figure); } });
})();
