"use strict";
// Opens one question: #q=QUESTION&b=PART. Whatever a model, a question or a reviewer says is shown as text.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const element = (tag, text, name) => {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = text;
    if (name) made.className = name;
    return made;
  };
  const holding = (tag, name, ...inside) => {
    const made = element(tag, undefined, name);
    made.append(...inside);
    return made;
  };
  const isolated = (text) => element("bdi", text);
  const count = (n, one, many) => `${n.toLocaleString("en-US")} ${n === 1 ? one : many ?? `${one}s`}`;
  const percent = (share) => (share > 0 && share < 0.005 ? "<1%" : share < 1 && share >= 0.995 ? ">99%" : `${Math.round(100 * share)}%`);
  const number = (value) => (value === null || value === undefined ? "–" : String(Number(value.toPrecision(3))).replace("-", "−"));
  // A text, and how much of it was cut off.
  const parts = (text) => (Array.isArray(text) ? text : [text ?? "", 0]);
  const short = (text) => { const [start, more] = parts(text); return more ? `${start}… (${count(more, "character")} more)` : start; };
  // An address holds whole characters only.
  const sound = (name) => new URLSearchParams({ q: name }).get("q");

  const passage = (text, label) => {
    const [start, more] = parts(text);
    const box = element("pre", start);
    box.dir = "auto";
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", label);
    return more ? [box, element("p", `${count(more, "character")} more`, "rest")] : [box];
  };
  const folded = (summary, fill, open = false) => {
    const box = holding("details", "", holding("summary", "", ...summary));
    const once = () => { if (box.childElementCount === 1) box.append(...fill()); };
    box.addEventListener("toggle", once);
    if (open) { box.open = true; once(); }
    return box;
  };
  const mark = (text, name = "") => element("span", text, `mark ${name}`);

  // Difference of two texts in words: [kind, text] with kind "same", "del" or "ins"
  const words = (text) => text.match(/\s+|[^\s]+/g) ?? [];
  const difference = (old, now) => {
    let start = 0;
    while (start < old.length && start < now.length && old[start] === now[start]) start++;
    let end = 0;
    while (end < old.length - start && end < now.length - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end++;
    const a = old.slice(start, old.length - end), b = now.slice(start, now.length - end);
    const found = [["same", old.slice(0, start)]];
    const put = (kind, word) => { if (found[found.length - 1][0] === kind) found[found.length - 1][1].push(word); else found.push([kind, [word]]); };
    if (a.length * b.length > 2e6) { a.forEach((w) => put("del", w)); b.forEach((w) => put("ins", w)); } else {
      // Longest common subsequence
      const width = b.length + 1, longest = new Uint16Array((a.length + 1) * width);
      for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) {
        longest[i * width + j] = a[i] === b[j] ? 1 + longest[(i + 1) * width + j + 1] : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
      }
      let i = 0, j = 0;
      while (i < a.length || j < b.length) {
        if (i < a.length && j < b.length && a[i] === b[j]) { put("same", a[i]); i++; j++; }
        else if (j >= b.length || (i < a.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) put("del", a[i++]);
        else put("ins", b[j++]);
      }
    }
    old.slice(old.length - end).forEach((w) => put("same", w));
    return found.map(([kind, list]) => [kind, list.join("")]).filter(([, text]) => text);
  };
  const compared = (old, now) => {
    const made = [];
    for (let i = 0; i < Math.max(old.length, now.length); i++) {
      const [role, before] = old[i] ?? [now[i][0], ""], [as, after] = now[i] ?? [role, ""];
      const label = element("p", role === as ? as : `${as}, was ${role}`, "role");
      if (JSON.stringify(before) === JSON.stringify(after)) { label.append(", the same"); made.push(label); continue; }
      const box = element("pre", undefined, "difference");
      box.dir = "auto";
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", `${as} message, compared`);
      for (const [kind, text] of difference(words(parts(before)[0]), words(parts(after)[0]))) box.append(kind === "same" ? text : element(kind, text));
      made.push(label, box);
      const more = Math.max(parts(before)[1], parts(after)[1]);
      if (more) made.push(element("p", `${count(more, "character")} more, not compared`, "rest"));
    }
    return made;
  };

  const open = (frame) => {
    const index = read(`questions-${frame.dataset.part}`);
    const level = Number(frame.dataset.level) + 1;
    const places = new Map(index.names.map((name, i) => [sound(name), i]));
    const box = frame.querySelector(".opened"), input = element("input"), opener = element("button", "Open"), status = element("span", "", "status");
    const heading = (text, deeper = 1) => element(`h${level + deeper}`, text);
    const address = (i) => `${index.page[i] === index.here ? "" : index.files[index.page[i] ?? 0]}#${new URLSearchParams({ q: index.names[i], b: index.part })}`;
    const link = (i, text, key) => {
      const made = element("a", text);
      made.href = address(i);
      if (key) { made.dataset.key = key; made.setAttribute("aria-keyshortcuts", key); made.append(" ", element("kbd", key)); }
      return made;
    };

    // The prompt, the choices and the target
    const prompt = (texts) => {
      const made = [];
      const first = texts.variants[0];
      if (first) {
        made.push(heading("The prompt"));
        for (const [role, text] of first.messages) made.push(element("p", role, "role"), ...passage(text, `${role} message`));
      } else made.push(element("p", "No prompt was stored.", "lead"));
      if (texts.choices.length) {
        const list = element("ol", undefined, "choices");
        list.type = "A";
        texts.choices.forEach((text, i) => {
          const line = holding("li", "", isolated(short(text)));
          if (i < 26 && texts.target === String.fromCharCode(65 + i)) line.append(" ", mark("target", "right"));
          list.append(line);
        });
        made.push(heading("The choices"), list);
      }
      made.push(holding("p", "target", element("strong", "Target: "), texts.target === null ? "not known" : isolated(short(texts.target))));
      const others = texts.variants.slice(1);
      if (others.length) {
        made.push(heading("Other prompts"), holding("p", "lead", "How each differs from the first: ", element("del", "left out"), " and ", element("ins", "added"), "."));
        for (const other of others) made.push(folded(["Prompt ", isolated(other.name)], () => compared(first.messages, other.messages)));
        if (texts.more_variants) made.push(element("p", `and ${count(texts.more_variants, "more prompt")}, not in this page`, "rest"));
      }
      return made;
    };

    // What was written
    const titles = { unparsed: "No answer was extracted", unscored: "Not scored yet", failed: "The request failed" };
    const generation = (texts, one, isOpen) => {
      const facts = [isolated(one.model), " · "];
      if (texts.several_variants) facts.push("prompt ", isolated(one.variant), " · ");
      facts.push(`generation ${one.generation}`);
      if (one.status && !["error", "unparsed"].includes(one.status)) facts.push(" · ", one.status);
      return folded(facts, () => {
        const made = [], more = [];
        if (one.score !== undefined) more.push(["score", number(one.score)]);
        if (one.rule) more.push(["parser rule", short(one.rule)]);
        if (one.finish) more.push(["stopped by", short(one.finish)]);
        if (one.tokens !== undefined) more.push(["tokens", one.tokens.toLocaleString("en-US")]);
        if (more.length) {
          const line = element("p", undefined, "about");
          more.forEach(([name, text], i) => line.append(`${i ? " · " : ""}${name} `, isolated(text)));
          made.push(line);
        }
        if (one.error) made.push(element("p", short(one.error), "error"));
        if (one.text === undefined) { if (!one.error) made.push(element("p", "No completion was stored.", "rest")); }
        else if (one.text === "") made.push(element("p", "The completion is empty.", "rest"));
        else made.push(...passage(one.text, "completion"));
        return made;
      }, isOpen);
    };
    const answers = (texts) => {
      const made = [heading("The answers")];
      if (!texts.groups.length) made.push(element("p", "No generation was stored.", "lead"));
      // One of each group in turn, three in all.
      const opened = texts.groups.map(() => 0);
      let left = 3;
      for (let round = 0; left && round < 3; round++) texts.groups.forEach((group, i) => { if (left && group.shown.length > round) { opened[i]++; left--; } });
      texts.groups.forEach((group, i) => {
        const section = element("section", undefined, "group");
        const title = heading(undefined, 2);
        title.append(group.kind === "answer" ? isolated(short(group.answer) || "(empty)") : titles[group.kind]);
        const isTarget = group.kind === "answer" && group.answer === texts.target;
        if (isTarget || group.right) title.append(" ", mark(isTarget ? "target" : "right", "right"));
        if (i === 0 && group.kind === "answer" && texts.groups.length > 1) title.append(" ", mark("most frequent"));
        const meter = holding("span", "bar", element("span"));
        meter.setAttribute("aria-hidden", "true");
        meter.firstChild.style.width = `${100 * group.share}%`;
        const counts = ["answer", "unparsed"].includes(group.kind);
        const share = !counts ? "" : `${percent(group.share)}${index.models.length > 1 ? " over models" : ""}, `;
        const summary = element("p", undefined, "share-of");
        if (counts) summary.append(meter);
        summary.append(`${share}${count(group.n, "generation")}`);
        const models = folded([count(group.models.length, "model")], () => {
          const list = element("ul");
          for (const [model, n] of group.models) list.append(holding("li", "", isolated(model), ` ${n.toLocaleString("en-US")}`));
          return [list];
        });
        models.className = "models";
        section.append(title, summary, models);
        group.shown.forEach((one, j) => section.append(generation(texts, one, j < opened[i])));
        const hidden = group.n - group.shown.length;
        if (hidden) section.append(element("p", `${count(hidden, "more generation")} with this ${group.kind === "answer" ? "answer" : "status"}, not in this page`, "rest"));
        made.push(section);
      });
      const [groups, n] = texts.more_groups;
      if (groups) made.push(element("p", `and ${count(groups, "more answer")} in ${count(n, "generation")}, not in this page`, "rest"));
      return made;
    };

    // What the models scored
    const scores = (i) => {
      if (!index.n) return [holding("p", "target", element("strong", "Mean score over the models: "), number(index.score[i]))];
      const table = element("table");
      const head = table.createTHead().insertRow();
      ["Model", "Mean score", "Generations"].forEach((text, j) => { const cell = element("th", text, j ? "n" : ""); cell.scope = "col"; head.append(cell); });
      const body = table.createTBody();
      const rows = index.models.map((model, m) => {
        const n = Array.isArray(index.n[m]) ? index.n[m][i] : index.n[m];
        return [model, n ? index.total[m][i] / n : null, n];
      });
      rows.sort((a, b) => (b[1] ?? -Infinity) - (a[1] ?? -Infinity) || 0);
      for (const [model, mean, n] of rows) {
        const line = body.insertRow(), name = holding("th", "", isolated(model));
        name.scope = "row";
        line.append(name, element("td", number(mean), "n"), element("td", n.toLocaleString("en-US"), "n"));
      }
      const region = holding("div", "scroll", table);
      region.tabIndex = 0;
      region.setAttribute("role", "region");
      region.setAttribute("aria-label", "Scores of this question");
      return [folded([`Scores of ${count(rows.length, "model")}`], () => [region], true)];
    };

    // What to know of it
    const flags = (i, texts) => {
      const list = element("ul", undefined, "flags");
      const line = (...inside) => list.append(holding("li", "", ...inside));
      const verdict = index.verdicts[i];
      if (verdict) {
        const [word, note, reviewer, day] = verdict;
        const who = [reviewer ? ["by ", isolated(reviewer), " "] : [], day ? [`on ${day}`] : []].flat();
        line(mark("reviewed"), " ", isolated(word), ...(who.length ? [" ", ...who] : []), ...(note ? [": ", isolated(note)] : []));
      }
      if (index.suspects[i]) line(mark("suspected label error"), " ", isolated(index.suspects[i]));
      const status = texts?.status ?? {}, unread = status.unparsed ?? index.unparsed[i] ?? 0, failed = status.error ?? 0, empty = texts?.status ? 0 : index.failed[i] ?? 0;
      if (unread) line(mark("unparsed"), ` no answer could be extracted from ${count(unread, "generation")}`);
      if (status.length) line(mark("truncated"), ` ${count(status.length, "generation")} ended at the limit of tokens`);
      if (failed) line(mark("failed"), ` ${count(failed, "request")} failed`);
      if (empty) line(mark("no score"), ` ${count(empty, "generation")} without a score`);
      return list.childElementCount ? [list] : [];
    };

    const keys = (i) => {
      const list = element("ul");
      if (i > 0) list.append(holding("li", "", link(i - 1, "Previous", "k")));
      if (i + 1 < index.names.length) list.append(holding("li", "", link(i + 1, "Next", "j")));
      const close = element("a", "Close");
      close.href = `#${frame.id}`;
      list.append(holding("li", "", close));
      const nav = holding("nav", "", list);
      nav.setAttribute("aria-label", "Questions");
      return nav;
    };

    const show = (i) => {
      const script = document.getElementById(`question-${index.part}-${i}`);
      const texts = script && JSON.parse(script.textContent);
      const title = element(`h${level}`, undefined, "name");
      title.tabIndex = -1;
      title.append(isolated(index.names[i]));
      const made = [keys(i), title, element("p", `${(i + 1).toLocaleString("en-US")} of ${index.names.length.toLocaleString("en-US")}`, "kind"), ...flags(i, texts)];
      if (texts) made.push(...prompt(texts), ...answers(texts));
      else if (index.page[i] !== undefined && index.page[i] !== index.here) made.push(holding("p", "", "Its texts are in a file beside this page: ", link(i, "open it"), "."));
      else made.push(element("p", "The texts of this question are not in this page.", "lead"));
      made.push(heading("The scores"), ...scores(i));
      box.replaceChildren(...made);
      status.textContent = "";
      input.value = index.names[i];
      frame.scrollIntoView();
      title.focus({ preventScroll: true });
    };

    // Before one is opened
    const idle = () => {
      const first = index.names.slice(0, 8).map((_, i) => holding("li", "", link(i, ""))).map((line, i) => { line.firstChild.append(isolated(index.names[i].replace(/^%HASH%$/, "$1…"))); line.firstChild.title = index.names[i]; return line; });
      const list = element("ul", undefined, "first");
      list.append(...first);
      box.replaceChildren(element("p", "Start with", "kind"), list);
      input.value = "";
    };

    // By name
    const label = element("label", "Name of a question");
    label.htmlFor = input.id = `${frame.id}-find`;
    Object.assign(input, { type: "text", autocomplete: "off", spellcheck: false });
    opener.type = "button";
    status.setAttribute("role", "status");
    const find = holding("div", "find", label, input, opener, status);
    if (index.names.length <= 2000) {
      const list = element("datalist");
      list.id = `${frame.id}-names`;
      input.setAttribute("list", list.id);
      list.append(...index.names.map((name) => { const made = element("option"); made.value = name; return made; }));
      find.append(list);
    }
    box.before(find);
    const go = () => {
      const i = places.get(sound(input.value));
      status.textContent = i === undefined ? "No question has this name." : "";
      if (i !== undefined) location.href = address(i);
    };
    opener.addEventListener("click", go);
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") go(); });
    frame.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target === input) return;
      const wanted = [...frame.querySelectorAll("[data-key]")].find((made) => made.dataset.key === event.key);
      if (wanted) { event.preventDefault(); wanted.click(); }
    });
    return { show, idle, place: (name) => places.get(sound(name)), go: (name) => { location.href = address(places.get(sound(name))); }, missing: () => { status.textContent = "No question has this name."; frame.scrollIntoView(); } };
  };

  const frames = new Map([...document.querySelectorAll(".one-question")].map((frame) => [frame.dataset.part, open(frame)]));
  let shown = null;
  const follow = () => {
    const wanted = new URLSearchParams(location.hash.slice(1)), name = wanted.get("q");
    shown?.idle();
    shown = null;
    if (name === null) return;
    const frame = frames.get(wanted.get("b")) ?? (frames.size === 1 ? [...frames.values()][0] : [...frames.values()].find((one) => one.place(name) !== undefined));
    if (!frame) return;
    shown = frame;
    const i = frame.place(name);
    if (i === undefined) frame.missing();
    else frame.show(i);
  };
  for (const frame of frames.values()) frame.idle();
  window.addEventListener("hashchange", follow);
  // A click on a figure: document.dispatchEvent(new CustomEvent("question", { detail: { part, question } })).
  document.addEventListener("question", ({ detail }) => {
    const frame = frames.get(detail.part);
    if (frame && frame.place(detail.question) !== undefined) frame.go(detail.question);
  });
  follow();
})();
