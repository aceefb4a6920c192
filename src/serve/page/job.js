// SPDX-License-Identifier: Apache-2.0
// job.js: one job: where it is, its curves, where its time goes, its attempts, restarts, checkpoints and log.

import {get, Looking, post} from "./api.js";
import {canDraw, Chart} from "./charts.js";
import {LogView} from "./log.js";
import {ago, bytes, count, element, figure, fill, hasEnded, isNumber, percent, plural, ranksText, span, stateMark, stepText, time} from "./words.js";

const LOSS = ["loss", "test_loss"], TIME = ["step_ms", "comm_ms"];
const LABELS = {
  loss: "training",
  test_loss: "test",
  accuracy: "test",
  ips: "samples a second",
  step_ms: "step",
  comm_ms: "waiting for exchanges",
  lr: "learning rate"
};
const CHARTS = [
  ["Loss", LOSS, figure, "log"], ["Accuracy", ["accuracy"], percent], ["Time of a step in ms", TIME, figure, "zero"],
  ["Samples a second", ["ips"], figure, "zero"], ["Learning rate", ["lr"], figure]
];
const WIDE = new Set(["Cause", "Folder"]);  // facts that take a row
// Parts of the time, as metrics.jsonl calls them.
const PARTS = {
  compute: "forward and backward",
  exchange: "exchange between ranks",
  data_io: "data I/O",
  update: "update on the workers",
  centre: "update at the centre",
  batch_copy: "batches to the device",
  weights_copy: "weights to the device and back",
  evaluation: "evaluation",
  checkpoint: "checkpoints",
  initialisation: "initialisation",
  other: "other"
};

function table(caption, headings, rows, empty) {
  if (!rows.length) return element("section", {}, element("h2", {}, caption), element("p", {class: "empty"}, empty));
  const head = element("tr", {}, ...headings.map((heading) => element("th", {scope: "col"}, heading)));
  const body = rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell))));
  return element(
      "section", {}, element("h2", {}, caption),
      element("div", {class: "wide"}, element("table", {}, element("thead", {}, head), element("tbody", {}, ...body))));
}

function costSection(cost) {
  const parts = Object.entries(cost ?? {}).filter(([, seconds]) => seconds > 0).sort((a, b) => b[1] - a[1]);
  const whole = parts.reduce((sum, [, seconds]) => sum + seconds, 0);
  const heading = element("h2", {}, "Where the time went");
  if (!parts.length)
    return element("section", {}, heading, element("p", {class: "empty"}, "A run says this when it ends or stops."));
  const known = Object.keys(PARTS), number = (key) => Math.max(0, known.indexOf(key));
  const bar = element("div", {class: "cost", "aria-hidden": "true"}, ...parts.map(([key, seconds]) => {
    const piece = element("i", {class: `part p${number(key)}`, title: `${PARTS[key] ?? key}: ${span(seconds)}`});
    piece.style.flexGrow = seconds / whole;
    return piece;
  }));
  const legend = parts.map(
      ([key, seconds]) => element(
          "li", {}, element("i", {class: `swatch p${number(key)}`}),
          `${PARTS[key] ?? key}: ${span(seconds)}, ${(100 * seconds / whole).toFixed(1)} %`));
  return element("section", {}, heading, bar, element("ul", {class: "legend"}, ...legend));
}

function attemptRows(job) {
  return job.attempts.map(
      (a) =>
          [String(a.number), time(a.started), time(a.ended),
           isNumber(a.started) ? span((a.ended ?? job.as_of) - a.started) : "–", a.code === null ? "–" : String(a.code),
           a.cause || "–", a.engine, a.handle || "–"]);
}

function facts(job, now) {
  const rows = [
    ["Step", stepText(job)], ["Epoch", figure(job.epoch)], ["Loss", figure(job.loss)],
    ["Accuracy", percent(job.accuracy)], ["Samples a second", figure(job.ips)],
    ["Ranks", `${ranksText(job)}, each with ${plural(job.threads, "thread")}`],
    ["Last sign of progress", ago(job.progress_at, now)], ["Submitted", time(job.created)],
    ["Attempt", String(job.attempt)], ["Weights", job.weights || "–"], ["Folder", job.folder]
  ];
  if (job.cause) rows.unshift(["Cause", job.cause]);
  return element(
      "dl", {class: "facts"},
      ...rows.map(
          ([name, value]) =>
              element("div", {class: WIDE.has(name) && "all"}, element("dt", {}, name), element("dd", {}, value))));
}

export class JobView {
  constructor(root, app, id) {
    Object.assign(this, {app, id, root, charts: [], drawn: ""});
    app.opened = id;
    const fail = (cause) => (cause.status === 404 ? this.showNone(cause) : app.fail(cause));
    this.looking = new Looking((signal) => this.look(signal), fail);
    this.title = element("h1", {}, `Job ${id}`);
    this.state = element("span");
    this.buttons = element("span", {class: "buttons"});
    this.facts = element("div");
    this.figures = element("div", {class: "charts"});
    this.marks = element("p", {class: "note", hidden: true});
    this.tables = element("div");
    this.source = element("pre");
    this.log = new LogView(id);
    this.makeCharts();
    fill(
        root, element("p", {}, element("a", {href: "#/"}, "All jobs")),
        element("div", {class: "bar"}, this.title, this.state, this.buttons), this.facts, this.figures, this.marks,
        this.tables, this.log.root,
        element("details", {}, element("summary", {}, "The job as submitted"), this.source));
    this.load();
  }

