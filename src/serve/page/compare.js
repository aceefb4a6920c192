// SPDX-License-Identifier: Apache-2.0
// compare.js: curves of several jobs side by side.

import {get, Looking} from "./api.js";
import {canDraw, Chart} from "./charts.js";
import {element, figure, fill, percent, stateMark, stepText} from "./words.js";

const MOST = 8;  // as many as there are colours
const CHARTS = [
  ["Loss", "loss", figure, "log"], ["Accuracy", "accuracy", percent],
  ["Time of a step in ms", "step_ms", figure, "zero"], ["Samples a second", "ips", figure, "zero"]
];

export class CompareView {
  constructor(root, app, ids) {
    Object.assign(this, {app, charts: [], ids: ids.slice(0, MOST)});
    this.looking = new Looking((signal) => this.look(signal), (cause) => app.fail(cause));
    this.rows = element("tbody");
    this.figures = element("div", {class: "charts"});
    const heads = ["", "Job", "State", "Step", "Loss", "Accuracy", "Samples/s", ""];
    fill(
        root, element("p", {}, element("a", {href: "#/"}, "All jobs")), element("h1", {}, "Comparison"),
        ids.length > MOST ? element("p", {class: "note"}, `The first ${MOST} of ${ids.length} jobs are shown.`) : null,
        element(
            "div", {class: "wide"},
            element(
                "table", {},
                element(
                    "thead", {}, element("tr", {}, ...heads.map((heading) => element("th", {scope: "col"}, heading)))),
                this.rows)),
        this.figures);
    document.title = "Comparison – tutti";
    this.load();
  }

  destroy() {
    this.looking.end();
    for (const chart of this.charts) chart.destroy();
  }

  load() {
    this.looking.again();
  }

  async look(signal) {
    this.show(await Promise.all(this.ids.map((id) => get(`/api/v1/jobs/${id}`, signal))));
  }

  show(jobs) {
    fill(
        this.rows,
        ...jobs.map(
            (job, i) => element(
                "tr", {}, element("td", {}, element("i", {class: `swatch c${i % 8}`})),
                element("td", {}, element("a", {href: `#/jobs/${job.id}`}, `${job.id} ${job.name}`)),
                element("td", {}, stateMark(job)), element("td", {}, stepText(job)),
                element("td", {}, figure(job.loss)), element("td", {}, percent(job.accuracy)),
                element("td", {}, figure(job.ips)),
                element("td", {}, jobs.length > 1 ? element("a", {href: this.without(job.id)}, "leave out") : ""))));
    if (!this.charts.length) this.makeCharts(jobs);
    for (const chart of this.charts) {
      jobs.forEach((job) => chart.know(job));
      chart.refresh();
    }
  }

  makeCharts(jobs) {
    if (!canDraw())
      this.figures.append(
          element("p", {class: "empty"}, "The server was built without dygraphs: there are no curves."));
    for (const [title, tag, format, scale] of CHARTS)
      this.charts.push(
          new Chart(title, jobs.map((job) => ({job: job.id, tag, label: `${job.id} ${job.name}`})), format, scale));
    this.figures.append(...this.charts.map((chart) => chart.root));
  }

  without(id) {
    return `#/compare/${this.ids.filter((other) => other !== id).join(",")}`;
  }

  onEvent(kind, data) {
    if (data.job === undefined || this.ids.includes(data.job)) this.load();
  }

  onKey() {
    return false;
  }
}
