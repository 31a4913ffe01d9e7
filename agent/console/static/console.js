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
    if (field.value.trim()) field.form.requestSubmit();
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

  window.addEventListener("DOMContentLoaded", toEnd);
})();
