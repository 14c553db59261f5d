// What the page knows: the server's state, asked for again and again, and who wants to hear of it.

import { get } from "./api.js";

export const tab = sessionStorage.getItem("tab") || crypto.randomUUID();
sessionStorage.setItem("tab", tab);

export const state = { classes: [], labelled: 0, documents: 0, phase: "learning", revision: -1, saving: { state: "none" } };
const listeners = new Set();

/** Call f with the old and the new state after every change; returns how to stop. */
export function listen(f) {
  listeners.add(f);
  return () => listeners.delete(f);
}

export function update(changes) {
  const before = { ...state };
  Object.assign(state, changes);
  if (JSON.stringify(before) !== JSON.stringify(state)) for (const f of [...listeners]) f(before, state);
}

const plain = (name) => name.toLowerCase().replace(/\s+/g, "");
export const difference = "spaces or capital letters";

/** A class with that name, or one that differs from it only so; not the one that is left out. */
export function resembling(name, leftOut = null) {
  const wanted = name.trim();
  const names = state.classes.map((one) => one.name).filter((other) => other !== leftOut && plain(other) === plain(wanted));
  return names.includes(wanted) ? wanted : names[0];
}

const made = new Set(); // classes that were typed here and that the server may not know yet

/** A new class, there at once. */
export function addClass(name) {
  made.add(name);
  update({ classes: withMade(state.classes) });
}

function withMade(classes) {
  for (const one of classes) if (one.labels || one.seeds.length) made.delete(one.name);
  const known = new Set(classes.map((one) => one.name));
  return [...classes, ...[...made].filter((name) => !known.has(name)).map((name) => ({ name, labels: 0, seeds: [] }))];
}

export async function refresh() {
  const answer = await get("/state");
  update({ ...answer, classes: withMade(answer.classes) });
}

/** Ask every second while the page is visible; `failed` hears of a server that is gone. */
export function poll({ failed, back }) {
  let down = false;
  const tick = async () => {
    if (!document.hidden) {
      try {
        await refresh();
        if (down) back();
        down = false;
      } catch (error) {
        down = true;
        failed(error);
      }
    }
    setTimeout(tick, down ? 2000 : 1000);
  };
  tick();
}
