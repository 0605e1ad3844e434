"use strict";
// What pages gain with script: each has a link, a form or a table that works without.
(() => {
  const $ = (sel, of = document) => of.querySelector(sel), $$ = (sel, of = document) => [...of.querySelectorAll(sel)];
  const make = (tag, cls, of) => { const el = document.createElement(tag); el.className = cls; of.append(el); return el; };
  const root = document.documentElement, say = (text) => { const live = $("#live"); if (live) live.textContent = text; };
  const keep = (changed) => {
    const url = new URL(location);
    for (const [name, value] of Object.entries(changed)) value ? url.searchParams.set(name, value) : url.searchParams.delete(name);
    history.replaceState(null, "", url);
  };

  // theme
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  let kept = null;
  try { kept = localStorage.getItem("theme"); } catch { /* none is kept */ }
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  const named = () => { const b = $("#theme"); if (b) { b.hidden = false; b.textContent = dark() ? "Light" : "Dark"; } };

  // tooltip
  let tip = null;
  const hideTip = () => { if (tip) tip.hidden = true; };
  const showTip = (head, rows, x, y) => {
    tip = tip || make("div", "tip", document.body);
    tip.replaceChildren();
    make("b", "", tip).textContent = head;
    for (const [name, value] of rows) { const line = make("span", "", tip); make("i", "", line).textContent = name; line.append(value); }
    tip.hidden = false;
    const w = tip.offsetWidth, h = tip.offsetHeight, left = x + 14 + w > innerWidth ? x - w - 14 : x + 14;
    tip.style.left = `${Math.max(4, left) + scrollX}px`;
    tip.style.top = `${Math.max(4, Math.min(y - h / 2, innerHeight - h - 4)) + scrollY}px`;
  };
  document.addEventListener("pointerover", (event) => {
    const mark = event.target.closest("svg [data-tip], svg :has(> title)");
    if (!mark) return;
    const title = $(":scope > title", mark);
    if (title) { mark.dataset.tip = title.textContent; mark.setAttribute("aria-label", title.textContent); title.remove(); }
    const [head, ...rest] = mark.dataset.tip.split(" · ");
    showTip(head, rest.map((one) => [one, ""]), event.clientX, event.clientY);
    mark.addEventListener("pointerleave", hideTip, { once: true });
  });

  // stack: one crosshair over all charts, arrow keys, drag to zoom
  const DAY = 864e5, lines = (pre) => pre.textContent.trim().split("\n").map((line) => line.split("\t").map((cell) => cell.trim()));
  let drop = null;
  const stack = (box) => {
    const told = $$("pre.nums", box);
    const plots = $$("svg.plot[data-at]", box).map((svg, i) => {
      const [names, ...rows] = told[i] ? lines(told[i]) : [];
      return { svg, at: svg.dataset.at.split(" ").map(Number), names, rows };
    }).filter((one) => one.rows.length);
    if (!plots.length) return;
    const finest = plots.reduce((a, b) => (b.at.length > a.at.length ? b : a)), last = finest.at.length - 1;
    const from = Date.parse(box.dataset.from), to = Date.parse(box.dataset.to), cross = make("div", "cross", box);
    cross.hidden = true;
    let chosen = last;
    const place = () => [finest.svg.getBoundingClientRect(), box.getBoundingClientRect()];
    const near = (at, x) => at.reduce((best, one, i) => (Math.abs(one - x) < Math.abs(at[best] - x) ? i : best), 0);
    const tell = (x, clientY) => {
      const [frame, outer] = place();
      chosen = near(finest.at, x);
      const head = finest.rows[chosen][0], rows = plots.flatMap(({ at, names, rows }) => {
        const row = rows[near(at, x)];
        if (plots.length < 2) return row.slice(1).map((cell, i) => [names[i + 1], cell]).filter(([, cell]) => cell);
        return [[row[0] === head ? names[1] : `${names[1]}, ${row[0]}`, row.slice(1).filter(Boolean).join(" ")]];
      });
      const px = frame.left + frame.width * finest.at[chosen] / 100;
      cross.hidden = false;
      cross.style.left = `${px - outer.left}px`;
      showTip(head, rows, px, clientY ?? frame.top);
      return `${head}: ${rows.map((one) => one.join(" ")).join("; ")}`;
    };
    const share = (event) => { const [r] = place(); return Math.min(Math.max(100 * (event.clientX - r.left) / r.width, 0), 100); };
    const off = () => { cross.hidden = true; hideTip(); };
    let start = null, band = null;
    box.tabIndex = 0;
    box.addEventListener("pointermove", (event) => {
      if (!event.target.closest(".frame")) return off();
      if (event.target.closest("a") && start === null) { cross.hidden = true; return; }
      const x = share(event);
      tell(x, event.clientY);
      if (start === null || Math.abs(x - start) < 1) return;
      band = band || make("div", "brush", box);
      const [r, o] = place(), [a, b] = [Math.min(start, x), Math.max(start, x)];
      band.style.left = `${r.left - o.left + r.width * a / 100}px`;
      band.style.width = `${r.width * (b - a) / 100}px`;
    });
    if (to > from) box.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" || event.button || !event.target.closest(".frame") || event.target.closest("a")) return;
      start = share(event);
      event.preventDefault();
      box.focus({ preventScroll: true });
      drop = (end) => {
        const [a, b] = [start, share(end)].sort((p, q) => p - q).map((x) => from + (to - from) * x / 100);
        start = null;
        if (!band) return;
        band.remove(); band = null;
        if (b - a < DAY) return;
        const url = new URL(location), day = (t) => new Date(t).toISOString().slice(0, 10);
        url.searchParams.set("from", day(a)); url.searchParams.set("to", day(Math.min(b + DAY, to)));
        location.assign(url);
      };
    });
    box.addEventListener("pointerleave", off);
    box.addEventListener("blur", off);
    box.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -last, End: last };
      if (event.target !== box || !(event.key in steps)) return;
      event.preventDefault();
      chosen = Math.min(Math.max(chosen + steps[event.key], 0), last);
      say(tell(finest.at[chosen]));
    });
  };
  addEventListener("pointerup", (event) => { drop?.(event); drop = null; });

  // tables: sort by heading, filter by words and chips
  const table = (box) => {
    const rows = () => $$("tbody tr:not(.grp)", box), cell = (row, i) => row.cells[i]?.dataset.v ?? row.cells[i]?.textContent.trim() ?? "";
    const sort = (link, down) => {
      const th = link.closest("th"), i = th.cellIndex, num = link.dataset.sort === "num";
      $$("th[aria-sort]", box).forEach((one) => one.removeAttribute("aria-sort"));
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => (num ? (cell(row, i) === "" ? NaN : Number(cell(row, i))) : cell(row, i).toLowerCase());
      const order = rows().sort((p, q) => { const a = key(p), b = key(q); return (num ? isNaN(a) - isNaN(b) || a - b : a.localeCompare(b)) * (down && !(num && (isNaN(a) || isNaN(b))) ? -1 : 1); });
      $$("tr.grp", box).forEach((one) => one.remove());
      $("tbody", box).append(...order);
    };
    const name = (link) => new URL(link.href).searchParams.get("sort"), heads = $$("th a[data-sort]", box);
    heads.forEach((link) => link.addEventListener("click", (event) => {
      event.preventDefault();
      const down = link.closest("th").getAttribute("aria-sort") === "ascending";
      sort(link, down);
      keep({ sort: (down ? "-" : "") + name(link) });
      say(`Sorted by ${link.textContent}, ${down ? "descending" : "ascending"}`);
    }));
    const asked = new URL(location).searchParams, by = asked.get("sort") || "";
    const link = heads.find((one) => by && name(one) === by.replace(/^-/, ""));
    if (link) sort(link, by[0] === "-");
    const tool = $(`[data-for="${box.id}"]`);
    if (!tool) return;
    const field = $("input[name=q]", tool), chips = $$("a[data-state]", tool);
    const apply = () => {
      const words = (field?.value || "").toLowerCase().split(/\s+/).filter(Boolean), state = chips.find((c) => c.ariaCurrent)?.dataset.state || "";
      let seen = 0;
      for (const row of rows()) {
        const text = row.textContent.toLowerCase();
        row.hidden = !(words.every((w) => text.includes(w)) && (!state || row.dataset.state === state));
        seen += !row.hidden;
      }
      $$("tr.grp", box).forEach((g) => { let one = g.nextElementSibling; while (one && one.hidden) one = one.nextElementSibling; g.hidden = !one || one.classList.contains("grp"); });
      say(`${seen} shown`);
      keep({ q: field?.value, state });
    };
    field?.addEventListener("input", apply);
    tool.addEventListener("submit", (event) => { if (!("part" in tool.dataset)) event.preventDefault(); });
    chips.forEach((chip) => chip.addEventListener("click", (event) => { event.preventDefault(); chips.forEach((c) => { c.ariaCurrent = null; }); chip.ariaCurrent = "true"; apply(); }));
  };

  // copy: numbers of a chart or of a table as CSV, else text as it is
  const bare = (c) => (/^\s*[=+@-]/.test(c) && isNaN(c) ? `'${c}` : c);
  const csv = (rows) => rows.map((row) => row.map(bare).map((c) => (/[",\n]/.test(c) ? `"${c.replaceAll('"', '""')}"` : c)).join(",")).join("\n");
  const copy = async (button) => {
    const of = document.getElementById(button.dataset.copy), pres = $$("pre.nums", of), was = button.textContent;
    const text = of.tagName === "PRE" ? of.textContent : pres.length ? pres.map((pre) => csv(lines(pre))).join("\n\n")
      : csv($$("tr:not(.grp):not([hidden])", of).map((row) => [...row.cells].map((c) => (c.dataset.v ?? c.textContent).trim())));
    try { await navigator.clipboard.writeText(text); say("Copied"); button.textContent = "Copied"; setTimeout(() => { button.textContent = was; }, 1200); } catch { say("Not copied: see Numbers"); }
  };

  const menus = (event) => $$("details.menu[open]").forEach((menu) => { if (!event || !menu.contains(event.target)) menu.open = false; });
  const begin = () => { named(); $$(".stack").forEach(stack); $$("table[id]").forEach(table); $$("[data-copy]").forEach((b) => { b.hidden = false; }); };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button) { event.preventDefault(); copy(button); }
    if (event.target.id === "theme") { root.dataset.theme = dark() ? "light" : "dark"; named(); try { localStorage.setItem("theme", root.dataset.theme); } catch { /* for this page alone */ } }
    menus(event);
  });
  document.addEventListener("keydown", (event) => {
    const field = $("input[name=q]");
    if (event.key === "/" && field && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) { event.preventDefault(); field.focus(); }
    if (event.key === "Escape") { hideTip(); $$(".cross").forEach((one) => { one.hidden = true; }); menus(); }
  });

  // refresh: a page that shows the latest asks once a minute; nobody who reads or types is disturbed
  const every = Number(document.body.dataset.refresh || 0);
  let etag = null;
  const look = async () => {
    if (document.hidden) return;
    try {
      const got = await fetch(location, etag ? { headers: { "If-None-Match": etag } } : {});
      const now = got.headers.get("ETag"), text = got.status === 200 ? await got.text() : "";
      const fresh = etag && text && now !== etag;
      etag = now || etag;
      if (!fresh) return;
      const note = $("#new"), busy = $("details.menu[open], main details[open], input:focus, main :focus") || !(tip?.hidden ?? true) || String(getSelection());
      if (busy) { if (note) note.hidden = false; return; }
      const main = $("main", new DOMParser().parseFromString(text, "text/html"));
      if (main) { $("main").replaceWith(main); begin(); say("Updated"); }
    } catch { /* asked again */ }
  };
  if (every) setInterval(look, every * 1e3);
  begin();
})();
