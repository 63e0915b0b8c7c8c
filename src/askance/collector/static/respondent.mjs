// The respondent's page. The true answer stays in the form: it is drawn from when the button is pressed, and forgotten.
// What was drawn is kept on the device before it is sent, and is never drawn again.

import { draw, isLaw } from "./law.mjs";
import { storageWorks } from "./storage.mjs";

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const study = read("definition");
const words = read("words");
const form = document.getElementById("answers");
const sections = ["notice", "how", "try", "questions", "sent"];
const FIRST_WAIT = 1000; // milliseconds until a failed sending is tried again; doubled each time, up to a minute
const LONGEST_WAIT = 60000;

let prefix = "";
let wait = FIRST_WAIT;
let timer = null;
let busy = false;

const named = () => Object.create(null); // a column may have any name, "__proto__" too
const say = (word, places = {}) =>
  words[word].replace(/\{(\w+)\}/g, (whole, place) => (place in places ? String(places[place]) : whole));

function show(name, focus = true) {
  for (const section of sections) {
    document.getElementById(section).hidden = section !== name;
  }
  const heading = document.querySelector(`#${name} h2`);
  if (focus && heading) {
    heading.focus();
    window.scrollTo(0, 0);
  }
}

function notice(word) {
  document.getElementById("notice-text").textContent = say(word);
  show("notice");
}

// -- what is kept on the device -----------------------------------------------------------------------------------

const kept = (name) => JSON.parse(localStorage.getItem(prefix + name) || "null");
const keep = (name, value) => localStorage.setItem(prefix + name, JSON.stringify(value));

function freshToken() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function ownToken() {
  const given = location.hash.slice(1);
  if (study.access === "invited") {
    return /^[A-Za-z0-9_-]{1,64}$/.test(given) ? given : null;
  }
  const name = `askance.${study.digest}.token`;
  if (localStorage.getItem(name) === null) {
    localStorage.setItem(name, freshToken());
  }
  return localStorage.getItem(name);
}

// -- designs ------------------------------------------------------------------------------------------------------

function assigned() {
  let designs = kept("designs");
  if (designs === null) {
    designs = named();
    for (const [column, choice] of Object.entries(study.assign)) {
      designs[column] = draw(choice.counts);
    }
    keep("designs", designs);
  }
  return designs;
}

const designName = (question, designs) =>
  question.design_column === null ? "" : study.assign[question.design_column].designs[designs[question.design_column]];

function leaveOnly(designs) {
  for (const block of document.querySelectorAll("[data-column]")) {
    const column = block.dataset.column;
    if (column in designs && study.assign[column].designs[designs[column]] !== block.dataset.design) {
      block.remove();
    }
  }
}

function lawsAddUp() {
  const columns = Object.values(study.assign).map((choice) => choice.counts);
  for (const question of study.questions) {
    for (const design of Object.values(question.designs)) {
      if (design.law !== null) {
        columns.push(...design.law);
        if (!design.law.every((column) => column.length === design.reports)) {
          return false;
        }
      }
    }
  }
  return columns.every(isLaw);
}

// -- the try-out --------------------------------------------------------------------------------------------------

function prepareTry(designs) {
  const chosen = study.questions
    .map((question, number) => ({ ...question, number, name: designName(question, designs) }))
    .find(({ designs: all, name }) => all[name].law !== null && !all[name].direct);
  if (chosen === undefined) {
    return false;
  }
  const design = chosen.designs[chosen.name];
  const answers = design.law.length;
  const letters = Array.from({ length: answers }, (_, i) => (i < 26 ? String.fromCharCode(65 + i) : String(i + 1)));
  const labels = answers === 2 ? [say("try_no"), say("try_yes")] : letters;
  const reports = study.texts.questions[chosen.number].same[chosen.name]
    ? labels
    : study.texts.questions[chosen.number].reports[chosen.name];
  document.getElementById("try-question").textContent = answers === 2 ? say("try_question") : say("try_letter");
  const place = document.getElementById("try-choices");
  labels.forEach((label, code) => {
    const row = document.createElement("label");
    row.className = "choice";
    const input = document.createElement("input");
    Object.assign(input, { type: "radio", name: "try", value: String(code) });
    row.append(input, document.createTextNode(label));
    place.append(row);
  });
  const list = document.getElementById("try-draws");
  let number = 0;
  place.addEventListener("change", () => {
    list.replaceChildren();
    number = 0;
  });
  document.getElementById("try-draw").addEventListener("click", () => {
    const answer = document.querySelector("input[name=try]:checked");
    const line = document.createElement("li");
    if (answer === null) {
      list.replaceChildren();
      line.textContent = say("try_first");
    } else {
      if (number === 0) {
        list.replaceChildren();
      }
      number += 1;
      line.textContent = say("try_result", { number, report: reports[draw(design.law[Number(answer.value)])] });
    }
    list.append(line);
  });
  return true;
}

