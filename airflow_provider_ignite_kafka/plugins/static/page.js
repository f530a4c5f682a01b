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
    page.innerHTML = now.innerHTML;
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
document.addEventListener("submit", (event) => {
  for (const button of event.target.querySelectorAll("button")) button.disabled = true;
});
if (outer) new MutationObserver(adoptTheme).observe(outer.documentElement, { attributes: true, attributeFilter: ["class"] });
const seconds = Number(document.getElementById("page").dataset.refresh);
if (seconds) setInterval(refresh, seconds * 1000);
