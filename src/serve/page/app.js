// SPDX-License-Identifier: Apache-2.0
// app.js: the page: signing in, which view the address asks for, keys, and what views share.

import {get, post, remove} from "./api.js";
import {CompareView} from "./compare.js";
import {JobView} from "./job.js";
import {JobsView} from "./jobs.js";
import {listen} from "./live.js";
import {element, fill, plural} from "./words.js";

const SETTLE_MS = 700;  // events of this time lead to one look at the server
const LOOK_MS = 10000;  // liveness changes without an event
const NOTICE_MS = 8000;

const main = document.getElementById("main"), notice = document.getElementById("notice");

const app = {
  chosen: new Set(),  // jobs to compare
  mayOperate: false,
  skew: 0,       // the server's clock less ours, in seconds
  opened: null,  // the job that was looked at last: the list begins there
  view: null,
  unlisten: null,

  now() {
    return Date.now() / 1000 + this.skew;
  },

  say(words) {
    fill(notice, words);
    notice.hidden = false;
    clearTimeout(this.hiding);
    this.hiding = setTimeout(() => {
      notice.hidden = true;
    }, NOTICE_MS);
  },

  // Says what went wrong. A session that has ended leads to the form; a view that was left says nothing.
  fail(cause) {
    if (cause.name === "AbortError") return;
    if (cause.status === 401)
      showForm("");
    else if (cause.status === 0)
      showConnection("not connected");
    else
      this.say(cause.message);
  },
};

function showConnection(words) {
  const place = document.getElementById("connection");
  if (place.textContent === words) return;
  fill(place, words);
  place.className = words ? "bad" : "";
}

// ---- views ----

function leave() {
  app.view?.destroy();
  app.view = null;
}

function route() {
  leave();
  const job = location.hash.match(/^#\/jobs\/(\d+)$/), several = location.hash.match(/^#\/compare\/(\d+(?:,\d+)*)$/);
  if (job)
    app.view = new JobView(main, app, Number(job[1]));
  else if (several)
    app.view = new CompareView(main, app, several[1].split(",").map(Number));
  else
    app.view = new JobsView(main, app);
}

let settling = 0, pending = null;

// Several events are one look, at the view of then.
function onEvent(kind, data) {
  const isForAll = pending && pending.job !== data.job;
  pending = isForAll ? {} : data;
  if (settling) return;
  settling = setTimeout(() => {
    const about = pending;
    settling = 0;
    pending = null;
    if (!document.hidden) app.view?.onEvent(kind, about);
  }, SETTLE_MS);
}

async function begin() {
  let version;
  try {
    version = await get("/api/v1/version");
  } catch (cause) {
    if (cause.status === 401) return showForm("");
    showConnection("not connected");
    setTimeout(begin, 2000);
    return null;
  }
  app.mayOperate = version.role === "operate";
  app.skew = version.now - Date.now() / 1000;
  fill(
      document.getElementById("server"),
      element("span", {}, `${version.version}, engine ${version.engine}, ${plural(version.cores, "core")} `),
      element("button", {type: "button", class: "plain", click: signOut}, "Sign out"));
  showConnection("");
  app.unlisten ??= listen(onEvent, showConnection);
  return route();
}

// ---- the session ----

function showForm(words) {
  leave();
  app.unlisten?.();
  app.unlisten = null;
  document.title = "tutti";
  fill(document.getElementById("server"));
  const token = element(
      "input", {id: "token", type: "password", autocomplete: "current-password", required: true, spellcheck: "false"});
  const form = element(
      "form", {
        class: "sign-in",
        submit: (event) => {
          event.preventDefault();
          signIn(token.value.trim());
        },
      },
      element("h1", {}, "Sign in"),
      element(
          "p", {}, "The command ", element("code", {}, "tutti serve"), " prints the token. It stands in the file ",
          element("code", {}, "token"), " of the server's folder, too; ", element("code", {}, "token-read"),
          " may only look."),
      element("input", {type: "text", autocomplete: "username", value: "tutti", hidden: true}),
      element("label", {"for": "token"}, "Token "), token, element("button", {}, "Sign in"),
      element("p", {class: "bad", role: "alert"}, words));
  fill(main, form);
  token.focus();
}

async function signIn(token) {
  try {
    await post("/api/v1/session", {token});
  } catch (cause) {
    return showForm(cause.message);
  }
  return begin();
}

async function signOut() {
  try {
    await remove("/api/v1/session");
  } catch {
    // The session ends with the server in any case.
  }
  showForm("");
}

// Takes a token out of the address, so that neither the history nor a screen keeps it.
function takeToken() {
  const match = location.hash.match(/^#token=([^&]*)$/);
  if (!match) return null;
  history.replaceState(null, "", `${location.pathname}#/`);
  return decodeURIComponent(match[1]);
}

function arrive() {
  const token = takeToken();
  if (token)
    signIn(token);
  else
    begin();
}

// ---- keys ----

const help = document.getElementById("help");
document.getElementById("keys").addEventListener("click", () => help.showModal());

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  const {target, key} = event, isTyping = target.matches("textarea, select, input:not([type=checkbox])");
  if (key === "Escape" && isTyping) target.blur();
  if (isTyping || !app.view) return;
  if (key === "?")
    help.showModal();
  else if (key === "Escape" && !(app.view instanceof JobsView))
    location.hash = "#/";
  else if (target.matches("pre") || !app.view.onKey(key))
    return;
  event.preventDefault();
});

addEventListener("hashchange", () => {
  if (/^#token=/.test(location.hash))
    arrive();
  else if (app.unlisten)
    route();
});
setInterval(() => document.hidden || app.view?.onEvent("progress", {}), LOOK_MS);
arrive();
