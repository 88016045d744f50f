// One key presses the control that names it in data-key; the pages work without this script.
"use strict";
const box = document.getElementById("keys");
box.checked = localStorage.getItem("keys") !== "off";
box.addEventListener("change", () => localStorage.setItem("keys", box.checked ? "on" : "off"));

document.addEventListener("keydown", (event) => {
  const at = event.target;
  const writes = at.matches("textarea, select, input:not([type=checkbox])");
  if (writes && event.key === "Escape") at.blur();
  if (writes || !box.checked || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  const control = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === event.key);
  if (!control) return;
  event.preventDefault();
  if (control.matches("textarea")) control.focus();
  else control.click();
});

// A double press is one verdict.
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
}
// A page that comes back from the browser's memory may be sent again.
addEventListener("pageshow", () => document.querySelectorAll("form").forEach((form) => delete form.dataset.sent));
