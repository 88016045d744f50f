// Search in pages that were opened from a disk, where browsers allow no workers: run the script of the worker in a hidden frame instead.
// The frame shares this page's globals through `parent`, by which the search knows where its files are (IFrameWorker).
(() => {
  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.waiting = [];
      this.loaded = false;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.receive(data);
      inside.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => FrameWorker.load(inside, source)), Promise.resolve());
      FrameWorker.load(inside, url).then(() => {
        this.loaded = true;
        this.waiting.splice(0).forEach((data) => this.send(data));
      });
    }
    static load(inside, source) {
      return new Promise((resolve, reject) => {
        const script = inside.document.createElement("script");
        script.src = source;
        script.onload = resolve;
        script.onerror = reject;
        inside.document.body.append(script);
      });
    }
    receive(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      this.onmessage?.(event);
    }
    send(data) {
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) }));
    }
    postMessage(data) {
      if (this.loaded) this.send(data);
      else this.waiting.push(data);
    }
    terminate() {
      this.frame.remove();
    }
  }
  window.IFrameWorker = FrameWorker;
  if (location.protocol === "file:") window.Worker = FrameWorker;
})();
