// SPDX-License-Identifier: Apache-2.0
// jobs.js: the list of jobs. Rows stay while their texts change, so that neither the focus nor a choice is lost.

import {get, Looking} from "./api.js";
import {ago, element, figure, fill, hasEnded, isNumber, percent, plural, ranksText, span, stateMark, stepText} from "./words.js";

const PAGE = 50;
const STATES = [
  "queued", "placing", "rendezvous", "running", "checkpointing", "recovering", "done", "failed", "stopped", "lost",
  "unknown"
];
const HEADINGS = [
  ["", "choice"], ["Job", "name"], ["State", "state"], ["Step", "step"], ["Loss", "loss"], ["Accuracy", "accuracy"],
  ["Samples/s", "rate"], ["Ranks", "ranks"], ["Age", "age"]
];

function ageText(job, now) {
  if (hasEnded(job) && isNumber(job.ended))
    return `ran ${span(job.ended - (job.started ?? job.ended))}, ended ${ago(job.ended, now)}`;
  if (isNumber(job.progress_at)) return `last sign ${ago(job.progress_at, now)}`;
  return isNumber(job.started) ? `started ${ago(job.started, now)}` : `submitted ${ago(job.created, now)}`;
}

class Row {
  constructor(id, chosen, onChoose) {
    this.link = element("a", {href: `#/jobs/${id}`});
    this.box = element("input", {type: "checkbox", change: () => onChoose(id, this.box.checked)});
    this.box.checked = chosen;
    this.bar = element("progress", {"aria-hidden": "true", hidden: true});
    this.step = element("span");
    this.cells = Object.fromEntries(
        HEADINGS.map(([label, name]) => [name, element("td", {class: `of-${name}`, "data-label": label})]));
    this.cells.choice.append(this.box);
    this.cells.name.append(this.link);
    this.cells.step.append(this.step, this.bar);
    this.root = element("tr", {}, ...Object.values(this.cells));
  }

  update(job, now) {
    const c = this.cells;
    fill(this.link, element("span", {class: "number"}, `${job.id} `), job.name || "without a name");
    this.box.setAttribute("aria-label", `compare job ${job.id}`);
    fill(c.state, stateMark(job));
    fill(this.step, stepText(job));
    this.bar.hidden = !(isNumber(job.steps) && isNumber(job.step) && job.steps > 0);
    if (!this.bar.hidden) {
      this.bar.max = job.steps;
      this.bar.value = job.step;
    }
    fill(c.loss, figure(job.loss));
    fill(c.accuracy, percent(job.accuracy));
    fill(c.rate, figure(job.ips));
    fill(c.ranks, ranksText(job));
    fill(c.age, ageText(job, now));
    if (job.cause && hasEnded(job)) c.state.append(element("small", {}, job.cause));
  }
}

export class JobsView {
  constructor(root, app) {
    this.app = app;
    this.looking = new Looking((signal) => this.look(signal), (cause) => app.fail(cause));
    this.rows = new Map();
    this.oldest = null;  // with older pages: ids down to this one are shown
    this.state = element(
        "select", {id: "state", change: () => this.load()}, element("option", {value: ""}, "all states"),
        ...STATES.map((state) => element("option", {value: state}, state)));
    this.compare =
        element("button", {type: "button", "aria-keyshortcuts": "c", click: () => this.openComparison()}, "Compare");
    this.body = element("tbody");
    const heads = HEADINGS.map(
        ([label, name]) =>
            element("th", {class: `of-${name}`, scope: "col"}, label || element("span", {class: "unseen"}, "compare")));
    this.table = element("table", {class: "jobs"}, element("thead", {}, element("tr", {}, ...heads)), this.body);
    this.empty = element("p", {class: "empty", hidden: true});
    this.older = element("button", {type: "button", hidden: true, click: () => this.loadOlder()}, "Older jobs");
    this.total = element("p", {class: "note", role: "status"});
    fill(
        root,
        element(
            "div", {class: "bar"}, element("h1", {}, "Jobs"), element("label", {"for": "state"}, "Show "), this.state,
            this.compare),
        this.empty, this.table, this.older, this.total);
    document.title = "Jobs – tutti";
    this.showChoice();
    this.load();
  }