// -- the form -----------------------------------------------------------------------------------------------------

function complain(block, word) {
  const error = block.querySelector(".error");
  error.textContent = say(word);
  error.hidden = false;
  for (const input of block.querySelectorAll("input, select")) {
    input.setAttribute("aria-invalid", "true");
  }
  return block.querySelector("input, select");
}

function content(block) {
  for (const input of block.querySelectorAll("[aria-invalid]")) {
    input.removeAttribute("aria-invalid");
  }
  block.querySelector(".error").hidden = true;
}

function chosenCode(block) {
  const input = block.querySelector("input:checked");
  return input === null ? null : Number(input.value);
}

// A covariate's value: undefined where it is wrong, null where it is left out.
function covariateValue(block, covariate) {
  if (covariate.levels !== null) {
    const list = block.querySelector("select");
    return list === null ? chosenCode(block) : list.value === "" ? null : Number(list.value);
  }
  const text = block.querySelector("input").value.trim();
  if (text === "") {
    return null;
  }
  if (covariate.type === "number") {
    const plain = text.replace(",", ".");
    const number = /^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)$/.test(plain) ? Number(plain) : NaN;
    return Number.isFinite(number) && Math.abs(number) < 1e15 ? number : undefined;
  }
  return text;
}

// Reads the form. Returns null, and says what is missing, if it is not complete.
function answersGiven(designs) {
  let firstWrong = null;
  const wrong = (block, word) => {
    const input = complain(block, word);
    firstWrong = firstWrong ?? input;
  };
  const blocks = [...form.querySelectorAll("[data-kind]")];
  blocks.forEach(content);
  const answers = blocks
    .filter((block) => block.dataset.kind === "question")
    .map((block) => {
      const code = chosenCode(block);
      if (code === null) {
        wrong(block, "missing_answer");
      }
      return code;
    });
  const covariates = named();
  study.covariates.forEach((covariate, number) => {
    const block = form.querySelector(`[data-kind=covariate][data-number="${number}"]`);
    const value = covariateValue(block, covariate);
    if (value === undefined) {
      wrong(block, "missing_number");
    } else if (value === null && !covariate.missing) {
      wrong(block, covariate.type === "number" ? "missing_number" : "missing_answer");
    }
    covariates[covariate.name] = value ?? null;
  });
  if (study.check !== null) {
    const block = form.querySelector("[data-kind=check]");
    const code = chosenCode(block);
    if (code === null) {
      wrong(block, "missing_answer");
    }
    covariates[study.check.column] = code === study.check.right ? 0 : 1;
  }
  if (study.duration !== null) {
    const seconds = (Date.now() - Number(sessionStorage.getItem(prefix + "began") ?? Date.now())) / 1000;
    covariates[study.duration.column] = study.duration.seconds.filter((border) => seconds >= border).length;
  }
  if (firstWrong !== null) {
    firstWrong.focus();
    return null;
  }
  return { answers, covariates, designs };
}

