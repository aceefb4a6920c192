// SPDX-License-Identifier: Apache-2.0
// log.js: the log of an attempt: its end, older pieces on demand, new lines as they come, and a filter.

import {log} from "./api.js";
import {element, fill} from "./words.js";

const PIECE = 65536, MOST_LINES = 5000, ASK_MS = 1000;
// What programs write for terminals: colours and moves of the cursor.
const TERMINAL = /\u001b\[[0-9;?]*[A-Za-z]/g;

export class LogView {
  constructor(job) {
    Object.assign(this, {job, attempt: 0, lines: [], partial: "", first: 0, next: 0, isRead: false, isOver: false});
    this.filter = element("input", {
      type: "search",
      id: "filter",
      placeholder: "only lines with …",
      "aria-keyshortcuts": "/",
      input: () => this.show()
    });
    this.follow = element("input", {type: "checkbox", id: "follow", change: () => this.show()});
    this.follow.checked = true;
    this.attempts = element("select", {id: "attempt", hidden: true, change: () => this.choose()});
    this.older = element("button", {type: "button", hidden: true, click: () => this.loadOlder()}, "Older lines");
    this.count = element("span", {class: "note", role: "status"});
    this.text = element("pre", {tabindex: "0", "aria-label": "log"});
    this.root = element(
        "section", {class: "log"}, element("h2", {}, "Log"),
        element(
            "div", {class: "bar"}, element("label", {"for": "filter", class: "unseen"}, "Filter"), this.filter,
            this.follow, element("label", {"for": "follow"}, "follow"),
            element("label", {"for": "attempt", class: "unseen"}, "attempt"), this.attempts, this.older, this.count),
        this.text);
    this.timer = setInterval(() => this.load(), ASK_MS);
    this.load();
  }

  destroy() {
    clearInterval(this.timer);
    this.stop?.abort();
  }

  // n: attempts of the job. isOver: nothing will be added to the newest log.
  setAttempts(n, isOver) {
    if (this.attempts.options.length !== n) {
      const chosen = this.attempts.value, wasNewest = this.attempts.selectedIndex <= 0,
            isFirst = !this.attempts.options.length;
      fill(this.attempts, ...Array.from({length: n}, (_, i) => element("option", {value: n - i}, `attempt ${n - i}`)));
      if (!wasNewest)
        this.attempts.value = chosen;
      else if (isFirst)
        this.attempt = n;  // what is read already
      else
        this.choose();
    }
    this.attempts.hidden = n < 2;
    this.isOver = isOver;
  }

  choose() {
    this.stop?.abort();
    this.stop = null;
    Object.assign(
        this, {attempt: Number(this.attempts.value), lines: [], partial: "", first: 0, next: 0, isRead: false});
    this.load();
  }

  async load() {
    if (this.stop || document.hidden || (this.isRead && this.isOver && this.isAtEnd)) return;
    this.stop = new AbortController();
    try {
      const piece = await log(this.job, this.attempt, this.isRead ? this.next : -PIECE, PIECE, this.stop.signal);
      if (!this.isRead) {
        this.decoder = new TextDecoder();
        this.first = piece.next - piece.bytes.length;
      }
      this.isAtEnd = piece.bytes.length === 0;
      this.next = piece.next;
      this.take(this.decoder.decode(piece.bytes, {stream: true}), !this.isRead && this.first > 0);
      this.isRead = true;
    } catch (cause) {
      if (cause.name === "AbortError") return;
      if (cause.status === 404 && !this.isRead) this.isAtEnd = true;  // nothing was started yet
    }
    this.stop = null;
  }

  // Adds text behind the lines. isTorn: it begins inside a line, which is left out.
  take(text, isTorn) {
    const lines = (this.partial + text).replace(TERMINAL, "").split("\n");
    this.partial = lines.pop();
    if (isTorn) lines.shift();
    this.lines.push(...lines);
    if (this.lines.length > MOST_LINES) this.lines.splice(0, this.lines.length - MOST_LINES);
    if (text || !this.isRead) this.show();
  }

  async loadOlder() {
    const from = Math.max(0, this.first - PIECE);
    const {bytes} = await log(this.job, this.attempt, from, this.first - from);
    const lines = new TextDecoder().decode(bytes).replace(TERMINAL, "").split("\n");
    if (from > 0) lines.shift();
    if (lines.at(-1) === "") lines.pop();
    this.first = from;
    this.follow.checked = false;
    this.lines = lines.concat(this.lines).slice(0, MOST_LINES);
    this.show();
  }

  show() {
    const words = this.filter.value.toLowerCase();
    const shown = words ? this.lines.filter((line) => line.toLowerCase().includes(words)) : this.lines;
    const place = this.text.scrollTop;
    this.text.textContent = shown.join("\n") + (this.partial && !words ? `\n${this.partial}` : "");
    if (!this.text.textContent)
      this.text.textContent = this.lines.length ? "No line has these words." : "The job has written nothing yet.";
    this.text.scrollTop = this.follow.checked ? this.text.scrollHeight : place;
    this.older.hidden = this.first === 0 || this.lines.length >= MOST_LINES;
    fill(this.count, words ? `${shown.length} of ${this.lines.length} lines` : `${this.lines.length} lines`);
  }
}