  destroy() {
    this.looking.end();
  }

  load() {
    this.looking.again();
  }

  async look(signal) {
    let jobs = [], asOf = 0, page;
    do {
      page = await this.page(jobs.at(-1)?.id, signal);
      jobs = jobs.concat(page.jobs);
      asOf = page.as_of;
    } while (this.oldest !== null && page.jobs.length === PAGE && jobs.at(-1).id > this.oldest);
    this.show(jobs, asOf, page.jobs.length === PAGE);
  }

  page(after, signal) {
    const query = new URLSearchParams({limit: PAGE});
    if (after !== undefined) query.set("after", after);
    if (this.state.value) query.set("state", this.state.value);
    return get(`/api/v1/jobs?${query}`, signal);
  }

  loadOlder() {
    const ids = [...this.rows.keys()];
    this.oldest = Math.min(...ids) - 1;
    this.load();
  }

  show(jobs, asOf, hasMore) {
    const ids = new Set(jobs.map(({id}) => id));
    for (const [id, row] of this.rows) {
      if (ids.has(id)) continue;
      row.root.remove();
      this.rows.delete(id);
    }
    jobs.forEach((job, i) => {
      let row = this.rows.get(job.id);
      if (!row)
        this.rows.set(job.id, row = new Row(job.id, this.app.chosen.has(job.id), (id, is) => this.choose(id, is)));
      row.update(job, asOf);
      if (this.body.children[i] !== row.root) this.body.insertBefore(row.root, this.body.children[i] ?? null);
    });
    if (this.app.opened) this.rows.get(this.app.opened)?.link.focus();
    this.app.opened = null;
    this.table.hidden = !jobs.length;
    this.empty.hidden = jobs.length > 0;
    if (!jobs.length)
      fill(this.empty, ...(this.state.value ? [`No job is ${this.state.value}.`] : [
             "No jobs yet. Submit one: ", element("code", {}, "tutti submit examples/lenet.yaml")
           ]));
    this.older.hidden = !hasMore;
    const running = jobs.filter((job) => !hasEnded(job) && job.state !== "queued").length;
    const queued = jobs.filter((job) => job.state === "queued").length;
    fill(this.total, jobs.length ? `${plural(jobs.length, "job")} shown, ${running} at work, ${queued} queued.` : "");
  }

  choose(id, is) {
    if (is)
      this.app.chosen.add(id);
    else
      this.app.chosen.delete(id);
    this.showChoice();
  }

  showChoice() {
    const n = this.app.chosen.size;
    fill(this.compare, n ? `Compare ${n} jobs` : "Compare");
    this.compare.disabled = n < 2;
    this.compare.title = n < 2 ? "Choose two jobs or more in the first column." : "";
  }

  openComparison() {
    if (this.app.chosen.size > 1) location.hash = `#/compare/${[...this.app.chosen].sort((a, b) => a - b).join(",")}`;
  }

  onEvent() {
    this.load();
  }

  // Moves the focus over the rows. Returns true if the key meant something.
  onKey(key) {
    const rows = [...this.rows.values()].sort((a, b) => a.root.rowIndex - b.root.rowIndex);
    const at = rows.findIndex((row) => row.root.contains(document.activeElement));
    if (key === "c") return this.openComparison(), true;
    if (key === "x" && at >= 0) return rows[at].box.click(), true;
    const to = key === "j" || key === "ArrowDown" ? at + 1 : key === "k" || key === "ArrowUp" ? at - 1 : -1;
    if (!["j", "k", "ArrowDown", "ArrowUp"].includes(key) || !rows.length) return false;
    rows[Math.max(0, Math.min(rows.length - 1, to))].link.focus();
    return true;
  }
}