function drawn({ answers, covariates, designs }) {
  const reports = named();
  const shown = [];
  study.questions.forEach((question, number) => {
    const name = designName(question, designs);
    const design = question.designs[name];
    const answer = answers[number];
    const report = design.law === null ? answer : draw(design.law[answer]);
    reports[question.name] = report;
    shown.push([study.texts.questions[number].asked[name], study.texts.questions[number].reports[name][report]]);
  });
  study.covariates.forEach((covariate, number) => {
    const { text, levels } = study.texts.covariates[number];
    const value = covariates[covariate.name];
    shown.push([text, value === null ? say("left_out") : covariate.levels === null ? String(value) : levels[value]]);
  });
  for (const column of [study.check?.column, study.duration?.column]) {
    if (column !== undefined) {
      shown.push([column, study.texts.found[column][covariates[column]]]);
    }
  }
  for (const [column, number] of Object.entries(designs)) {
    shown.push([column, study.assign[column].designs[number]]);
  }
  return { shown, body: JSON.stringify({ study: study.digest, token: ownToken(), designs, reports, covariates }) };
}

// -- sending ------------------------------------------------------------------------------------------------------

function showSent(response) {
  const list = document.getElementById("sent-list");
  list.replaceChildren();
  for (const [asked, sent] of response.shown) {
    const name = document.createElement("dt");
    name.textContent = asked;
    const value = document.createElement("dd");
    value.textContent = sent;
    list.append(name, value);
  }
  const words_of = { sent: "sent", already: "already", drawn: "sending", waiting: "waiting" };
  const word = words_of[response.state] ?? response.state;
  document.getElementById("sent-state").textContent = say(word);
  document.getElementById("sent-was").hidden = !["sent", "drawn", "waiting"].includes(response.state);
  list.hidden = document.getElementById("sent-was").hidden;
  document.getElementById("retry").hidden = response.state !== "waiting";
}

function settle(state) {
  const response = { ...kept("response"), state };
  keep("response", response);
  showSent(response);
}

async function send() {
  const response = kept("response");
  if (busy || response === null || !["drawn", "waiting"].includes(response.state)) {
    return;
  }
  busy = true;
  clearTimeout(timer);
  const again = response.tries > 0;
  keep("response", { ...response, tries: response.tries + 1 });
  let status = 0;
  let word = "";
  try {
    const answer = await fetch("reports", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: response.body,
      credentials: "omit",
      cache: "no-store",
      referrerPolicy: "no-referrer",
    });
    status = answer.status;
    word = (await answer.json()).outcome ?? "";
  } catch {
    word = "";
  }
  busy = false;
  if (status === 201 || (status === 200 && again)) {
    settle("sent");
  } else if (status === 200) {
    settle("already");
  } else if (["unknown", "expired", "closed", "refused"].includes(word)) {
    settle(word);
  } else {
    settle("waiting");
    timer = setTimeout(send, wait);
    wait = Math.min(2 * wait, LONGEST_WAIT);
  }
}

// -- from the first step to the last ------------------------------------------------------------------------------

function begin() {
  document.getElementById("app").hidden = false;
  for (const link of document.querySelectorAll("nav a")) {
    link.href += location.hash; // another language is for the same invitation
  }
  if (!storageWorks()) {
    notice("no_storage");
    return;
  }
  if (!lawsAddUp()) {
    notice("broken");
    return;
  }
  const token = ownToken();
  if (token === null) {
    notice("no_invitation");
    return;
  }
  prefix = `askance.${study.digest}.${token}.`;
  document.getElementById("retry").addEventListener("click", send);
  window.addEventListener("online", send);
  if (kept("response") !== null) {
    form.remove();
    showSent(kept("response"));
    show("sent", false);
    send();
    return;
  }
  const designs = assigned();
  leaveOnly(designs);
  const tries = prepareTry(designs);
  document.getElementById("agree").addEventListener("click", () => {
    if (sessionStorage.getItem(prefix + "began") === null) {
      sessionStorage.setItem(prefix + "began", String(Date.now()));
    }
    show(tries ? "try" : "questions");
  });
  document.getElementById("go-on").addEventListener("click", () => show("questions"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (kept("response") === null) {
      const given = answersGiven(designs);
      if (given === null) {
        return;
      }
      keep("response", { ...drawn(given), state: "drawn", tries: 0 });
    }
    form.remove(); // and with it the true answers
    showSent(kept("response"));
    show("sent");
    send();
  });
  show("how", false);
}

window.addEventListener("hashchange", () => location.reload()); // another invitation: begin anew
begin();
