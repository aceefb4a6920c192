// SPDX-License-Identifier: Apache-2.0
// charts.js: curves of runs, drawn by dygraphs. The server samples: a chart asks for as many points as it has room for,
// draws their means as a line and their extrema as a band, and asks again for the part that a user zooms into.

import {series} from "./api.js";
import {count, element, fill, isNumber} from "./words.js";

const POINTS = 500, PAUSE_MS = 2000, FEW = 40;

export function canDraw() {
  return typeof window.Dygraph === "function";
}

// Legends are our own: the one of dygraphs sets a style as text, which the server's policy refuses.
if (canDraw())
  window.Dygraph.PLUGINS = window.Dygraph.PLUGINS.filter((plugin) => plugin !== window.Dygraph.Plugins.Legend);

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Joins curves with steps of their own into the rows of one table. A step that a curve does not have is null, which the
// line passes over; a value that is no number is NaN, which is a gap.
function join(answers) {
  const rows = new Map();
  answers.forEach((answer, i) => {
    if (!answer) return;
    answer.step.forEach((step, k) => {
      if (!rows.has(step)) rows.set(step, new Array(answers.length).fill(null));
      const value = (key) => (answer[key][k] === null ? NaN : answer[key][k]);
      rows.get(step)[i] = [value("min"), value("mean"), value("max")];
    });
  });
  return [...rows.entries()].sort((a, b) => a[0] - b[0]).map(([step, values]) => [step, ...values]);
}

// The last value of a curve that is a number, and its step.
function lastOf(answer) {
  for (let k = (answer?.step.length ?? 0) - 1; k >= 0; k--)
    if (answer.mean[k] !== null) return {step: answer.step[k], value: answer.mean[k]};
  return null;
}

// The ticks of an axis of values. On a logarithmic one powers of ten, with 2 and 5 between them where these are few:
// those of dygraphs stand at 0.3, 0.05 and 0.009.
function ticks(format, low, high, pixels, options, graph, values) {
  if (!options("logscale") || low <= 0) return window.Dygraph.numericTicks(low, high, pixels, options, graph, values);
  const found = [];
  for (const steps of [[1], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]]) {
    found.length = 0;
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++)
      found.push(...steps.map((step) => step * 10 ** power).filter((value) => value >= low && value <= high));
    if (found.length > 2) break;
  }
  return found.map((value) => ({v: value, label: format(value)}));
}

export class Chart {
  // title: over the chart. curves: [{job, tag, label}], at least one. format: shows a value; see words.js.
  // scale: "zero": the axis begins at zero, for times and rates, which are judged by their size; "log": it may be
  // logarithmic, for losses.
  constructor(title, curves, format, scale) {
    Object.assign(
        this, {title, curves, format, scale, answers: curves.map(() => null), marks: [], range: null, tags: new Map()});
    this.values = curves.map(() => element("output", {}, ""));
    this.plot = element("div", {class: "plot"});
    this.words = element("p", {class: "empty"}, "No numbers yet.");
    const legend = curves.map(
        (curve, i) => element("li", {}, element("i", {class: `swatch c${i % 8}`}), `${curve.label} `, this.values[i]));
    this.isLog =
        element("input", {type: "checkbox", change: () => this.graph?.updateOptions({logscale: this.isLog.checked})});
    this.root = element(
        "figure", {class: "chart"},
        element(
            "figcaption", {}, title,
            scale === "log" && canDraw() ? element("label", {}, this.isLog, " logarithmic") : null),
        element("ul", {class: "legend"}, ...legend), this.words, this.plot);
    this.isSeen = false;
    this.isStale = true;
    this.askedAt = -Infinity;
    this.eye = new IntersectionObserver(([entry]) => {
      this.isSeen = entry.isIntersecting;
      if (this.isSeen && this.isStale) this.refresh();
    }, {rootMargin: "200px"});
    this.eye.observe(this.root);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.recolour = () => this.graph?.updateOptions(this.colours());
    this.scheme.addEventListener("change", this.recolour);
  }

  destroy() {
    this.stop?.abort();
    clearTimeout(this.timer);
    this.eye.disconnect();
    this.scheme.removeEventListener("change", this.recolour);
    this.graph?.destroy();
    this.graph = null;
  }

  // Takes what the server says of a job: which numbers its run has written.
  know(job) {
    this.tags.set(job.id, job.tags ?? []);
  }

  // Marks steps by vertical lines: restarts.
  mark(steps) {
    this.marks = steps;
  }

