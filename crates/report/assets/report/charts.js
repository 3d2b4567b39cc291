// Draws the page's plots so that they can be zoomed and read point by point. The still picture stays for printing, and where
// anything here fails.
"use strict";
(() => {
  const prefixed = (value, units, step) => {
    let at = 0;
    while (Math.abs(value) >= step * 0.9995 && at < units.length - 1) { value /= step; at += 1; }
    return [value, units[at]];
  };
  const digits = value => String(Number(value.toPrecision(3)));
  const words = {
    time: value => { const [size, unit] = prefixed(value, ["ns", "µs", "ms", "s"], 1000); return `${digits(size)} ${unit}`; },
    share: value => `${digits(value * 100)} %`,
    per_second: value => { const [size, unit] = prefixed(value, ["", "k", "M", "G"], 1000); return `${digits(size)} ${unit}/s`; },
    number: value => { const [size, unit] = prefixed(value, ["", "k", "M", "G"], 1000); return `${digits(size)} ${unit}`.trim(); },
    times: value => `${digits(value)}×`,
    cycles: value => `${value.toFixed(1)} cycles`,
    megahertz: value => `${digits(value)} MHz`,
    probability: value => value.toPrecision(3),
  };
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // All series over one list of x, as the library wants them.
  const aligned = series => {
    const xs = [...new Set(series.flatMap(one => one.points.map(point => point[0])))].sort((a, b) => a - b);
    const place = new Map(xs.map((x, at) => [x, at]));
    const ys = series.map(one => {
      const values = new Array(xs.length).fill(null);
      one.points.forEach(point => { values[place.get(point[0])] = point[1]; });
      return values;
    });
    return [xs, ...ys];
  };

  // A histogram's bars, each from its beginning to its end.
  const columns = points => chart => {
    const path = new Path2D();
    const foot = chart.bbox.top + chart.bbox.height;
    points.forEach(([x, y, from, to]) => {
      const left = chart.valToPos(from ?? x, "x", true);
      const width = Math.max(1, chart.valToPos(to ?? x, "x", true) - left);
      const top = chart.valToPos(y, "y", true);
      path.rect(left, top, width, foot - top);
    });
    return { fill: path, stroke: null };
  };

  // Whether a point has a beginning and an end.
  const wide = one => one.mark === "columns" || one.mark === "outline";

  // The line above a histogram: what lies over others must not hide them.
  const outline = points => chart => {
    const path = new Path2D();
    const foot = chart.bbox.top + chart.bbox.height;
    const across = value => chart.valToPos(value, "x", true);
    let end = null;
    points.forEach(([, y, from, to]) => {
      const top = chart.valToPos(y, "y", true);
      if (from !== end) {
        if (end !== null) path.lineTo(across(end), foot);
        path.moveTo(across(from), foot);
      }
      path.lineTo(across(from), top);
      path.lineTo(across(to), top);
      end = to;
    });
    if (end !== null) path.lineTo(across(end), foot);
    return { stroke: path, fill: null };
  };

  // A spike's letter stands above its highest column, and above the letters that stand there already.
  const letter = (chart, one, taken) => {
    const [x, y] = one.points.reduce((most, point) => point[1] > most[1] ? point : most);
    if (one.name.length !== 1 || x < chart.scales.x.min || x > chart.scales.x.max) return;
    const across = chart.valToPos(x, "x", true), [wide, high] = [11, 13].map(size => size * devicePixelRatio);
    let foot = chart.valToPos(y, "y", true) - 3 * devicePixelRatio;
    const lower = taken.filter(other => Math.abs(other[0] - across) < wide).sort((a, b) => b[1] - a[1]);
    lower.forEach(other => { if (Math.abs(other[1] - foot) < high) foot = other[1] - high; });
    taken.push([across, foot]);
    Object.assign(chart.ctx, {
      fillStyle: colour("--ink"), strokeStyle: colour("--paper"), lineWidth: 3 * devicePixelRatio, lineJoin: "round",
      font: `bold ${13 * devicePixelRatio}px system-ui, sans-serif`, textAlign: "center", textBaseline: "alphabetic",
    });
    chart.ctx.strokeText(one.name, across, foot);
    chart.ctx.fillText(one.name, across, foot);
  };

  const lettersAndIntervals = plot => chart => {
    const { ctx } = chart, taken = [];
    ctx.save();
    plot.series.forEach((one, at) => {
      if (!one.points.length || !chart.series[at + 1].show) return;
      if (one.mark === "columns") letter(chart, one, taken);
      if (wide(one)) return;
      ctx.strokeStyle = colour(`--c${one.colour}`);
      ctx.lineWidth = 1.5 * devicePixelRatio;
      one.points.filter(point => point[2] !== null && point[3] !== null).forEach(([x, , low, high]) => {
        const across = chart.valToPos(x, "x", true);
        ctx.beginPath();
        ctx.moveTo(across, chart.valToPos(low, "y", true));
        ctx.lineTo(across, chart.valToPos(high, "y", true));
        ctx.stroke();
      });
    });
    ctx.restore();
  };

  // Marks at powers of ten, at 2 and 5 of them where there are few, and at each digit on a short axis; not where the axis happens to begin.
  const decades = (_, axis, low, high) => {
    const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
    const digits = high / low <= 8 ? [1, 2, 3, 4, 5, 6, 7, 8, 9] : last - first <= 3 ? [1, 2, 5] : [1];
    const stride = Math.max(1, Math.ceil((last - first) / 8));
    const marks = [];
    for (let power = first; power <= last; power += stride) digits.forEach(digit => marks.push(digit * 10 ** power));
    return marks.filter(mark => mark >= low && mark <= high);
  };

  // Room for the widest figure at an upright axis, its tick and its gap: what is wider lies over the axis's name.
  const room = (chart, marks) => {
    if (!marks) return 74;
    chart.ctx.save();
    chart.ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    const widest = Math.max(0, ...marks.map(mark => chart.ctx.measureText(mark).width)) / devicePixelRatio;
    chart.ctx.restore();
    return Math.ceil(widest) + 24;
  };

  const options = (plot, width) => {
    const axis = of => ({
      label: of.label, stroke: colour("--ink"), grid: { stroke: colour("--rule"), width: 0.5 }, size: of === plot.y ? room : 40,
      values: (_, marks) => marks.map(mark => mark === null || of.counts && mark % 1 ? "" : words[of.quantity](mark)),
      ...(of.marks ? { splits: () => of.marks, filter: (_, marks) => marks } : of.log ? { splits: decades } : {}),
    });
    const scale = of => ({
      time: false, distr: of.log ? 3 : 1,
      range: (chart, low, high) => {
        if (low === null) return [1, 10];
        if (of.log) {
          const ends = of === plot.x ? plot.series.filter(wide).flatMap(one => one.points.flatMap(p => [p[2], p[3]])) : [];
          const zoomed = of === plot.x && (low > chart.data[0][0] || high < chart.data[0].at(-1));
          if (!zoomed) ends.filter(end => end > 0).forEach(end => { low = Math.min(low, end); high = Math.max(high, end); });
          // What is smaller is zero; more decades than a picture holds would keep the library busy for ever.
          low = Math.max(low, 1e-15);
          // Of what is zero everywhere no logarithm is a place.
          if (high <= low) [low, high] = [low / 2, low * 2];
          const hits = of === plot.y && plot.series.some(one => one.mark === "columns");
          return [hits ? 0.5 : low / (of === plot.y && plot.series.some(wide) ? 2 : 1.3), high * (hits ? 2 : 1.3)];
        }
        const margin = (high - low || Math.abs(high) || 1) * 0.05;
        return of === plot.y && of.zero ? [Math.min(0, low), Math.max(high + margin, margin)] : [low - margin, high + margin];
      },
    });
    const series = plot.series.map(one => {
      const stroke = colour(`--c${one.colour}`) + (one.pale ? "b3" : "");
      const value = (_, y) => y === null || y === undefined ? "–" : words[plot.y.quantity](y);
      const drawn = {
        columns: { fill: stroke, paths: columns(one.points), points: { show: false } },
        line: { points: { show: true, size: 6 } },
        outline: { paths: outline(one.points), points: { show: false } },
        points: { paths: () => null, points: { show: true, size: 6, fill: stroke } },
      }[one.mark];
      const dash = one.old ? { dash: [4, 4] } : one.dash ? { dash: one.dash === 1 ? [8, 3] : [2, 3] } : {};
      return { label: one.label, stroke, width: 1.5, spanGaps: true, value, ...dash, ...drawn };
    });
    return {
      width, height: 300, pxAlign: false, scales: { x: scale(plot.x), y: scale(plot.y) }, axes: [axis(plot.x), axis(plot.y)],
      series: [{ label: plot.x.label, value: (_, x) => x === null || x === undefined ? "–" : words[plot.x.quantity](x) }, ...series],
      hooks: { draw: [lettersAndIntervals(plot)] }, focus: { alpha: 0.25 },
    };
  };

  // Arrow keys walk from point to point; what the eye sees under the cursor is said too.
  const walk = (chart, plot, box, said) => {
    let at = -1;
    const show = () => {
      const [xs, ...ys] = chart.data;
      const values = ys.flatMap((y, index) => y[at] === null ? [] : [`${plot.series[index].name}: ${words[plot.y.quantity](y[at])}`]);
      said.textContent = `${words[plot.x.quantity](xs[at])}: ${values.join(", ")}`;
      chart.setCursor({ left: chart.valToPos(xs[at], "x"), top: 20 });
    };
    box.addEventListener("keydown", event => {
      const last = chart.data[0].length - 1;
      const to = { ArrowRight: Math.min(at + 1, last), ArrowLeft: Math.max(at - 1, 0), Home: 0, End: last }[event.key];
      if (to !== undefined) { at = to; show(); event.preventDefault(); }
      const xs = chart.data[0];
      if (event.key === "Escape") chart.setScale("x", { min: xs[0], max: xs[last] });
      if (event.key === "+" && at >= 0 && last > 0) chart.setScale("x", { min: xs[Math.max(at - 3, 0)], max: xs[Math.min(at + 3, last)] });
    });
  };

  // A spike and its line below the chart show each other: by the cursor, by focus, and for as long as a click has chosen one.
  const explore = (chart, figure, box) => {
    const lines = [...figure.querySelectorAll(".spike-list li")];
    if (!lines.length) return;
    let chosen = -1;
    const show = at => {
      lines.forEach((line, place) => line.classList.toggle("at", place === at));
      chart.setSeries(at < 0 ? null : at + 1, { focus: true }, false);
    };
    // The spike of the nearest column within a few points.
    const under = () => {
      const left = chart.cursor.left;
      if (left === undefined || left < 0) return -1;
      const x = chart.posToVal(left, "x"), plot = figure.plot.series;
      const holds = one => one.points.some(([, , from, to]) => from !== null && x >= from && x <= to);
      return plot.findIndex(holds);
    };
    const choose = at => { chosen = chosen === at ? -1 : at; show(chosen); };
    box.addEventListener("mousemove", () => { if (chosen < 0) show(under()); });
    box.addEventListener("mouseleave", () => { if (chosen < 0) show(-1); });
    box.addEventListener("click", () => choose(under()));
    lines.forEach((line, place) => {
      line.onmouseenter = line.onfocus = () => { if (chosen < 0) show(place); };
      line.onmouseleave = line.onblur = () => { if (chosen < 0) show(-1); };
      line.onclick = () => choose(place);
      line.onkeydown = event => { if (event.key === "Enter") choose(place); if (event.key === "Escape") { chosen = -1; show(-1); } };
    });
  };

  // The choice of years hides series of a chart, as the style sheet does in a still picture.
  const hideYears = figure => {
    const wanted = figure.closest(".figure").querySelector(".years input:checked")?.value;
    if (wanted) figure.plot.series.forEach((one, at) => figure.chart.setSeries(at + 1, { show: wanted === "both" || (wanted === "old") === one.old }));
  };

  // The slider fades the first record's histograms, or those of the others.
  const slider = document.querySelector(".slider");
  const fade = figure => {
    if (!slider || !figure.plot.series.every(one => one.mark === "outline") || !figure.closest("section:has(> .slider)")) return;
    const share = slider.querySelector("input").value / 100;
    figure.plot.series.forEach((_, at) => { figure.chart.series[at + 1].alpha = Math.min(1, 2 * (at ? share : 1 - share)); });
    figure.chart.redraw(false);
  };

  const draw = figure => {
    const plot = JSON.parse(figure.querySelector("script").textContent);
    if (!plot.series.some(one => one.points.length)) return;
    figure.querySelector(".live")?.remove();
    const box = document.createElement("div");
    box.className = "live";
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", `${figure.querySelector("svg").getAttribute("aria-label")}. Arrow keys go from point to point, plus zooms in, Escape shows all.`);
    const said = document.createElement("p");
    said.className = "said";
    said.setAttribute("aria-live", "polite");
    figure.append(box);
    figure.classList.add("drawn");
    try {
      const chart = new uPlot(options(plot, figure.clientWidth), aligned(plot.series), box);
      box.append(said);
      walk(chart, plot, box, said);
      Object.assign(figure, { chart, plot });
      explore(chart, figure, box);
      hideYears(figure);
      fade(figure);
    } catch (reason) {
      box.remove();
      figure.classList.remove("drawn");
      console.error(reason);
    }
  };

  const figures = [...document.querySelectorAll("figure.plot")];
  // A survey has a hundred plots: those are drawn that come into view.
  const watcher = new IntersectionObserver(entries => entries.filter(entry => entry.isIntersecting).forEach(entry => {
    watcher.unobserve(entry.target);
    draw(entry.target);
  }), { rootMargin: "600px" });
  figures.forEach(figure => watcher.observe(figure));
  const drawn = () => figures.filter(figure => figure.chart);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn().forEach(draw));
  document.querySelectorAll(".years").forEach(years => years.addEventListener("change", () => {
    drawn().filter(figure => years.parentElement.contains(figure)).forEach(hideYears);
  }));
  if (slider) {
    slider.hidden = false;
    slider.addEventListener("input", () => drawn().forEach(fade));
  }
  // A link into a fold opens it, and paper shows the experiments.
  const reveal = () => {
    // Anchors are plain letters; a hash that is none of them, such as an incomplete escape, leads nowhere.
    for (let at = document.getElementById(location.hash.slice(1)); at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  };
  addEventListener("hashchange", reveal);
  reveal();
  const closed = [];
  addEventListener("beforeprint", () => document.querySelectorAll(".part:not([open])").forEach(part => { part.open = true; closed.push(part); }));
  addEventListener("afterprint", () => closed.splice(0).forEach(part => { part.open = false; }));
  addEventListener("resize", () => drawn().filter(figure => figure.clientWidth).forEach(figure => figure.chart.setSize({ width: figure.clientWidth, height: 300 })));
})();
