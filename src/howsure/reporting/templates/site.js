"use strict";
// Headings become buttons that sort: numbers from the largest, names from A; what is unknown stays last.
for (const table of document.querySelectorAll("table.index")) {
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, i) => {
    const cell = row.cells[i];
    if (!cell.classList.contains("n")) return cell.textContent.trim();
    return cell.dataset.by === undefined ? null : Number(cell.dataset.by);
  };
  const sort = (i) => {
    const numeric = heads[i].classList.contains("n");
    const now = heads[i].getAttribute("aria-sort");
    const down = now ? now === "ascending" : numeric;
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[i].setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows].map((row) => [key(row, i), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      const order = numeric ? a - b : a.localeCompare(b, "en", { numeric: true });
      return down ? -order : order;
    });
    table.tBodies[0].append(...rows.map(([, row]) => row));
  };
  heads.forEach((head, i) => {
    if (head.dataset.fixed !== undefined) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(i));
    head.append(button);
  });
}
