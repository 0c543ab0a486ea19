// SPDX-License-Identifier: MIT
// Plots, the allocator filter, sorting and copying of tables. Tables are readable without scripts.
"use strict";
(() => {
  const plots = JSON.parse(document.getElementById("plots").textContent);
  const allocators = Object.keys(JSON.parse(document.getElementById("allocators").textContent));
  const root = document.documentElement;

  // Curves can be told apart without colour: each of 40 has its own pair of symbol and dash
  // pattern.
  const symbols = ["circle", "square", "diamond", "cross", "x", "triangle-up", "triangle-down", "star",
                   "circle-open", "square-open", "diamond-open", "hexagon", "pentagon", "triangle-left", "triangle-right",
                   "hourglass", "bowtie", "star-open", "hexagon-open", "pentagon-open"];
  const dashes = ["solid", "dash", "dot", "dashdot", "longdash"];
  const colours = {
    light: ["#0072b2", "#d55e00", "#007a5a", "#b0487f", "#7a5c00", "#5b4bb5", "#444444", "#a61c1c"],
    dark: ["#56b4e9", "#ff8c42", "#2fd0a0", "#f09ac6", "#f0d050", "#b5a8ff", "#c8c8c8", "#ff8080"],
  };
  const theme = () => root.dataset.theme;
  const shown = new Set(allocators);

  function axis(spec, values) {
    const ink = getComputedStyle(root).getPropertyValue("--ink"), line = getComputedStyle(root).getPropertyValue("--line");
    const words = values.some((v) => typeof v === "string");
    const positive = !words && values.every((v) => v > 0);
    const log = spec.log && positive;
    const ends = [Math.min(...values), Math.max(...values)];
    const decades = log ? Math.log10(ends[1] / ends[0]) : 0;
    const points = spec.sizes ? [...new Set(values)].sort((a, b) => a - b) : [];
    const some = points.filter((_, i) => points.length <= 9 || i % 2 === 0);
    return {
      tickvals: spec.sizes ? some : undefined, ticktext: spec.sizes ? some.map(size) : undefined,
      title: { text: spec.title }, type: words ? "category" : log ? "log" : "linear", color: ink, gridcolor: line, zerolinecolor: line,
      automargin: true, exponentformat: "SI", dtick: log && decades > 1.5 ? 1 : undefined, rangemode: log ? undefined : "tozero",
    };
  }

  function size(bytes) {
    const unit = bytes >= 2 ** 30 ? 30 : bytes >= 2 ** 20 ? 20 : bytes >= 2 ** 10 ? 10 : 0;
    return `${bytes / 2 ** unit} ${["B", "KiB", "MiB", "GiB"][unit / 10]}`;
  }

  function traces(plot) {
    return plot.curves.map((curve, index) => {
      // An allocator has the same symbol and colour in every plot.
      const n = curve.allocator ? allocators.indexOf(curve.allocator) : index;
      const trace = {
        name: curve.name, x: curve.x, y: curve.y, mode: curve.x.length > 60 ? "lines" : "lines+markers", type: "scatter",
        visible: !curve.allocator || shown.has(curve.allocator),
        line: { color: colours[theme()][n % 8], dash: dashes[n % 5], width: 2 },
        marker: { symbol: symbols[n % 20], size: 8 },
        hovertemplate: "%{fullData.name}<br>%{x}: %{y:.4s}<extra></extra>",
      };
      if (plot.style === "stacked") {
        Object.assign(trace, { mode: "lines", stackgroup: "all", line: { color: trace.line.color, width: 0.5 },
                               fillpattern: { shape: n >= 8 ? "/" : "" } });
      } else if (plot.style === "bars") {
        Object.assign(trace, { type: "bar", mode: undefined, line: undefined, marker: { color: trace.line.color } });
      }
      if (curve.low) {
        trace.error_y = { type: "data", symmetric: false, array: curve.high.map((v, i) => v - curve.y[i]),
                          arrayminus: curve.low.map((v, i) => curve.y[i] - v), thickness: 1, width: 3 };
      }
      return trace;
    });
  }

  function draw(element) {
    const plot = plots[element.dataset.plot];
    const all = (key) => plot.curves.flatMap((curve) => curve[key]);
    const layout = {
      xaxis: axis(plot.x, all("x")), yaxis: axis(plot.y, all("y")),
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: getComputedStyle(root).getPropertyValue("--ink") },
      margin: { t: 34, r: 10, b: 40, l: 50 }, showlegend: plot.curves.length > 1,
      legend: { font: { size: 11 } }, hovermode: "closest", uirevision: "kept",
    };
    element.dataset.drawn = "yes";
    return Plotly.react(element, traces(plot), layout, { responsive: true, displaylogo: false });
  }
  const canvases = [...document.querySelectorAll(".canvas")];
  const redraw = () => canvases.filter((c) => c.dataset.drawn).forEach(draw);
  // There are dozens of plots, so each is drawn only when it approaches the viewport.
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "800px" });

  function say(text) {
    const box = document.getElementById("said");
    box.textContent = text;
    setTimeout(() => { box.textContent = ""; }, 2500);
  }

  function setTheme(name) {
    root.dataset.theme = name;
    const button = document.getElementById("theme");
    button.textContent = name === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-pressed", String(name === "dark"));
    redraw();
  }

  function applyFilter() {
    for (const row of document.querySelectorAll("tr[data-allocator]")) row.hidden = !shown.has(row.dataset.allocator);
    redraw();
  }

  // Columns with values sort by value, with cells without one last; other columns sort as text.
  function sort(button) {
    const head = button.closest("th"), table = head.closest("table"), column = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows].map((row) => {
      const cell = row.cells[column];
      return { row, value: "value" in cell.dataset ? Number(cell.dataset.value) : null, text: cell.textContent.trim() };
    });
    const figures = rows.some((r) => r.value !== null);
    rows.sort((a, b) => {
      if (!figures) return (down ? -1 : 1) * a.text.localeCompare(b.text);
      if (a.value === null || b.value === null) return (a.value === null) - (b.value === null);
      return (down ? -1 : 1) * (a.value - b.value);
    });
    for (const { row } of rows) table.tBodies[0].append(row);
  }

  function csv(table) {
    const field = (cell) => {
      const copy = cell.cloneNode(true);
      copy.querySelectorAll("sup, [aria-hidden]").forEach((extra) => extra.remove());
      const text = "value" in cell.dataset ? cell.dataset.value : copy.textContent.trim();
      return /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
    };
    return [...table.rows].filter((row) => !row.hidden).map((row) => [...row.cells].map(field).join(",")).join("\n") + "\n";
  }

  async function copy(button) {
    const text = csv(button.closest("figure").querySelector("table"));
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
    }
    say("Copied");
  }

  function filterClaims(section) {
    const table = section.querySelector("table.claims");
    if (!table) return;
    const paper = section.querySelector(".claims-paper").value, verdict = section.querySelector(".claims-verdict").value;
    let count = 0;
    for (const row of table.querySelectorAll("tr[data-verdict]")) {
      row.hidden = (paper && row.dataset.paper !== paper) || (verdict && row.dataset.verdict !== verdict);
      count += row.hidden ? 0 : 1;
    }
    section.querySelector(".claims-shown").textContent = `${count} shown`;
  }

  // A link to an undecided claim opens the list that it is folded into.
  function unfold() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = target && target.closest("details");
    if (!folded) return;
    folded.open = true;
    target.scrollIntoView();
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.classList.contains("sort")) sort(button);
    if (button.classList.contains("copy")) copy(button);
    if (button.id === "theme") setTheme(theme() === "dark" ? "light" : "dark");
    if (button.dataset.filter) {
      shown.clear();
      if (button.dataset.filter === "all") allocators.forEach((a) => shown.add(a));
      for (const box of document.querySelectorAll("input[name=allocator]")) box.checked = shown.has(box.value);
      applyFilter();
    }
  });
  document.addEventListener("change", (event) => {
    if (event.target.name === "allocator") {
      if (event.target.checked) shown.add(event.target.value); else shown.delete(event.target.value);
      applyFilter();
    }
    if (event.target.matches(".claims-paper, .claims-verdict")) filterClaims(event.target.closest("section"));
  });
  window.addEventListener("beforeprint", () => { setTheme("light"); canvases.forEach(draw); });

  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  canvases.forEach((canvas) => near.observe(canvas));
  for (const table of document.querySelectorAll("table.claims")) filterClaims(table.closest("section"));
  window.addEventListener("hashchange", unfold);
  unfold();
  root.dataset.ready = "yes";
})();