  // Asks the server again: when the chart is in view, and not more often than people look, unless they do (isUrgent).
  refresh(isUrgent = false) {
    this.isStale = true;
    if (!this.isSeen || this.stop) return;
    clearTimeout(this.timer);
    const wait = isUrgent ? 0 : this.askedAt + PAUSE_MS - performance.now();
    if (wait > 0)
      this.timer = setTimeout(() => this.refresh(), wait);
    else
      this.ask();
  }

  async ask() {
    this.isStale = false;
    this.askedAt = performance.now();
    this.stop = new AbortController();
    const {signal} = this.stop, range = this.range;
    try {
      this.answers = await Promise.all(this.curves.map(
          ({job, tag}) => (this.tags.get(job)?.includes(tag) ? series(job, tag, POINTS, signal, range) : null)));
      this.draw();
    } catch (cause) {
      if (cause.name === "AbortError") return;  // the chart is gone
    }
    this.stop = null;
    if (this.isStale) this.refresh();
  }

  draw() {
    const lasts = this.answers.map(lastOf), hasPoints = this.answers.some((answer) => answer?.step.length);
    this.words.hidden = hasPoints;
    this.plot.hidden = !hasPoints;
    this.tell(lasts);
    if (!hasPoints || !canDraw()) return;
    const said =
        lasts.map((last, i) => last && `${this.curves[i].label} ${this.format(last.value)} at step ${last.step}`);
    this.plot.setAttribute("role", "img");
    this.plot.setAttribute("aria-label", `${this.title} over steps. ${said.filter(Boolean).join("; ")}`);
    const file = join(this.answers);  // a line of few points shows where they are: tests, for the most part
    const looks = {
      logscale: this.isLog.checked,
      series: Object.fromEntries(this.answers.map((a, i) => [`curve ${i}`, {drawPoints: a?.step.length < FEW}]))
    };
    if (this.graph)
      this.graph.updateOptions({file, ...looks});
    else
      this.graph = new window.Dygraph(this.plot, file, {...this.options(), ...this.colours(), ...looks});
  }

  tell(lasts) {
    lasts.forEach((last, i) => fill(this.values[i], last ? this.format(last.value) : "–"));
  }

  colours() {
    return {
      colors: this.curves.map((_, i) => colour(`--curve-${i % 8}`)),
      gridLineColor: colour("--line"),
      axisLineColor: colour("--axis"),
    };
  }

  options() {
    return {
      labels: ["step", ...this.curves.map((_, i) => `curve ${i}`)],
      customBars: true,
      fillAlpha: 0.2,
      strokeWidth: 1.6,
      connectSeparatedPoints: true,
      rightGap: 12,
      axisLabelWidth: 64,
      highlightCircleSize: 3,
      pointSize: 2.5,
      includeZero: this.scale === "zero",
      xRangePad: 4,
      yRangePad: 6,
      axes: {
        x: {axisLabelFormatter: (step) => (Number.isInteger(step) ? count(step) : ""), pixelsPerLabel: 70},
        y: {
          axisLabelFormatter: (value) => this.format(value),
          pixelsPerLabel: 36,
          ticker: (...given) => ticks(this.format, ...given)
        },
      },
      highlightCallback: (event, step, points) => this.point(points),
      unhighlightCallback: () => this.tell(this.answers.map(lastOf)),
      zoomCallback: () => this.zoom(),
      underlayCallback: (context, area, graph) => this.underlay(context, area, graph),
    };
  }

  point(points) {
    for (const {name, yval, xval} of points) {
      const i = Number(name.slice("curve ".length));
      if (isNumber(yval)) fill(this.values[i], `${this.format(yval)} at ${count(xval)}`);
    }
  }

  zoom() {
    const [from, to] = this.graph.xAxisRange();
    this.range = this.graph.isZoomed("x") ? [Math.max(0, Math.floor(from)), Math.ceil(to)] : null;
    this.refresh(true);
  }

  underlay(context, area, graph) {
    context.save();
    context.strokeStyle = colour("--restart");
    context.setLineDash([4, 3]);
    for (const step of this.marks) {
      const x = Math.round(graph.toDomXCoord(step)) + 0.5;
      if (x < area.x || x > area.x + area.w) continue;
      context.beginPath();
      context.moveTo(x, area.y);
      context.lineTo(x, area.y + area.h);
      context.stroke();
    }
    context.restore();
  }
}
