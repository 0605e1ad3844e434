"use strict";
// Theme, filter key, and values at the pointer. Everything else works without.
(() => {
  const root = document.documentElement, button = document.getElementById("theme");
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const keep = (theme) => { root.dataset.theme = theme; if (button) button.textContent = dark() ? "Light" : "Dark"; };
  let kept = null;
  try { kept = localStorage.getItem("theme"); } catch { /* none is kept */ }
  if (kept === "dark" || kept === "light") keep(kept);
  if (button) {
    button.hidden = false;
    button.textContent = dark() ? "Light" : "Dark";
    button.addEventListener("click", () => {
      keep(dark() ? "light" : "dark");
      try { localStorage.setItem("theme", root.dataset.theme); } catch { /* for this page alone */ }
    });
  }
  document.addEventListener("keydown", (event) => {
    const field = document.getElementById("q");
    if (event.key === "/" && field && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) { event.preventDefault(); field.focus(); }
  });
  for (const figure of document.querySelectorAll("figure.chart")) {
    const plot = figure.querySelector("svg.plot[data-at]"), told = figure.querySelector(".value");
    if (!plot || !told) continue;
    const lines = figure.querySelector(".numbers pre");
    const [names, ...rows] = lines
      ? lines.textContent.split("\n").map((line) => line.split("\t").map((cell) => cell.trim()))
      : [...figure.querySelectorAll(".numbers tr")].map((row) => [...row.cells].map((cell) => cell.textContent));
    const at = plot.dataset.at.split(" ").map(Number), line = plot.querySelector(".here");
    let chosen = at.length - 1;
    const tell = (index) => {
      chosen = Math.min(Math.max(index, 0), at.length - 1);
      told.textContent = rows[chosen].map((cell, i) => (i && cell ? `${names[i]} ${cell}` : cell)).filter(Boolean).join(" · ");
      line.setAttribute("x1", `${at[chosen]}%`); line.setAttribute("x2", `${at[chosen]}%`); line.classList.add("on");
    };
    plot.setAttribute("tabindex", "0");
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect(), x = 100 * (event.clientX - box.left) / box.width;
      tell(at.reduce((best, one, i) => (Math.abs(one - x) < Math.abs(at[best] - x) ? i : best), 0));
    });
    plot.addEventListener("pointerleave", () => { line.classList.remove("on"); told.textContent = ""; });
    plot.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -at.length, End: at.length };
      if (event.key in steps) { event.preventDefault(); tell(chosen + steps[event.key]); }
    });
  }
})();
