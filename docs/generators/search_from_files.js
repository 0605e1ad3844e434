// Search of pages that are opened as files, where browsers start no worker: its script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      const frame = document.createElement("iframe");
      this.terminate = () => frame.remove();
      this.inside = new Promise((ready, failed) => {
        frame.onload = () => {
          const inside = frame.contentWindow, script = inside.document.createElement("script");
          inside.postMessage = (data) => setTimeout(() => this.onmessage?.({ data: structuredClone(data) }));
          script.src = new URL(url, location);
          script.onload = () => ready(inside);
          script.onerror = failed;
          inside.document.head.append(script);
        };
      });
      frame.hidden = true;
      frame.srcdoc = "<!doctype html>";
      document.body.append(frame);
    }
    postMessage(data) {
      const copy = structuredClone(data);
      this.inside.then((inside) => inside.onmessage({ data: copy }), () => this.onerror?.());
    }
  };
}
