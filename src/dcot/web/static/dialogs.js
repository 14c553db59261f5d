// Dialogs: choosing a class by its name, the keys, and what one can do with labels and model.

import { post } from "./api.js";
import { dialog, h, plural, whole } from "./dom.js";
import { addClass, difference, listen, refresh, resembling, state, update } from "./state.js";

/** Type a class: an existing one by a few letters, or a new one. Gives its name, or null. */
export function findClass(document = null) {
  return new Promise((resolve) => {
    let place = 0, found = [];
    const input = h("input", { type: "text", maxLength: 200, role: "combobox", "aria-expanded": "true", "aria-controls": "class-options", "aria-label": "Class", placeholder: state.classes.length ? "Type to find, or to make a new class" : "Name of the first class, such as “oil”", autocomplete: "off", spellcheck: false });
    const list = h("ul.options", { id: "class-options", role: "listbox" });
    const box = dialog(state.classes.length ? "Choose a class" : "Name a class", input, list,
      h("p.muted.small.by-key", {}, h("kbd", {}, "↵"), " chooses the highlighted class, ", h("kbd", {}, "Esc"), " goes back."));

    function filter() {
      const wanted = input.value.trim().toLowerCase();
      const chances = new Map((document?.predictions || []).map((one) => [one.name, one.probability]));
      const names = state.classes.map((one) => one.name).filter((name) => name.toLowerCase().includes(wanted));
      names.sort((a, b) => (b.toLowerCase() === wanted) - (a.toLowerCase() === wanted) || b.toLowerCase().startsWith(wanted) - a.toLowerCase().startsWith(wanted) || (chances.get(b) || 0) - (chances.get(a) || 0));
      const same = wanted && resembling(input.value);
      if (same && !names.includes(same)) names.unshift(same);
      found = names.slice(0, 200).map((name) => ({ name, isNew: false }));
      if (wanted && same !== input.value.trim()) found.push({ name: input.value.trim(), isNew: true, same });
      place = 0;
      draw();
    }
    function draw() {
      list.replaceChildren(...found.map((one, k) => h("li", { role: "option", id: `option-${k}`, "aria-selected": String(k === place), onclick: () => take(one) },
        one.isNew ? [h("span.muted", {}, "New class: "), h("b", { dir: "auto" }, one.name), one.same && h("span.muted", {}, `(differs from “${one.same}” only in ${difference})`)] : h("span", { dir: "auto" }, one.name))));
      input.setAttribute("aria-activedescendant", found.length ? `option-${place}` : "");
      list.children[place]?.scrollIntoView({ block: "nearest" });
    }
    /** At once, not when the dialog reports that it is closed: the next key is for the next document. */
    function take({ name }) {
      if (!state.classes.some((one) => one.name === name)) addClass(name);
      resolve(name);
      input.blur(); // or it gets the next key, until the page is drawn again
      box.close();
    }
    input.addEventListener("input", filter);
    input.addEventListener("keydown", (event) => {
      if (event.isComposing) return; // Enter is for what is being written, in Japanese for example
      if (event.key === "ArrowDown") place = Math.min(place + 1, found.length - 1);
      else if (event.key === "ArrowUp") place = Math.max(place - 1, 0);
      else if (event.key === "Enter" && found[place]) take(found[place]);
      else return;
      event.preventDefault();
      draw();
    });
    box.addEventListener("close", () => resolve(null));
    filter();
    input.focus();
  });
}

export function help() {
  const keys = [["1 – 9, 0", "label the document with that class"], ["↵", "accept the prediction"], ["c", "type a class, existing or new"],
    ["s", "skip the document"], ["u", "undo"], ["l", "look-alikes: label a page of similar documents together"], ["m", "labels and model: import, export, rename, save"], ["Esc", "close, go back"]];
  dialog("Keyboard", h("dl.keys", {}, keys.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])));
}

