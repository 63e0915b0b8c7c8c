// The researchers' dashboard: the key stays in this page's memory, and goes only into a header.

const by = (id) => document.getElementById(id);
let key = "";

async function ask(path, options = {}) {
  const headers = { Authorization: `Bearer ${key}`, ...(options.headers ?? {}) };
  return fetch(`dashboard/${path}`, { ...options, headers, credentials: "omit", cache: "no-store" });
}

function element(name, text, place) {
  const made = document.createElement(name);
  made.textContent = text;
  place?.append(made);
  return made;
}

const number = (value) => (value === null || value === undefined ? "–" : Number(value).toFixed(4));

function estimateTable(estimates, caption, place) {
  const wide = element("div", "", place);
  wide.className = "wide-table";
  wide.tabIndex = 0;
  wide.setAttribute("role", "region");
  wide.setAttribute("aria-label", caption);
  const table = element("table", "", wide);
  element("caption", caption, table);
  const head = element("tr", "", element("thead", "", table));
  for (const name of ["", "estimate", "standard error", "95% interval"]) {
    if (name === "") {
      element("td", "", head);
    } else {
      element("th", name, head).scope = "col";
    }
  }
  const body = element("tbody", "", table);
  for (const [name, row] of Object.entries(estimates)) {
    const line = element("tr", "", body);
    element("th", name, line).scope = "row";
    element("td", number(row.estimate), line);
    element("td", number(row.std_error), line);
    element("td", `${number(row.lower)} to ${number(row.upper)}`, line);
  }
}

function showFigures(figures) {
  const state = figures.closed ? "The study is closed." : "The study takes responses.";
  const few = `Nothing is estimated from fewer than ${figures.threshold} responses.`;
  const odd = figures.whole ? "" : " Reports, tallies and invitations do not agree: look into the database.";
  by("state").textContent = `${state} ${figures.suppressed ? few : ""}${odd}`;
  by("counts").replaceChildren();
  const counts = [["Responses", figures.responses]];
  if (figures.access === "invited") {
    counts.push(["Invitations", figures.invitations]);
  }
  counts.push(["Privacy of one person", figures.guarantee]);
  for (const [day, people] of figures.days) {
    counts.push([new Date(day * 86400000).toISOString().slice(0, 10), people]);
  }
  for (const [name, value] of counts) {
    element("dt", name, by("counts"));
    element("dd", String(value), by("counts"));
  }
  const place = by("figures");
  place.replaceChildren();
  for (const part of [...figures.questions, ...figures.regressions]) {
    element("h2", part.formula ?? part.text ?? part.question, place);
    for (const alert of [...(part.alerts ?? []), ...(part.problem ? [part.problem] : [])]) {
      element("p", alert, place).className = "error";
    }
    if (part.estimates) {
      estimateTable(part.estimates, part.formula ?? part.question, place);
    }
    const left = part.left_out ? [`${part.left_out} responses lack something that the formula needs.`] : [];
    for (const note of [part.plan, part.test && `Fit of the design: ${part.test}.`, ...left, ...(part.notes ?? [])]) {
      if (note) {
        element("p", note, place);
      }
    }
  }
  by("close").disabled = figures.closed;
  by("release").disabled = !figures.closed;
}

function problem(text) {
  by("problem").textContent = text;
  by("problem").hidden = text === "";
}

async function refresh() {
  problem("");
  const answer = await ask("figures");
  if (answer.status === 401) {
    return false;
  }
  const body = await answer.json();
  if (answer.ok) {
    showFigures(body);
  } else {
    problem(body.error);
  }
  return true;
}

function confirmed(text) {
  by("confirm-text").textContent = text;
  by("confirm").hidden = false;
  by("confirm-yes").focus();
  return new Promise((resolve) => {
    const end = (yes) => {
      by("confirm").hidden = true;
      resolve(yes);
    };
    by("confirm-yes").onclick = () => end(true);
    by("confirm-no").onclick = () => end(false);
  });
}

async function change(path, text) {
  if (!(await confirmed(text))) {
    return;
  }
  const headers = { "Content-Type": "application/json" };
  const answer = await ask(path, { method: "POST", headers, body: JSON.stringify({ confirm: path }) });
  if (!answer.ok) {
    problem((await answer.json()).error);
    return;
  }
  await refresh();
}

by("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  key = by("key").value.trim();
  by("login-error").hidden = true;
  if (await refresh()) {
    by("login").hidden = true;
    by("board").hidden = false;
  } else {
    by("login-error").textContent = "This is not the key.";
    by("login-error").hidden = false;
    by("key").setAttribute("aria-invalid", "true");
  }
});
by("refresh").addEventListener("click", refresh);
by("close").addEventListener("click", () =>
  change("close", "Close the study? It takes no more responses, and cannot be opened again."));
by("delete").addEventListener("click", () =>
  change("delete", "Delete all responses, tallies and invitations? Nothing brings them back."));
by("release").addEventListener("click", async () => {
  const answer = await ask("release");
  if (!answer.ok) {
    problem((await answer.json()).error);
    return;
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition") ?? "")?.[1] ?? "release.parquet";
  link.click();
  URL.revokeObjectURL(link.href);
});
by("login").hidden = false;
