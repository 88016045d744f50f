"use strict";
// Compares any two models. Every number is a row of the table of pairs, which Python computed; only the list of
// questions is made here, from the differences of two means.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const element = (tag, text, name) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  };
  const LISTED = 8;
  const signed = (value, sign = false) => (value === null || value === undefined ? "–" : `${sign && value > 0 ? "+" : ""}${value.toFixed(3)}`.replace("-", "−"));
  const p = (value) => (value === null ? "–" : value < 0.001 ? "<0.001" : value.toFixed(3));
  const share = (value) => `${(100 * value).toFixed(1)}%`;

  const open = (frame) => {
    const part = frame.dataset.part, stored = read(`table-${part}-pairs`);
    const column = (name) => (Array.isArray(stored[name]) ? stored[name] : stored[name].at.map((i) => stored[name].names[i]));
    const columns = Object.fromEntries(Object.keys(stored).map((name) => [name, column(name)]));
    const rows = new Map(columns.model_a.map((a, i) => [JSON.stringify([a, columns.model_b[i]]), i]));
    const models = read(`table-${part}-scores`).model;
    const names = [...new Set([...columns.model_a, ...columns.model_b])];
    const place = new Map((Array.isArray(models) ? models : models.at.map((i) => models.names[i])).map((name, i) => [name, i]));
    names.sort((a, b) => (place.get(a) ?? 1e9) - (place.get(b) ?? 1e9));
    const script = document.getElementById(`questions-${part}`), index = script && JSON.parse(script.textContent);
    const choose = element("div", undefined, "choose"), result = element("div", undefined, "result");
    result.setAttribute("aria-live", "polite");
    const select = (text, at) => {
      const label = element("label", text), made = element("select");
      made.append(...names.map((name) => { const option = element("option", name); option.value = name; return option; }));
      made.selectedIndex = at;
      made.addEventListener("change", show);
      label.append(made);
      choose.append(label);
      return made;
    };

    const mean = (m, i) => { const n = Array.isArray(index.n[m]) ? index.n[m][i] : index.n[m]; return n ? index.total[m][i] / n : null; };
    const deciding = (a, b) => {
      if (!index?.n) return [element("p", "The scores of single questions are too many for this page.", "kind")];
      const x = index.models.indexOf(a), y = index.models.indexOf(b);
      const differing = index.names.map((_, i) => [mean(x, i), mean(y, i), i]).filter(([u, v]) => u !== null && v !== null && u !== v);
      const list = (better, sign) => {
        const all = differing.filter(([u, v]) => sign * (u - v) > 0).sort(([a1, b1], [a2, b2]) => sign * ((a2 - b2) - (a1 - b1)));
        const box = element("div"), title = element("p", undefined, "kind"), ol = element("ol");
        title.append(`${all.length.toLocaleString("en-US")} ${all.length === 1 ? "question" : "questions"} with a higher mean score of `, element("bdi", better), all.length > LISTED ? `; the ${LISTED} with the largest differences:` : all.length ? ":" : ".");
        for (const [u, v, i] of all.slice(0, LISTED)) {
          const line = element("li"), link = element("a");
          link.append(element("bdi", index.names[i].replace(/^%HASH%$/, "$1…")));
          link.title = index.names[i];
          link.href = `#${new URLSearchParams({ q: index.names[i], b: part })}`;
          line.append(link, ` ${signed(u - v, true)}`);
          if (index.openings?.[i]) line.append(element("span", index.openings[i], "opening"));
          ol.append(line);
        }
        box.append(title, ...(all.length ? [ol] : []));
        return box;
      };
      const box = element("div", undefined, "decide");
      box.append(list(a, 1), list(b, -1));
      return [box];
    };

    const missing = (n, difference, se) => {
      if (n < 2) return `${n === 0 ? "no question is" : "only one question is"} common to both`;
      if (difference === 0) return "no difference was seen";
      return se === 0 ? "the two models differ by the same amount on every common question, so that no variation was seen" : "questions come in clusters";
    };

    const show = () => {
      const a = first.value, b = second.value;
      if (a === b) { result.replaceChildren(element("p", "Choose two different models.", "lead")); return; }
      const forward = rows.get(JSON.stringify([a, b])), row = forward ?? rows.get(JSON.stringify([b, a]));
      if (row === undefined) { result.replaceChildren(element("p", "This pair is not in the table of pairs of this page, which holds those among the first models and with the reference.", "lead")); return; }
      const turn = forward === undefined ? -1 : 1, get = (name) => columns[name]?.[row] ?? null;
      const ends = [get("low"), get("high")].map((end) => (end === null ? null : turn * end)).sort((u, v) => u - v);
      const [score_a, score_b] = turn === 1 ? [get("score_a"), get("score_b")] : [get("score_b"), get("score_a")];
      const [only_a, only_b] = turn === 1 ? [get("wins_a"), get("wins_b")] : [get("wins_b"), get("wins_a")];
      const n = get("n_questions"), difference = get("difference"), alpha = 1 - Number(frame.dataset.level) / 100;
      const facts = element("dl", undefined, "facts");
      const fact = (name, text) => { const box = element("div"); box.append(element("dt", name), element("dd", text)); facts.append(box); };
      fact("Common questions", n.toLocaleString("en-US"));
      fact("Scores on them", `${signed(score_a)} and ${signed(score_b)}`);
      fact("Difference, first − second", signed(difference === null ? null : turn * difference, true));
      fact(`${frame.dataset.level}% interval`, ends[0] === null ? "–" : `${signed(ends[0])} to ${signed(ends[1])}`);
      fact("p, this pair alone", p(get("p_value")));
      fact("p, Holm over all pairs", p(get("p_holm")));
      const verdict = get("verdict") ?? (get("p_holm") === null ? "not testable" : get("p_holm") < alpha ? "distinguishable" : "not distinguishable");
      const better = turn * difference > 0 ? "the first is clearly better" : "the second is clearly better";
      fact("Verdict over all pairs", { distinguishable: better, "not distinguishable": "cannot tell" }[verdict] ?? verdict);
      const made = [facts];
      if (only_a !== null) {
        const shares = element("dl", undefined, "facts"), keep = (name, text) => { const box = element("div"); box.append(element("dt", name), element("dd", text)); shares.append(box); };
        keep("Both right", share(Math.max(0, score_a - only_a)));
        keep("Only the first right", share(only_a));
        keep("Only the second right", share(only_b));
        keep("Neither right", share(Math.max(0, 1 - score_a - only_b)));
        const own = "ownPrompts" in frame.dataset ? ", each in a prompt of its own" : "";
        made.push(element("p", `Expected shares of the common questions, with one generation of each model${own}:`, "kind"), shares);
      }
      const needed = get("questions_for_power");
      made.push(element("p", needed === null
        ? `How many questions this difference needs cannot be said: ${missing(n, difference, get("se"))}.`
        : `If the true difference is as large as the one seen, ${needed.toLocaleString("en-US")} questions like these find it with ${frame.dataset.power} power (or more, by this page's test of the pair alone at level ${frame.dataset.level}%, with as many generations per question). This pair has ${n.toLocaleString("en-US")}.`, "lead"));
      result.replaceChildren(...made, ...deciding(a, b));
    };
    const first = select("First model", 0), second = select("Second model", 1);
    frame.append(choose, result);
    frame.hidden = false;
    show();
  };
  for (const frame of document.querySelectorAll(".two-models")) open(frame);
})();
