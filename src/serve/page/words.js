// SPDX-License-Identifier: Apache-2.0
// words.js: numbers, times and states in words, and elements made of text alone, so that no text becomes markup.

// Makes an element. attributes: set as they are; a function becomes a listener of the event of that name.
// children: elements, or texts that are shown as they are.
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function")
      made.addEventListener(name, value);
    else if (value === true)
      made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// Puts children in the place of what an element holds.
export function fill(parent, ...children) {
  parent.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
  return parent;
}

const NONE = "–";

export function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

// Returns a number with some significant digits, without an exponent where people read it more easily.
export function figure(value, digits = 4) {
  if (!isNumber(value)) return NONE;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(digits - 1);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}

export function count(value) {
  return isNumber(value) ? Math.round(value).toLocaleString("en") : NONE;
}

export function percent(value) {
  return isNumber(value) ? `${Number((100 * value).toPrecision(4))} %` : NONE;
}

export function bytes(value) {
  if (!isNumber(value)) return NONE;
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000;
  return `${unit ? value.toPrecision(3) : value} ${units[unit]}`;
}

// Returns a span of seconds: "0.42 s", "3 min 5 s", "2 h 10 min", "3 d 4 h".
export function span(seconds) {
  if (!isNumber(seconds)) return NONE;
  if (seconds < 10) return `${Number(Math.max(0, seconds).toPrecision(2))} s`;
  const s = Math.round(seconds);
  const both = (n, unit, rest, of) => (rest ? `${n} ${unit} ${rest} ${of}` : `${n} ${unit}`);
  if (s < 60) return `${s} s`;
  if (s < 3600) return both(Math.floor(s / 60), "min", s % 60, "s");
  if (s < 86400) return both(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "min");
  return both(Math.floor(s / 86400), "d", Math.floor((s % 86400) / 3600), "h");
}

// Returns how long ago a time was. at, now: seconds since 1970.
export function ago(at, now) {
  return isNumber(at) ? `${span(Math.max(0, Math.round(now - at)))} ago` : NONE;
}

// Returns the local date and time of a time in seconds since 1970.
export function time(at) {
  if (!isNumber(at)) return NONE;
  const date = new Date(1000 * at), two = (n) => String(n).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
      `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

const ENDED = new Set(["done", "failed", "stopped", "lost"]);
export function hasEnded(job) {
  return ENDED.has(job.state);
}

const LIVENESS = {
  live: "it lives, and takes steps",
  suspect: "no sign of life for 5 s",
  dead: "no sign of life for 15 s",
  stalled: "it lives, but took no step for a minute and for ten usual ones",
  none: "nothing runs",
};

// Returns a mark with the state of a job in words; its colour says the liveness.
export function stateMark(job) {
  const liveness = job.liveness in LIVENESS ? job.liveness : "none";
  const shown = [
    job.state, job.stopping && "stopping", liveness !== "live" && liveness !== "none" && liveness
  ].filter(Boolean).join(", ");
  return element("span", {class: `state ${job.state} ${liveness}`, title: LIVENESS[liveness]}, shown);
}

// Returns the progress of a job: "120 of 312".
export function stepText(job) {
  if (!isNumber(job.step)) return NONE;
  return isNumber(job.steps) ? `${count(job.step)} of ${count(job.steps)}` : count(job.step);
}

// Returns the ranks of a job: "2" or "2 to 4".
export function ranksText(job) {
  const {min, max} = job.ranks;
  return min === max ? String(min) : `${min} to ${max}`;
}

export function plural(n, word) {
  return `${count(n)} ${word}${n === 1 ? "" : "s"}`;
}
