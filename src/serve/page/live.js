// SPDX-License-Identifier: Apache-2.0
// live.js: tells the page what happens at the server. A browser opens at most six connections to a host, so one page of
// a browser holds the stream of events and tells the others; a hidden page gives the stream up. A page that hears
// nothing from another one asks by itself.

import {get} from "./api.js";

const NAME = "tutti-events";
const ASK_MS = 2000, SAY_MS = 5000, QUIET_MS = 12000, AGAIN_MS = 3000;

// Calls onEvent(kind, data) for each event, kind "job" or "progress", and onStatus(words) when the connection changes:
// "" while events come. Returns a function that ends all of it.
export function listen(onEvent, onStatus) {
  const channel = "BroadcastChannel" in window ? new BroadcastChannel(NAME) : null;
  let last = null;  // the number of the newest event; null: not asked yet
  let heard = 0;    // when another page or the stream said something, in ms
  let source = null, giveUp = null, waiting = null, again = 0, isOver = false;

  const now = () => performance.now();
  const isShared = Boolean(navigator.locks && channel);  // other pages of this browser may tell

  function take(kind, data) {
    heard = now();
    onStatus("");  // another page has a stream, whatever went wrong at this one
    if (kind === "alive") return;
    if (kind === "job" && data.id > (last ?? -1)) last = data.id;
    onEvent(kind, data);
  }

  function hear(kind, text) {
    let data;
    try {
      data = JSON.parse(text);
    } catch {
      return;
    }
    take(kind, data);
    channel?.postMessage({kind, data});
  }

  function openStream() {
    source = new EventSource(last === null ? "/api/v1/events" : `/api/v1/events?after=${last}`);
    source.onopen = () => {
      heard = now();
      onStatus("");
    };
    for (const kind of ["job", "progress"]) source.addEventListener(kind, (event) => hear(kind, event.data));
    source.onerror = () => {
      onStatus("not connected");
      if (source && source.readyState === EventSource.CLOSED) {  // refused, not cut: the browser does not try again
        source = null;
        again = setTimeout(() => giveUp && !source && openStream(), AGAIN_MS);
      }
    };
  }

  function closeStream() {
    clearTimeout(again);
    source?.close();
    source = null;
    giveUp?.();
    giveUp = null;
    waiting?.abort();
    waiting = null;
  }

  // Waits for the turn to hold the stream, which another page may have.
  function queue() {
    if (isOver || waiting || giveUp || document.hidden || !isShared) return;
    waiting = new AbortController();
    navigator.locks
        .request(NAME, {signal: waiting.signal}, () => new Promise((resolve) => {
                                                   waiting = null;
                                                   giveUp = resolve;
                                                   openStream();
                                                 }))
        .catch(() => {});  // aborted: the page was hidden
  }

  async function ask() {
    const {events, last: newest} = await get(last === null ? "/api/v1/events" : `/api/v1/events?after=${last}`);
    for (const event of events) onEvent("job", event);  // not heard: nobody tells while this page has to ask
    if (last === null || newest > last) last = newest;
    if (!events.length) onEvent("progress", {});  // progress has no number: the view looks by itself
    onStatus("");
  }

  function tick() {
    if (document.hidden || isOver) return;
    if (source?.readyState === EventSource.OPEN || now() - heard < QUIET_MS) return;
    ask().catch(() => onStatus("not connected"));
  }

  function look() {
    if (document.hidden) {
      closeStream();
    } else {
      heard = isShared ? now() : -QUIET_MS;
      queue();
      onEvent("progress", {});  // something may have happened meanwhile
    }
  }

  if (channel) channel.onmessage = ({data: {kind, data}}) => take(kind, data);
  const asking = setInterval(tick, ASK_MS);
  const saying = setInterval(() => {
    if (source?.readyState === EventSource.OPEN) channel?.postMessage({kind: "alive"});
  }, SAY_MS);
  document.addEventListener("visibilitychange", look);
  queue();
  if (!isShared) heard = -QUIET_MS;

  return () => {
    isOver = true;
    closeStream();
    clearInterval(asking);
    clearInterval(saying);
    document.removeEventListener("visibilitychange", look);
    channel?.close();
  };
}
