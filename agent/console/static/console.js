// What the pages do beyond forms and links; without it they can be read, and their forms sent.
(() => {
  "use strict";
  const toast = () => document.getElementById("toast");
  let toastTimer = 0;

  function say(text) {
    const place = toast();
    if (!place) return;
    place.textContent = text;
    place.hidden = false;
    clearTimeout(toastTimer);
    toastTimer = setTimeout(() => { place.hidden = true; }, 6000);
  }

  function isAtEnd() {
    return window.innerHeight + window.scrollY > document.documentElement.scrollHeight - 160;
  }

  let follows = true;
  function toEnd() {
    if (document.querySelector(".composer") && follows) window.scrollTo(0, document.documentElement.scrollHeight);
  }

  // Enter sends; Shift and Enter is a new line; an input method's own Enter is neither
  document.addEventListener("keydown", (event) => {
    const field = event.target;
    if (!(field instanceof HTMLTextAreaElement) || !("submits" in field.dataset)) return;
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    // A script's request to send is not stopped by a button that is disabled, as a file is on its way
    if (field.form.querySelector("button:not([type])").disabled) return;
    if (field.value.trim() || field.form.elements.files?.value) field.form.requestSubmit();
  });

  // Files go ahead of their message, one after the other; the message names them
  let chosen = [];
  function showChosen(place, field) {
    place.replaceChildren(...chosen.map((one) => {
      const item = document.createElement("li");
      const drop = document.createElement("button");
      drop.type = "button";
      drop.className = "plain";
      drop.textContent = "\u00d7";
      drop.setAttribute("aria-label", `${field.dataset.drop}: ${one.name}`);
      drop.addEventListener("click", () => {
        chosen = chosen.filter((other) => other !== one);
        showChosen(place, field);
      });
      item.append(one.number ? one.name : `${one.name} \u2026`, drop);
      return item;
    }));
    field.form.elements.files.value = chosen.map((one) => one.number).filter(Boolean).join(" ");
    field.form.querySelector("button:not([type])").disabled = chosen.some((one) => !one.number);
  }
  function shortened(name) {
    const dot = name.lastIndexOf(".");
    const end = dot > 0 ? name.slice(dot).slice(0, 8) : "";
    return name.slice(0, dot > 0 ? dot : undefined).slice(0, 30) + end;
  }
  async function upload(one, place, field) {
    const query = new URLSearchParams({ name: shortened(one.name), type: one.file.type.slice(0, 60) });
    try {
      const answer = await fetch(`/file?${query}`, {
        method: "POST",
        body: one.file,
        headers: { "content-type": "application/octet-stream", "x-barnacle-token": field.form.elements.token.value, "hx-request": "true" },
      });
      const text = await answer.text();
      if (answer.status === 401) window.location.reload();
      if (!answer.ok) throw new Error(text.slice(0, 300));
      one.number = text;
    } catch (err) {
      chosen = chosen.filter((other) => other !== one);
      say(`${one.name}: ${err.message}`);
    }
    showChosen(place, field);
  }
  document.addEventListener("change", async (event) => {
    const field = event.target;
    if (!(field instanceof HTMLInputElement) || !("uploads" in field.dataset)) return;
    const place = document.getElementById("chosen");
    const files = [...field.files];
    field.value = "";
    if (files.length + chosen.length > Number(field.dataset.most)) return say(field.dataset.many);
    for (const file of files) {
      if (file.size > Number(field.dataset.limit) * 1024 * 1024) {
        say(`${file.name}: ${field.dataset.large}`);
        continue;
      }
      const one = { name: file.name, file, number: "" };
      chosen.push(one);
      showChosen(place, field);
      await upload(one, place, field);
    }
  });
  document.addEventListener("htmx:configRequest", (event) => {
    const form = event.detail.elt;
    if (!form.matches(".say")) return;
    if (!form.elements.text.value.trim() && !form.elements.files.value) event.preventDefault();
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const form = event.detail.elt;
    if (!event.detail.successful || !form.matches(".say")) return;
    chosen = [];
    // What was not answered may have arrived: only then the same words are the same message
    form.elements.form.value = crypto.getRandomValues(new Uint32Array(4)).join("-");
    const field = form.querySelector("[data-uploads]");
    if (field) showChosen(document.getElementById("chosen"), field);
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    const form = event.detail.elt;
    if (event.detail.successful && form instanceof HTMLFormElement && "clears" in form.dataset) form.reset();
  });
  document.addEventListener("htmx:responseError", (event) => {
    const status = event.detail.xhr.status;
    if (status === 401) window.location.reload();
    else say(event.detail.xhr.responseText.slice(0, 300));
  });
  document.addEventListener("htmx:sendError", () => say(toast()?.dataset.unsent));
  document.addEventListener("htmx:timeout", () => say(toast()?.dataset.silent));

  // Each event of the page's stream is what the part of its name shows from now on
  const LOOK_MS = 1500, LOOK_AT_MOST_MS = 6000, ANSWER_MS = 5000;
  // Something comes every five seconds; a device without power says no farewell
  const SILENT_MS = 12000;
  let stream = null;
  let pauseMs = LOOK_MS;
  let waiting = 0;

  function soon(what, ms) {
    clearTimeout(waiting);
    waiting = setTimeout(what, ms);
  }

  // A question may come under a finger that is on its way to something else
  const SETTLE_MS = 700;
  function ask(part, text) {
    const typed = [...part.querySelectorAll("input[id]")].map((field) => [field.id, field.value]);
    htmx.swap(part, text, { swapStyle: "innerHTML", swapDelay: 0, settleDelay: 0 });
    for (const [id, value] of typed) {
      const field = document.getElementById(id);
      if (field) field.value = value;
    }
    const buttons = part.querySelectorAll("button");
    buttons.forEach((one) => { one.disabled = true; });
    setTimeout(() => buttons.forEach((one) => { one.disabled = false; }), SETTLE_MS);
  }

  function show(part, event) {
    const name = part.dataset.part;
    if (name === "questions") return ask(part, event.data);
    const isTalk = name === "talk";
    if (isTalk || name === "draft") follows = isAtEnd();
    htmx.swap(part, event.data, { swapStyle: "innerHTML", swapDelay: 0, settleDelay: 0 });
    if (isTalk || name === "draft") toEnd();
    if (!isTalk) return;
    htmx.trigger(document.body, "talk");
    const spoken = document.getElementById("spoken");
    const last = [...part.querySelectorAll(":scope > .bubble")].pop();
    // A reader is told the answer, not the whole conversation again
    if (spoken && last && !last.classList.contains("mine") && spoken.textContent !== last.innerText) {
      spoken.textContent = last.innerText;
    }
  }
  function listen(again = "") {
    if (stream) return;
    const source = stream = new EventSource(document.body.dataset.stream + again);
    soon(lose, SILENT_MS);
    document.querySelectorAll("[data-part]").forEach((part) => {
      source.addEventListener(part.dataset.part, (event) => { soon(lose, SILENT_MS); show(part, event); });
    });
    source.addEventListener("open", () => { pauseMs = LOOK_MS; });
    source.addEventListener("alive", () => soon(lose, SILENT_MS));
    // Newer pages of this browser need its connections: one that nobody sees waits until it is seen
    source.addEventListener("rest", () => document.hidden ? leave() : lose());
    source.addEventListener("anew", () => window.location.reload());
    source.addEventListener("out", () => { leave(); window.location.reload(); });
    source.addEventListener("error", () => { if (source === stream) lose(); });
  }
  function leave() {
    clearTimeout(waiting);
    stream?.close();
    stream = null;
  }
  function lose() {
    leave();
    document.getElementById("link").replaceChildren(document.getElementById("lost").content.cloneNode(true));
    soon(look, pauseMs);
    pauseMs = Math.min(pauseMs * 2, LOOK_AT_MOST_MS);
  }
  // A stream does not say why it was refused: a request tells who is let in no more from who has to wait
  async function look() {
    // AbortSignal.timeout is newer than the browsers of old tablets
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), ANSWER_MS);
    const answer = await fetch(document.body.dataset.stream, {
      headers: { "hx-request": "true" }, signal: late.signal,
    }).catch(() => null);
    clearTimeout(timer);
    if (stream) return;
    if (answer?.status === 401) window.location.reload();
    else if (answer?.ok) listen("&again=yes");
    else lose();
  }
  if (document.body.dataset.stream) {
    listen();
    document.addEventListener("visibilitychange", () => { if (!document.hidden) listen("&again=yes"); });
    // A browser ends the stream of a page that it leaves, and may bring the page back as it was
    window.addEventListener("pagehide", leave);
    window.addEventListener("pageshow", (event) => { if (event.persisted) listen("&again=yes"); });
  }

  window.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".attach").forEach((one) => { one.hidden = false; });
    toEnd();
  });
})();
