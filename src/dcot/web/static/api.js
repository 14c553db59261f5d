// Requests to the server. Labels are sent one after the other and tried again until they are saved.

export class ApiError extends Error {
  constructor(status, body) {
    super(body.error || `the server answered with ${status}`);
    this.status = status;
    this.body = body;
  }
}

async function answer(response) {
  const text = await response.text();
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    body = { error: text };
  }
  if (!response.ok) throw new ApiError(response.status, body);
  return body;
}

export async function get(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = given.length ? "?" + new URLSearchParams(given) : "";
  return answer(await fetch("/api" + path + search));
}

export async function post(path, body = {}) {
  const headers = { "content-type": "application/json" };
  return answer(await fetch("/api" + path, { method: "POST", headers, body: JSON.stringify(body) }));
}

/** A change of a document's label, for the outbox; null is no label, and "" is skipped. */
export const change = ({ id, fingerprint }, label, expected) => ({ id, fingerprint, label, expected });

/** Saves changes of labels in order; keeps those that could not be saved, and tries again. */
export class Outbox {
  constructor({ saved, waiting, conflict }) {
    Object.assign(this, { saved, waiting, conflict });
    this.queue = [];
    this.sending = false;
  }

  get size() {
    return this.queue.length;
  }

  add(request) {
    this.queue.push(request);
    this.send();
  }

  /** One of several documents may be in the way of the others, which are sent again without it. */
  refuse(error, request) {
    const others = error.status === 409 ? request.changes.filter((one) => one.id !== error.body.id) : [];
    if (others.length) this.queue.unshift({ ...request, changes: others });
    this.conflict(error, { ...request, changes: request.changes.filter((one) => !others.includes(one)) });
  }

  async send() {
    if (this.sending) return;
    this.sending = true;
    while (this.queue.length) {
      try {
        const answer = await post("/labels", this.queue[0]);
        this.queue.shift();
        this.saved(answer);
      } catch (error) {
        const refused = error instanceof ApiError && [400, 404, 409, 422].includes(error.status);
        if (refused) this.refuse(error, this.queue.shift());
        else {
          this.waiting(error);
          await new Promise((done) => setTimeout(done, 1500));
        }
      }
    }
    this.sending = false;
    this.saved(null);
  }
}