export function labelsAndModel() {
  const message = h("p.small", { role: "status" });
  const say = (text) => { message.textContent = text; };
  const attempt = (f) => async () => { try { await f(); } catch (error) { say(error.message); } };
  const classes = h("div.manage");

  function drawClasses() {
    classes.replaceChildren(...state.classes.flatMap((one) => [
      h("span.name", { dir: "auto", title: one.name }, one.name),
      h("span.muted.small.number", {}, plural(one.labels, "label")),
      h("button.quiet", { "aria-label": `Rename or merge ${one.name}`, onclick: () => rename(one) }, "Rename or merge"),
      one.labels ? h("span") : h("button.quiet.danger", { "aria-label": `Remove ${one.name}`, onclick: attempt(async () => { update(await post("/classes/remove", { name: one.name })); drawClasses(); }) }, "Remove"),
      twin(one),
    ]));
    if (!state.classes.length) classes.replaceChildren(h("p.muted.small", {}, "None yet: press c on the page to name the first one."));
  }

  /** Under a class that differs from an earlier one only in spaces or capital letters: an offer to merge them. */
  function twin(one) {
    const other = resembling(one.name, one.name);
    const earlier = state.classes.findIndex(({ name }) => name === other) < state.classes.indexOf(one);
    return other && earlier ? h("p.small.twin", {}, `Differs from “${other}” only in ${difference}. `, h("button", { onclick: () => rename(one, other) }, "Merge them")) : "";
  }

  function rename(one, suggested = one.name) {
    const input = h("input", { type: "text", value: suggested, maxLength: 200, "aria-label": `New name for ${one.name}` });
    const warning = h("p.small.muted", { role: "status" });
    const go = h("button.primary", { type: "submit" }, "Rename");
    const merging = () => state.classes.some((other) => other.name === input.value.trim() && other.name !== one.name);
    function warn() {
      go.textContent = merging() ? "Merge" : "Rename";
      const other = resembling(input.value, one.name);
      warning.textContent = merging() ? `There is already a class with that name. The ${plural(one.labels, "document")} of “${one.name}” will join it.`
        : other ? `This differs from “${other}” only in ${difference}.` : "";
    }
    input.addEventListener("input", warn);
    const form = h("form.stack", { onsubmit: async (event) => {
      event.preventDefault();
      try {
        update(await post("/classes/rename", { old: one.name, new: input.value.trim(), merge: merging() }));
        box.close();
        drawClasses();
        say(`“${one.name}” is now “${input.value.trim()}”.`);
      } catch (error) { warning.textContent = error.message; }
    } }, input, warning, h("div.row", {}, go, h("button", { type: "button", onclick: () => box.close() }, "Cancel")));
    const box = dialog(`Rename “${one.name}”, or merge it into another class`, form);
    warn();
    input.focus();
    input.select();
  }

  const file = h("input", { type: "file", className: "unseen", accept: ".csv,.tsv,.json,.jsonl", "aria-label": "File of labels", onchange: attempt(async () => {
    const answer = await post("/import", { content: await file.files[0].text() });
    await refresh();
    drawClasses();
    say(`${plural(answer.imported, "label")} imported.${answer.elsewhere ? ` ${plural(answer.elsewhere, "label")} left out: their documents are not in this corpus.` : ""}`);
  }) });
  const download = (format, text) => h("a", { href: `/api/export?format=${format}`, download: "" }, text);
  const box = dialog("Labels & model",
    h("div.stack", {},
      h("section.stack", {}, h("h2", {}, "Classes"), classes),
      h("section.stack", {}, h("h2", {}, "Labels"),
        h("p.muted.small", {}, `${plural(state.labelled, "label")} in ${state.file}. Each one is saved as you give it.`, state.elsewhere ? ` The file also has ${plural(state.elsewhere, "label")} for documents that are not in this corpus.` : ""),
        h("div.row", {}, "Download:", download("csv", "CSV"), download("jsonl", "JSON lines"), download("label-studio", "Label Studio"), download("prodigy", "Prodigy")),
        h("div.row", {}, h("button", { onclick: () => { file.value = ""; file.click(); } }, "Import labels …"), file, h("span.muted.small", {}, "in any of these formats"))),
      h("section.stack", {}, h("h2", {}, "Model"),
        h("p.muted.small", {}, state.adds ? `Adds your labels to the model you started from, and saves the result to ${state.target}.` : `Trains the final classifier on all documents, and saves it to ${state.target}.`),
        h("div.row", {}, h("button.primary", { id: "save-model", onclick: attempt(async () => { update(await post("/model")); say("The model is being trained. You can go on labelling."); }) }, "Save the model")),
        state.saving.message && h("p.small", {}, state.saving.message)),
      message));
  const names = (one) => one.classes.map(({ name }) => name).join("\n");
  box.addEventListener("close", listen((before, now) => names(before) !== names(now) && drawClasses()));
  drawClasses();
}

