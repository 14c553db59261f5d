// Answers from the data inside an exported page, in the form in which the server gives them.

import { ApiError } from "./api.js";

export class Offline {
  constructor(data) {
    this.data = data;
  }

  async ask(path, query = {}) {
    const answer = this["ask_" + path.slice(1).replace("/", "_")];
    if (!answer) throw new ApiError(404, { error: "An exported page cannot do this: start dcot explore." });
    return answer.call(this, query);
  }
}
