// Keeps a page as the server would render it now, and saves a hand the way to the mouse.
//
// Every page works without this file. It fetches the page it is on whenever the server says that something has
// happened, and changes what differs in the parts marked data-live; a page always has all of its parts, empty ones too. A
// part that a person types in stays until he is done.
"use strict";

// --- news ---------------------------------------------------------------------------------------------------------

const rendered = new Map(); // id -> the part as the server sent it last
let fetching = false;
let again = false;

function liveParts(within) {
  return [...within.querySelectorAll("[data-live]")];
}

function isTypedIn(part) {
  return [...part.querySelectorAll("textarea, input[type=text]")].some((field) => field.value !== field.defaultValue)
    || (part.contains(document.activeElement) && document.activeElement.matches("textarea, input, select"));
}

// What a person has reached with the keyboard is known by where it is and what it does, not by its place in a list.
function nameOf(control) {
  const { tagName, name, value, textContent } = control;
  return [control.closest("[id]").id, tagName, control.getAttribute("href"), name, value, textContent].join("\n");
}

function isOfOneMake(one, other) {
  return one.cloneNode(false).isEqualNode(other.cloneNode(false));
}

// Makes what is shown of what was sent before what is sent now. What both have is left alone: a long list is laid out
// again only where it differs, and what a person has selected or opened in the rest stays so.
function bring(shown, before, now) {
  if (before.isEqualNode(now)) return;
  const [there, was, willBe] = [shown, before, now].map((each) => [...each.children]);
  const isTold = there.length === was.length && isOfOneMake(before, now) && (was.length && willBe.length);
  const changes = isTold ? changesOf(was, willBe) : [];
  const isList = now.matches("tbody, ol, ul"); // white space counts for nothing between its children
  if (!changes.length || hasWords(before) || hasWords(now) || (!isList && changes.some((each) => !each.isEven))) {
    shown.replaceWith(now.cloneNode(true));
    return;
  }
  for (const { from, to, fresh, isEven } of changes) {
    if (isEven) fresh.forEach((each, index) => bring(there[from + index], was[from + index], each));
    else {
      for (const each of fresh) shown.insertBefore(each.cloneNode(true), there[from] ?? null);
      for (const each of there.slice(from, to)) each.remove();
    }
  }
}

function hasWords(element) {
  return [...element.childNodes].some((each) => each.nodeType === Node.TEXT_NODE && each.data.trim());
}

// Where a list differs from what it was: the children from..to are now those in `fresh`.
function changesOf(was, willBe) {
  const places = new Map(was.map((each, index) => [each.outerHTML, index]));
  const changes = [];
  let [from, begin] = [0, 0];
  for (let at = 0; at <= willBe.length; at += 1) {
    const to = at === willBe.length ? was.length : places.get(willBe[at].outerHTML) ?? -1;
    if (to < from) continue;
    const fresh = willBe.slice(begin, at);
    if (fresh.length || to > from) changes.push({ from, to, fresh, isEven: fresh.length === to - from });
    [from, begin] = [to + 1, at + 1];
  }
  return changes;
}

function take(part, now) {
  const before = rendered.get(part.id);
  if (before.isEqualNode(now) || isTypedIn(part)) return;
  rendered.set(part.id, now);
  const open = new Map([...part.querySelectorAll("details[id]")].map((each) => [each.id, each.open]));
  const reached = document.activeElement;
  const focus = part.contains(reached) && nameOf(reached);
  const atEnd = innerHeight + scrollY >= document.body.scrollHeight - 40;
  bring(part, before, now);
  const fresh = document.getElementById(now.id);
  if (atEnd && "tail" in fresh.dataset) scrollTo(0, document.body.scrollHeight);
  for (const each of fresh.querySelectorAll("details[id]")) if (open.has(each.id)) each.open = open.get(each.id);
  if (focus && !reached.isConnected) [...fresh.querySelectorAll(reached.tagName)].find((each) => nameOf(each) === focus)?.focus();
}

async function refresh() {
  if (fetching || document.hidden) {
    again = true;
    return;
  }
  fetching = true;
  try {
    do {
      again = false;
      const answer = await fetch(location.href, { redirect: "error", cache: "no-store" });
      if (!answer.ok) throw new Error(answer.statusText);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of liveParts(document)) {
        const now = fresh.getElementById(part.id);
        if (now) take(part, document.adoptNode(now));
      }
      tellOfNewer(fresh);
      await hearWhatWasSaid(fresh);
      setLost(false);
    } while (again);
  } catch {
    setLost(true);
  } finally {
    fetching = false;
  }
}

