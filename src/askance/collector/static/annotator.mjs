// The annotators' page. An answer is kept on the device until the server says that it is on disk, and sent until then.

import { storageWorks } from "./storage.mjs";

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const by = (id) => document.getElementById(id);
const task = read("definition");
const words = read("words");
const FIRST_WAIT = 1000; // milliseconds until a failed sending is tried again; doubled each time, up to a minute
const LONGEST_WAIT = 60000;

let prefix = "";
let token = "";
let now = null; // the window that is shown
let counts = new Map();
let presses = []; // what can be undone in this window
let ahead = [];
let earlier = []; // the latest is the last
let unsent = [];
let busy = false;
let wait = FIRST_WAIT;
let timer = null;

const say = (word, places = {}) =>
  words[word].replace(/\{(\w+)\}/g, (whole, place) => (place in places ? String(places[place]) : whole));

function element(name, text, place, className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (className !== "") {
    made.className = className;
  }
  place?.append(made);
  return made;
}

function notice(word) {
  by("notice-text").textContent = say(word);
  by("notice").hidden = false;
  by("work").hidden = true;
  now = null;
  by("notice-text").focus();
}

function complain(text) {
  by("error").textContent = text;
  by("error").hidden = text === "";
}

// -- what is kept on the device -----------------------------------------------------------------------------------

const keepUnsent = () => localStorage.setItem(`${prefix}unsent`, JSON.stringify(unsent));

// -- a window -----------------------------------------------------------------------------------------------------

const total = () => [...counts.values()].reduce((sum, count) => sum + count, 0);
const everything = () => now.tags.length === task.tags;

function showSentence() {
  const place = by("sentence");
  place.replaceChildren();
  const part = (label, list, name, className) => {
    if (list.length) {
      // With a direction of its own, so that the sentence takes its from its own words.
      element("span", `${say(label)} `, place, "unseen").dir = document.documentElement.dir;
      element(name, list.join(" "), place, className);
      place.append(" ");
    }
  };
  part("before", [...(now.cut[0] ? ["…"] : []), ...now.before], "span", "context");
  part("marked", now.words, "mark", "");
  part("after", [...now.after, ...(now.cut[1] ? ["…"] : [])], "span", "context");
}

function showTotal(tag = null) {
  const places = { counted: total(), width: now.words.length };
  const text = say(everything() ? "counted" : "counted_some", places);
  by("total").textContent = tag === null ? text : `${tag} ${counts.get(tag) ?? 0} – ${text}`;
}

function showCount(tag) {
  const row = [...by("tags").children].find((one) => one.dataset.tag === tag);
  const count = counts.get(tag) ?? 0;
  row.querySelector(".count").textContent = String(count);
  row.querySelector(".minus").setAttribute("aria-disabled", String(count === 0));
  const full = String(total() >= now.words.length);
  for (const plus of by("tags").querySelectorAll(".plus")) {
    plus.setAttribute("aria-disabled", full);
  }
}

function press(tag, step, remembered = true) {
  if (now === null) {
    return;
  }
  const count = (counts.get(tag) ?? 0) + step;
  if (count < 0) {
    return;
  }
  if (total() + step > now.words.length) {
    complain(say("full", { width: now.words.length }));
    return;
  }
  counts.set(tag, count);
  if (remembered) {
    presses.push([tag, step]);
  }
  complain("");
  showCount(tag);
  showTotal(tag);
}

function showTags() {
  by("tags").replaceChildren();
  now.tags.forEach((tag, place) => {
    const row = element("li", "", by("tags"));
    row.dataset.tag = tag;
    const name = element("span", "", row, "tag");
    element("strong", tag, name).dir = "auto";
    if (Object.hasOwn(task.describe, tag)) {
      element("span", ` ${task.describe[tag]}`, name, "context");
    }
    if (place < 9) {
      element("kbd", String(place + 1), name).ariaHidden = "true";
    }
    const minus = element("button", "−", row, "minus");
    element("span", "0", row, "count");
    const plus = element("button", "+", row, "plus");
    for (const [button, word, step] of [[minus, "minus", -1], [plus, "plus", 1]]) {
      button.type = "button";
      button.setAttribute("aria-label", say(word, { tag }));
      button.addEventListener("click", () => press(tag, step));
    }
    showCount(tag);
  });
}

function show(shown, focus = true) {
  now = shown;
  counts = new Map(Object.entries(shown?.counts ?? {}));
  presses = [];
  complain("");
  by("work").hidden = now === null;
  by("notice").hidden = true;
  if (now === null) {
    return;
  }
  by("heading").textContent = say("window", { number: now.number });
  showSentence();
  showTags();
  showTotal();
  if (focus) {
    by("heading").focus();
    window.scrollTo(0, 0);
  }
}

function goOn(focus = true) {
  if (ahead.length) {
    show(ahead.shift(), focus);
  } else {
    show(null);
    if (unsent.length === 0 && !busy) {
      notice("done");
    }
  }
}

function undo() {
  if (now !== null && presses.length) {
    const [tag, step] = presses.pop();
    press(tag, -step, false);
  } else if (earlier.length) {
    if (now !== null) {
      ahead.unshift(now);
    }
    show(earlier.pop());
    by("state").textContent = say("gone_back");
  } else {
    complain(say("nothing_to_undo"));
  }
}

