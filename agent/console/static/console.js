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
  document.addEventListener("htmx:sendError", () => { document.body.dataset.away = "yes"; });

  document.addEventListener("htmx:sseBeforeMessage", (event) => {
    if (event.detail.type === "talk" || event.detail.type === "draft") follows = isAtEnd();
  });
  document.addEventListener("htmx:sseMessage", (event) => {
    const name = event.detail.type;
    if (name === "talk" || name === "draft") toEnd();
    if (name !== "talk") return;
    const spoken = document.getElementById("spoken");
    const last = [...document.querySelectorAll("#talk > .bubble")].pop();
    // A reader is told the answer, not the whole conversation again
    if (spoken && last && !last.classList.contains("mine") && spoken.textContent !== last.innerText) {
      spoken.textContent = last.innerText;
    }
  });
  document.addEventListener("htmx:sseOpen", (event) => {
    const source = event.detail.source;
    source.addEventListener("anew", () => window.location.reload());
    source.addEventListener("out", () => { source.close(); window.location.reload(); });
  });

  window.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".attach").forEach((one) => { one.hidden = false; });
    toEnd();
  });
})();