function setLost(isLost) {
  document.getElementById("lost").hidden = !isLost;
}

function follow() {
  for (const part of liveParts(document)) rendered.set(part.id, part.cloneNode(true));
  document.addEventListener("visibilitychange", () => {
    listen();
    if (!document.hidden) refresh();
  });
  listen();
}

let source = null;

// A hidden page hears nothing: a browser has few connections to one server, and a stream holds one of them.
function listen() {
  source?.close();
  source = null;
  if (document.hidden) return;
  const log = document.querySelector("[data-tail]")?.dataset.tail;
  const own = source = new EventSource(log ? `/events?log=${log}` : "/events");
  own.addEventListener("news", refresh);
  own.addEventListener("beat", refresh);
  own.addEventListener("error", () => {
    setLost(true);
    // A refused stream is not asked for again by the browser: the server is another one, or knows us no more.
    if (own.readyState === EventSource.CLOSED) setTimeout(() => { if (source === own) listen(); }, 2000);
  });
}

// --- review -------------------------------------------------------------------------------------------------------

const form = document.getElementById("verdict");
const change = document.getElementById("change");

function kept(name) {
  try {
    return JSON.parse(localStorage.getItem(name)) ?? [];
  } catch {
    return [];
  }
}

function keep(name, value) {
  localStorage.setItem(name, JSON.stringify(value));
}

// Sends a form and stays on the page; a refusal is shown as the server words it. A server that is not there leaves the
// form as it is, with what was written in it.
async function sendQuietly(form) {
  form.querySelector("[role=alert]")?.remove();
  try {
    const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    if (!answer.ok) form.submit();
    return answer.ok;
  } catch {
    const trouble = document.createElement("p");
    trouble.className = "anomaly";
    trouble.setAttribute("role", "alert");
    trouble.textContent = "The server cannot be reached. What you wrote is still here: send it again once it answers.";
    form.append(trouble);
    setLost(true);
    return false;
  }
}

function hidden(name, value) {
  const field = document.createElement("input");
  Object.assign(field, { type: "hidden", name, value });
  return field;
}

function writeNote(button) {
  const row = button.closest("tr");
  const file = button.closest("details");
  const { side, line } = button.dataset;
  const note = document.createElement("tr");
  note.className = "note";
  const cell = note.insertCell();
  cell.colSpan = 3;
  const draft = document.createElement("form");
  Object.assign(draft, { method: "post", action: form.action.replace(/judge$/, "comment") });
  const label = document.createElement("label");
  label.textContent = `Line ${line}`;
  const text = document.createElement("textarea");
  Object.assign(text, { rows: 2, name: "text", required: true });
  const add = document.createElement("button");
  add.textContent = "Add the point";
  label.append(text);
  const path = side === "old" ? file.dataset.oldPath : file.dataset.path;
  const about = { token: form.elements.token.value, path, side, line, commit: change.dataset[side] };
  draft.append(...Object.entries(about).map(([name, value]) => hidden(name, value)), label, add);
  draft.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!await sendQuietly(draft)) return;
    cell.textContent = `${text.value} (not sent yet)`; // until the page has heard of it
    note.dataset.note = "";
    button.focus();
    refresh();
  });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { note.remove(); button.focus(); }
  });
  cell.append(draft);
  row.after(note);
  text.focus();
}

async function load(file) {
  const space = document.getElementById("space")?.checked ? "&space=ignored" : "";
  const address = file.dataset.src + space;
  if (file.dataset.loaded === address || isTypedIn(file)) return;
  file.dataset.loaded = address;
  const body = file.querySelector(".body");
  try {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(answer.statusText);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    body.replaceChildren(document.adoptNode(fresh.getElementById("file-body")));
  } catch {
    delete file.dataset.loaded;
    setLost(true);
  }
}

// What is said to lines, and answered, comes to the files that are open: row by row, so that what somebody writes there
// stays, and with the line that he reads where it is.
async function hearWhatWasSaid(page) {
  const said = page.getElementById("change")?.dataset.said;
  if (!change || said === undefined || said === change.dataset.said) return;
  for (const file of change.querySelectorAll(".file[data-loaded]")) {
    const answer = await fetch(file.dataset.loaded);
    if (!answer.ok) throw new Error(answer.statusText);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("file-body");
    const read = lineThatIsRead();
    const top = read?.getBoundingClientRect().top;
    takeNotes(file.querySelector(".body"), fresh);
    if (read?.isConnected) scrollBy(0, read.getBoundingClientRect().top - top);
  }
  change.dataset.said = said;
}