function answer(skipped) {
  if (now === null) {
    return;
  }
  const width = now.words.length;
  if (!skipped && everything() && total() !== width) {
    complain(say("too_few", { counted: total(), width }));
    return;
  }
  const given = skipped ? null : Object.fromEntries([...counts].filter(([, count]) => count > 0));
  unsent.push({ window: now.number, counts: given });
  keepUnsent();
  earlier.push({ ...now, counts: given });
  by("state").textContent = "";
  goOn();
  send();
}

// -- talking to the server ----------------------------------------------------------------------------------------

async function ask(path, options = {}) {
  const headers = { Authorization: `Bearer ${token}`, ...(options.headers ?? {}) };
  const quiet = { credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer" };
  const response = await fetch(path, { ...options, headers, ...quiet });
  return { status: response.status, body: await response.json() };
}

function later(what) {
  by("state").textContent = say("waiting", { many: unsent.length });
  by("retry").hidden = false;
  clearTimeout(timer);
  timer = setTimeout(what, wait);
  wait = Math.min(2 * wait, LONGEST_WAIT);
}

function told(body) {
  wait = FIRST_WAIT;
  by("retry").hidden = true;
  by("progress").textContent = say("progress", body);
  by("agreement").textContent = body.agreement === null ? "" : say("agreement", body.agreement);
  const taken = new Set([...unsent.map((one) => one.window), now?.number]);
  const back = ahead.filter((one) => one.counts !== null); // an answer that is being changed waits in front
  ahead = [...back, ...body.ahead.filter((one) => !taken.has(one.number))];
}

async function send() {
  if (busy || unsent.length === 0) {
    return;
  }
  busy = true;
  clearTimeout(timer);
  let reply = { status: 0, body: {} };
  try {
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify({ task: task.task, ...unsent[0] });
    reply = await ask("counts", { method: "POST", headers, body });
  } catch {
    reply = { status: 0, body: {} };
  }
  busy = false;
  if ([200, 201, 422].includes(reply.status)) {
    unsent.shift(); // what is refused was not made by this page: it is asked again
    keepUnsent();
    if (reply.status === 422) {
      await load();
      return;
    }
    told(reply.body);
    by("state").textContent = say("saved");
    if (now === null) {
      goOn();
    }
    send();
  } else if (reply.status === 401) {
    notice("stranger");
  } else if (reply.status === 409) {
    notice("other_task");
  } else {
    later(send);
  }
}

async function load() {
  let reply = { status: 0, body: {} };
  try {
    reply = await ask("windows");
  } catch {
    reply = { status: 0, body: {} };
  }
  if (reply.status === 200) {
    by("state").textContent = "";
    const given = new Map(unsent.map((one) => [one.window, one.counts]));
    earlier = reply.body.earlier.reverse().concat(reply.body.ahead.filter((one) => given.has(one.number)));
    earlier = earlier.map((one) => (given.has(one.number) ? { ...one, counts: given.get(one.number) } : one));
    ahead = [];
    now = null;
    told(reply.body);
    goOn(false);
    send();
  } else if (reply.status === 401) {
    notice("stranger");
  } else {
    later(load);
  }
}

function typed(event) {
  if (!by("keys").checked || now === null || event.ctrlKey || event.altKey || event.metaKey || event.repeat) {
    return;
  }
  const digit = /^Digit([1-9])$/.exec(event.code);
  if (digit !== null) {
    const tag = now.tags[Number(digit[1]) - 1];
    if (tag !== undefined) {
      press(tag, event.shiftKey ? -1 : 1);
    }
  } else if (event.key === "Enter" && !["BUTTON", "INPUT", "A"].includes(document.activeElement?.tagName)) {
    answer(false);
  } else if (event.key.toLowerCase() === "u") {
    undo();
  } else if (event.key.toLowerCase() === "s") {
    answer(true);
  } else {
    return;
  }
  event.preventDefault();
}

function begin() {
  by("app").hidden = false;
  token = /^#[A-Za-z0-9_-]{1,64}$/.test(location.hash) ? location.hash.slice(1) : "";
  if (token === "") {
    notice("no_link");
    return;
  }
  if (!storageWorks()) {
    notice("no_storage");
    return;
  }
  prefix = `askance.${task.task}.${token}.`;
  unsent = JSON.parse(localStorage.getItem(`${prefix}unsent`) || "[]");
  by("keys").checked = localStorage.getItem("askance.keys") !== "no";
  by("keys").addEventListener("change", () => localStorage.setItem("askance.keys", by("keys").checked ? "yes" : "no"));
  by("next").addEventListener("click", () => answer(false));
  by("skip").addEventListener("click", () => answer(true));
  by("undo").addEventListener("click", undo);
  by("retry").addEventListener("click", () => (now === null && unsent.length === 0 ? load() : send()));
  window.addEventListener("online", () => (now === null && unsent.length === 0 ? load() : send()));
  document.addEventListener("keydown", typed);
  load();
}

window.addEventListener("hashchange", () => location.reload()); // another link: begin anew
begin();
