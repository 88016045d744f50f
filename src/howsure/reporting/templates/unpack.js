"use strict";
// Large data and the library that draws are compressed: they are unpacked before anything else runs.
const unpack = async (script) => {
  const bytes = Uint8Array.from(atob(script.textContent), (letter) => letter.charCodeAt(0));
  const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  if (script.type !== "text/packed-javascript") { script.textContent = text; return; }
  const code = document.createElement("script");
  code.textContent = text;
  document.head.append(code);
};