function lineThatIsRead() {
  const reached = document.activeElement.closest("#change tr");
  const seen = reached?.getBoundingClientRect();
  if (seen && seen.bottom > 0 && seen.top < innerHeight) return reached;
  const { left, width } = change.getBoundingClientRect();
  for (let top = 60; top < innerHeight; top += 20) {
    const row = document.elementFromPoint(left + width / 2, top)?.closest("#change tr:not(.note)");
    if (row) return row;
  }
  return null;
}

function takeNotes(body, fresh) {
  const lines = new Map([...body.querySelectorAll("button.comment")].map((each) => [lineOf(each), each.closest("tr")]));
  for (const note of body.querySelectorAll("tr[data-note]")) note.remove();
  for (const button of fresh.querySelectorAll("button.comment")) {
    let last = lines.get(lineOf(button));
    for (let row = button.closest("tr").nextElementSibling; last && row?.matches("[data-note]"); ) {
      const next = row.nextElementSibling;
      last.after(document.adoptNode(row));
      last = row;
      row = next;
    }
  }
  const [before, now] = [body, fresh].map((each) => each.querySelector(".apart"));
  before?.remove();
  if (now) (body.querySelector("#file-body") ?? body).prepend(document.adoptNode(now));
}

function lineOf(button) {
  return `${button.dataset.side} ${button.dataset.line}`;
}

function tellOfNewer(fresh) {
  if (!form) return;
  const now = fresh.getElementById("verdict")?.dataset.submission;
  document.getElementById("newer").hidden = now === form.dataset.submission;
}

function review() {
  const viewed = new Set(kept("viewed"));
  for (const file of change.querySelectorAll(".file")) {
    const mark = file.querySelector(".viewed");
    mark.checked = viewed.has(file.dataset.blob);
    file.classList.toggle("seen", mark.checked);
    mark.addEventListener("change", () => {
      const now = kept("viewed").filter((blob) => blob !== file.dataset.blob);
      keep("viewed", mark.checked ? [...now, file.dataset.blob].slice(-5000) : now);
      file.classList.toggle("seen", mark.checked);
      if (mark.checked) {
        file.open = false;
        file.querySelector("summary").focus();
      }
    });
    file.addEventListener("toggle", () => { if (file.open) load(file); });
  }
  const first = change.querySelector(".file:not(.seen)");
  if (first) first.open = true;
  document.getElementById("space")?.addEventListener("change", () => {
    for (const file of change.querySelectorAll(".file[open]")) load(file);
  });
  if (!form) return;
  change.addEventListener("click", (event) => {
    const button = event.target.closest("button.comment");
    if (button) writeNote(button);
  });
}

// --- keys ---------------------------------------------------------------------------------------------------------

function move(step) {
  const items = [...document.querySelectorAll("[data-item]")].filter((each) => each.offsetParent !== null);
  if (!items.length) return;
  const at = items.findIndex((each) => each.contains(document.activeElement));
  const next = items[at === -1 ? (step > 0 ? 0 : items.length - 1) : Math.min(Math.max(at + step, 0), items.length - 1)];
  const target = next.querySelector("[data-open]") ?? next;
  target.focus();
  target.scrollIntoView({ block: "nearest" });
}

const keys = {
  j: () => move(1),
  k: () => move(-1),
  v: () => document.activeElement.closest(".file")?.querySelector(".viewed").click(),
  "/": () => document.querySelector("input[type=search]")?.focus(),
  "?": () => document.getElementById("help").showModal(),
};

let chosen = null; // the verdict that Ctrl-Enter gives

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.form) {
    event.preventDefault();
    if (event.target.form !== form) event.target.form.requestSubmit();
    else if (chosen) form.requestSubmit(chosen);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("textarea, input, select")) return;
  const button = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (button) {
    event.preventDefault();
    chosen?.removeAttribute("aria-pressed");
    chosen = button;
    chosen.setAttribute("aria-pressed", "true");
    button.focus(); // Enter then gives the verdict: one key alone must not
    if (event.key !== "a") form.querySelector("textarea").focus(); // and Ctrl-Enter from there
  } else if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});

document.addEventListener("submit", async (event) => {
  if (!event.target.matches("[data-quiet]")) return;
  event.preventDefault();
  if (!await sendQuietly(event.target)) return;
  refresh();
});

follow();
if (change) review();
