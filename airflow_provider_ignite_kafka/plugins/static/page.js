// Theme of the page around, times in the reader's zone, refresh, and links to Airflow's own pages. Everything works without this script.
"use strict";
const framed = window.parent !== window;
const outer = framed ? window.parent.document : null;
const COLOURS = { "--bg": "bg", "--subtle": "bg-subtle", "--border": "border-emphasized", "--fg": "fg", "--muted": "fg-muted", "--brand": "brand-solid" };

function adoptTheme() {
  const stored = localStorage.getItem("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)").matches;
  const dark = outer ? outer.documentElement.classList.contains("dark") : stored ? stored === "dark" : system;
  const root = document.documentElement;
  root.classList.toggle("dark", dark);
  if (!outer) return;
  const style = window.parent.getComputedStyle(outer.documentElement);
  for (const [ours, theirs] of Object.entries(COLOURS)) {
    const value = style.getPropertyValue(`--chakra-colors-${theirs}`).trim();
    if (value) root.style.setProperty(ours, value);
  }
}

function localTimes() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    time.title = time.textContent;
    time.textContent = new Date(time.dateTime).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });
  }
}

// a sandboxed frame may not navigate the page around it; a link of that page may
function openAirflow(event) {
  const link = event.target.closest("a[data-airflow-link]");
  if (!link || !outer || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const around = outer.createElement("a");
  around.href = link.href;
  outer.body.append(around);
  around.click();
  around.remove();
}

// the rows that the server would hide, too: plugins/search.py
function search() {
  const form = document.querySelector("form.search");
  if (!form) return;
  const words = form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
  const state = form.elements.state.value;
  const rows = [...document.querySelectorAll("tr[data-connector]")];
  for (const row of rows) {
    const found = words.every((word) => row.dataset.text.toLowerCase().includes(word));
    row.hidden = !found || (state !== "" && !row.dataset.state.split(" ").includes(state));
  }
  const count = (number) => number.toLocaleString("en");
  const text = `${count(rows.filter((row) => !row.hidden).length)} of ${count(rows.length)} connectors`;
  const shown = document.getElementById("count");
  if (shown.textContent !== text) shown.textContent = text; // a screen reader reads each change
}

// a reader who moves by keyboard stays where they are, although the refresh replaces the element
function placeOfFocus(page) {
  const focused = document.activeElement;
  if (!page.contains(focused) || focused === page) return () => {};
  const alike = () => [...page.querySelectorAll(focused.tagName)].filter((other) => other.href === focused.href && other.dataset.action === focused.dataset.action && other.textContent === focused.textContent);
  const place = alike().indexOf(focused);
  return () => alike()[place]?.focus({ preventScroll: true });
}

const isBusy = () => document.hidden || document.querySelector("details[open]") || window.getSelection().toString();

async function refresh() {
  const page = document.getElementById("page");
  if (isBusy()) return;
  try {
    const address = new URL(window.location.href);
    address.searchParams.delete("message");
    const reply = await fetch(address, { headers: { Accept: "text/html" } });
    if (!reply.ok || isBusy()) return;
    const now = new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("page");
    const done = page.querySelector(".done");
    const restoreFocus = placeOfFocus(page);
    page.innerHTML = now.innerHTML;
    restoreFocus();
    search();
    if (done) page.querySelector("h1").after(done);
    localTimes();
  } catch (error) {
    console.warn("the page could not be refreshed", error);
  }
}

adoptTheme();
localTimes();
document.addEventListener("click", openAirflow);
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details[open]")) {
    const inside = menu.contains(document.activeElement);
    menu.open = false;
    if (inside) menu.querySelector("summary").focus();
  }
});
const searchForm = document.querySelector("form.search");
if (searchForm) {
  searchForm.addEventListener("input", () => {
    search();
    const query = new URLSearchParams(new FormData(searchForm));
    for (const [name, value] of [...query]) if (!value) query.delete(name);
    history.replaceState(null, "", `?${query}`);
  });
  searchForm.addEventListener("submit", (event) => event.preventDefault());
}
document.addEventListener("submit", (event) => {
  if (event.target.method === "post") for (const button of event.target.querySelectorAll("button")) button.disabled = true;
});
if (outer) new MutationObserver(adoptTheme).observe(outer.documentElement, { attributes: true, attributeFilter: ["class"] });
const seconds = Number(document.getElementById("page").dataset.refresh);
if (seconds) setInterval(refresh, seconds * 1000);
