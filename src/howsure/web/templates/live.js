"use strict";
// Asks for the number of the page; a new one is made ready behind the old one and takes its place, where the reader was.
(() => {
  const stage = document.getElementById("stage");
  const status = document.getElementById("status");
  const when = document.getElementById("when");
  const pause = document.getElementById("pause");
  const wait = (milliseconds) => new Promise((done) => { setTimeout(done, milliseconds); });
  const say = (text) => { if (status.textContent !== text) status.textContent = text; };
  let shown = null;
  let number = 0;
  let paused = false;

  // Where the reader is: the last thing with a name above the top edge, and what is open.
  const name = (details) => [details.closest("[id]")?.id, details.dataset.table, details.querySelector("summary")?.textContent].join("\n");
  const place = (frame) => {
    const { document: page, scrollY } = frame.contentWindow;
    const marks = [...page.querySelectorAll("main [id]")].filter((one) => one.getBoundingClientRect().top <= 8 && one.offsetParent);
    const last = scrollY > 0 ? marks.at(-1) : undefined;
    return {
      id: last?.id, top: last?.getBoundingClientRect().top ?? 0, y: scrollY, hash: frame.contentWindow.location.hash,
      open: new Set([...page.querySelectorAll("details[open]")].map(name)),
      more: [...page.querySelectorAll("button.more[aria-expanded=true]")].map((one) => one.getAttribute("aria-controls")),
      focus: page.activeElement?.id, had: document.activeElement === frame,
    };
  };
  const scroll = (view, { id, top, y }) => {
    const mark = id && view.document.getElementById(id);
    view.scrollTo({ top: mark ? view.scrollY + mark.getBoundingClientRect().top - top : y, behavior: "instant" });
  };
  const restore = async (frame, was) => {
    const view = frame.contentWindow;
    const page = view.document;
    for (const details of page.querySelectorAll("details")) if (was.open.has(name(details))) details.open = true;
    for (const id of was.more) page.querySelector(`button.more[aria-controls="${CSS.escape(id)}"]`)?.click();
    const drawn = (figure) => {
      const { top, bottom } = figure.getBoundingClientRect();
      return bottom < -400 || top > view.innerHeight + 400 || figure.querySelector(".drawing > *");
    };
    // Figures are drawn as they come near, and move what is below them.
    for (let tries = 0; tries < 40; tries++) {
      scroll(view, was);
      await wait(75);
      if (tries > 1 && [...page.querySelectorAll("figure.figure")].every(drawn)) break;
    }
    scroll(view, was);
  };

  const show = async (next) => {
    const frame = document.createElement("iframe");
    frame.title = "Report";
    frame.className = "next";
    const was = shown && place(shown);
    frame.src = `page?${next}${was?.hash ?? ""}`;
    const loaded = new Promise((done) => { frame.addEventListener("load", done, { once: true }); });
    stage.append(frame);
    await loaded;
    if (was) await restore(frame, was);
    const now = shown && place(shown); // the reader may have moved on meanwhile
    if (now && (now.y !== was.y || now.id !== was.id)) await restore(frame, now);
    frame.className = "";
    shown?.remove();
    shown = frame;
    number = next;
    if (was?.had) {
      frame.focus();
      if (was.focus) frame.contentWindow.document.getElementById(was.focus)?.focus({ preventScroll: true });
    }
    document.title = `Live: ${frame.contentWindow.document.title}`;
    document.getElementById("alone").hidden = false;
    when.textContent = `as of ${new Date().toLocaleTimeString()}`;
  };

  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Go on" : "Pause";
  });

  const watch = async () => {
    let failures = 0;
    let over = false;
    while (failures < 5 && !over) {
      try {
        const state = await (await fetch("state")).json();
        failures = 0;
        if (state.number !== number && (!paused || state.over)) await show(state.number);
        over = state.over;
        say(over ? "The run is over: these are its last numbers." : state.message || (paused ? "Paused." : "The run goes on; the numbers follow it."));
      } catch (error) {
        console.error(error);
        failures += 1;
        say(number ? "The run does not answer; these are its last numbers." : "The run does not answer.");
      }
      if (!over) await wait(Number(document.body.dataset.poll));
    }
    pause.hidden = true;
  };
  watch();
})();
