// Where answers come from: the server, or the data inside an exported page.

import * as server from "./api.js";
import { Offline } from "./offline.js";

const embedded = document.getElementById("dcot-data");
export const offline = embedded ? new Offline(JSON.parse(embedded.textContent)) : null;
export const get = offline ? (path, query) => offline.ask(path, query) : server.get;
export const post = offline ? (path, body) => offline.ask(path, body) : server.post;
