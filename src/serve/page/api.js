// SPDX-License-Identifier: Apache-2.0
// api.js: asks the server. A refusal becomes a Refusal with the server's own words.

export class Refusal extends Error {
  constructor(status, words, hint) {
    super(hint ? `${words} ${hint}` : words);
    this.status = status;
  }
}

async function refusal(response) {
  let words = `The server answered ${response.status}.`, hint = "";
  try {
    const {error} = await response.json();
    words = error.message;
    hint = error.hint || "";
  } catch {
    // A proxy's answer is no JSON: its status has to do.
  }
  return new Refusal(response.status, words, hint);
}

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, {cache: "no-store", ...options});
  } catch (cause) {
    if (cause.name === "AbortError") throw cause;
    throw new Refusal(0, "The server does not answer.", "The page tries again.");
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

export async function get(path, signal) {
  return (await ask(path, {headers: {Accept: "application/json"}, signal})).json();
}

export async function post(path, body = {}) {
  const response = await ask(path, {
    method: "POST",
    headers: {"Content-Type": "application/json"},
    body: JSON.stringify(body),
  });
  return response.status === 204 ? null : response.json();
}

export async function remove(path) {
  await ask(path, {method: "DELETE"});
}

// Looks at the server for a view, one look at a time: who asks for a look meanwhile gets one more behind it. A look is
// never given up for the next one, or a slow server would show nothing while events come.
export class Looking {
  // look(signal): asks and shows. fail(cause): is told why a look failed.
  constructor(look, fail) {
    Object.assign(this, {look, fail, isBusy: false, isWanted: false, stop: new AbortController()});
  }

  async again() {
    this.isWanted = true;
    if (this.isBusy) return;
    this.isBusy = true;
    while (this.isWanted && !this.stop.signal.aborted) {
      this.isWanted = false;
      try {
        await this.look(this.stop.signal);
      } catch (cause) {
        if (cause.name !== "AbortError") this.fail(cause);
      }
    }
    this.isBusy = false;
  }

  // Ends the look at hand; no other follows.
  end() {
    this.stop.abort();
  }
}

// Reads a piece of a log as bytes, of an attempt (0: the newest). from: the first byte; negative: from the end.
// next: the byte behind the piece.
export async function log(job, attempt, from, limit, signal) {
  const query = new URLSearchParams({from, limit});
  if (attempt) query.set("attempt", attempt);
  const response = await ask(`/api/v1/jobs/${job}/logs?${query}`, {signal});
  return {bytes: new Uint8Array(await response.arrayBuffer()), next: Number(response.headers.get("X-Tutti-Next"))};
}

// Reads one tag of a job's numbers in at most `points` points. range: [from, to], steps; null: all.
export function series(job, tag, points, signal, range) {
  const query = new URLSearchParams({tag, points});
  if (range) {
    query.set("from", range[0]);
    query.set("to", range[1]);
  }
  return get(`/api/v1/jobs/${job}/series?${query}`, signal);
}