  makeCharts() {
    if (!canDraw())
      this.figures.append(element(
          "p", {class: "empty"},
          "The server was built without dygraphs, so it shows last numbers and no " +
              "curves. Install libjs-dygraphs and build again."));
    for (const [title, tags, format, scale] of CHARTS)
      this.charts.push(new Chart(title, tags.map((tag) => ({job: this.id, tag, label: LABELS[tag]})), format, scale));
    this.figures.append(...this.charts.map((chart) => chart.root));
  }

  destroy() {
    this.looking.end();
    this.log.destroy();
    for (const chart of this.charts) chart.destroy();
  }

  load() {
    this.looking.again();
  }

  async look(signal) {
    this.show(await get(`/api/v1/jobs/${this.id}`, signal));
  }

  showNone(cause) {
    this.destroy();
    fill(
        this.root, element("p", {}, element("a", {href: "#/"}, "All jobs")),
        element("p", {class: "empty"}, cause.message));
  }

  show(job) {
    const now = this.app.now(), restarts = job.restarts ?? [], checkpoints = job.checkpoints ?? [];
    job.as_of = now;
    document.title = `${job.name || `job ${job.id}`}: ${job.state} – tutti`;
    fill(this.title, element("span", {class: "number"}, `${job.id} `), job.name || "without a name");
    fill(this.state, stateMark(job));
    this.showButtons(job);
    fill(this.facts, facts(job, now));
    const isTraining = job.kind === "train";
    this.figures.hidden = !isTraining;
    if (isTraining) this.refreshCharts(job, restarts);
    fill(
        this.tables, isTraining ? costSection(job.cost) : null,
        table(
            "Attempts", ["Number", "Started", "Ended", "Took", "Exit code", "Cause", "Engine", "Handle"],
            attemptRows(job), "The job waits for its turn."),
        isTraining ?
            table(
                "Restarts", ["Went on after step", "Lost rank", "Seconds until the next step"],
                restarts.map((r) => [count(r.step), r.lost >= 0 ? String(r.lost) : "none", figure(r.seconds, 3)]),
                "No rank was lost.") :
            null,
        isTraining ? table(
                         "Checkpoints", ["Step", "Size", "Written"],
                         checkpoints.map((c) => [count(c.step), bytes(c.bytes), time(c.at)]).reverse(), "None yet.") :
                     null);
    this.log.setAttempts(job.attempts.length, hasEnded(job));
    fill(this.source, job.job || (job.argv ?? []).join(" "));
  }

  // Curves change with steps.
  refreshCharts(job, restarts) {
    const has = `${job.step} ${restarts.length} ${job.state} ${job.tags}`;
    if (this.drawn === has) return;
    this.drawn = has;
    for (const chart of this.charts) {
      chart.know(job);
      chart.mark(restarts.map(({step}) => step));
      chart.refresh();
    }
    this.marks.hidden = !canDraw() || !Number.isInteger(job.step);
    fill(
        this.marks, "Drag over a curve to look closer; a double click goes back.",
        restarts.length ? " A dashed line is a restart: a rank was lost or came, and the run went on from there." : "");
  }

  showButtons(job) {
    const isOver = hasEnded(job), hasMore = job.state !== "done" || (isNumber(job.steps) && job.step < job.steps);
    const isQueued = job.state === "queued";
    const wanted = this.app.mayOperate ?
        [
          !isOver && (job.stopping ? "stopNow" : "stop"), isOver && hasMore && "resume",
          !isOver && !isQueued && job.kind === "train" && "report"
        ] :
        [];
    const names = wanted.filter(Boolean);
    if (this.shownButtons === names.join()) return;  // a button that has the focus stays
    this.shownButtons = names.join();
    const words = {stop: "Stop", stopNow: "Stop now", resume: "Resume", report: "Report a hang"};
    const titles = {
      stop: "The run saves a checkpoint and ends.",
      stopNow: "The run ends without a checkpoint.",
      resume: "Starts a new attempt, which goes on from the newest checkpoint.",
      report: "All ranks write into the log where they are."
    };
    fill(
        this.buttons,
        ...names.map(
            (name) =>
                element("button", {type: "button", title: titles[name], click: () => this.order(name)}, words[name])));
    if (!this.app.mayOperate) fill(this.buttons, element("span", {class: "note"}, "This token may only read."));
  }

  async order(name) {
    try {
      if (name === "stopNow")
        await post(`/api/v1/jobs/${this.id}/stop`, {now: true});
      else
        await post(`/api/v1/jobs/${this.id}/${name}`);
      this.app.say({
        stop: "The job was asked to stop.",
        stopNow: "The job is ended.",
        resume: "The job goes on.",
        report: "The ranks write into the log."
      }[name]);
    } catch (cause) {
      this.app.fail(cause);
    }
    this.load();
  }

  onEvent(kind, data) {
    if (data.job === undefined || data.job === this.id) this.load();
  }

  onKey(key) {
    if (key !== "/") return false;
    this.log.filter.focus();
    return true;
  }
}
