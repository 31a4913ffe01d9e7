"""Script that reads a page and finds its elements, in a world of its own beside the page's scripts.

Pages can name their elements after what scripts call (`<form name=body>`), so what belongs to the
document or a form is taken from its prototype. A number stands for one element as it was described:
one that looks different later has another number.
"""

# Of a page; parts of it are shown
MAX_TEXT_CHARS = 200_000
MAX_ELEMENTS = 400
MAX_NAME_CHARS = 80
MAX_TITLE_CHARS = 200

INSTALL = (
    """
globalThis.barnacle ??= (() => {
  const known = new Map(), numbers = new WeakMap();
  const of = (kind, name, one) =>
    Object.getOwnPropertyDescriptor(kind.prototype, name).get.call(one);
  const root = () => of(Document, 'documentElement', document);
  const line = (text, most) => String(text ?? '').replace(/\\s+/g, ' ').trim().slice(0, most);
  const WANTED = 'a[href],button,input,select,textarea,summary,[contenteditable=""],'
    + '[contenteditable=true],[onclick],[role=button],[role=link],[role=checkbox],[role=tab],'
    + '[role=menuitem],[role=option],[role=switch]';
  const TEXTS = new Set(['text', 'search', 'email', 'url', 'tel', 'number', 'date', 'time',
    'datetime-local', 'month', 'week', 'color', 'range']);
  const isShown = (one) => {
    const box = one.getBoundingClientRect(), style = getComputedStyle(one);
    return box.width > 1 && box.height > 1 && style.visibility === 'visible'
      && Number(style.opacity) > 0.1;
  };
  const kindOf = (one) => {
    if (one instanceof HTMLAnchorElement) return 'link';
    if (one instanceof HTMLSelectElement) return 'choice';
    if (one instanceof HTMLTextAreaElement || one.isContentEditable) return 'text';
    if (one instanceof HTMLInputElement) return TEXTS.has(one.type) ? 'text'
      : ['submit', 'image', 'reset', 'button'].includes(one.type) ? 'button' : one.type;
    return one instanceof HTMLButtonElement ? 'button' : one.getAttribute('role') || 'button';
  };
  const partOf = (form, name) => of(HTMLFormElement, name, form);
  const labelOf = (one) => one.labels && one.labels.length ? one.labels[0].innerText : '';
  const nameOf = (one) => line(one.getAttribute('aria-label') || labelOf(one)
    || (one instanceof HTMLSelectElement ? '' : one.innerText)
    || (kindOf(one) === 'button' ? one.value : '') || one.getAttribute('placeholder')
    || one.getAttribute('title') || one.querySelector('img')?.getAttribute('alt')
    || one.getAttribute('name'), MAX_NAME);
  const sendsOf = (one) => {
    const form = one.form;
    if (!(form instanceof HTMLFormElement)) return '';
    const by = one.getAttribute('formmethod') ? one.formMethod : partOf(form, 'method');
    const to = one.getAttribute('formaction') ? one.formAction : partOf(form, 'action');
    return line(by.toUpperCase() + ' ' + to, 300);
  };
  const describe = (one) => {
    const told = {kind: kindOf(one), name: nameOf(one)}, sends = sendsOf(one);
    if (told.kind === 'link') told.leads_to = line(one.href, 300);
    if (sends) told.sends = sends;
    if (told.kind === 'choice') told.options = [...one.options].slice(0, 30)
      .map((option) => line(option.label, 60));
    return told;
  };
  const stateOf = (one) => {
    const kind = kindOf(one);
    if (kind === 'checkbox' || kind === 'radio') return {checked: Boolean(one.checked)};
    if (kind === 'choice') return {value: line(one.selectedOptions[0]?.label, MAX_NAME)};
    return kind === 'text' && one.value ? {value: line(one.value, MAX_NAME)} : {};
  };
  const numbered = (one, next) => {
    const words = JSON.stringify(describe(one));
    const had = numbers.get(one);
    if (had !== undefined && known.get(had)?.words === words) return [had, next];
    numbers.set(one, next);
    known.set(next, {one, words});
    return [next, next + 1];
  };
  const still = (number) => {
    const had = known.get(number);
    if (!had || !had.one.isConnected) return null;
    return JSON.stringify(describe(had.one)) === had.words ? had.one : null;
  };
  return {
    read(next) {
      const elements = [];
      let left = 0;
      for (const one of Document.prototype.querySelectorAll.call(document, WANTED)) {
        if (one.disabled || !isShown(one)) continue;
        if (elements.length >= MAX_ELEMENTS) { left += 1; continue; }
        const [number, after] = numbered(one, next);
        next = after;
        elements.push({number, ...describe(one), ...stateOf(one)});
      }
      return JSON.stringify({
        title: line(of(Document, 'title', document), MAX_TITLE),
        text: String(of(Document, 'body', document)?.innerText ?? root()?.textContent ?? '')
          .slice(0, MAX_TEXT),
        elements, left, next,
      });
    },
    place(number) {
      const one = still(number);
      if (!one) return 'null';
      one.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
      const box = one.getClientRects()[0] ?? one.getBoundingClientRect();
      const x = box.left + box.width / 2, y = box.top + box.height / 2;
      const hit = Document.prototype.elementFromPoint.call(document, x, y);
      const is_free = Boolean(hit) && (one.contains(hit) || hit.contains(one)
        || Boolean(one.labels && [...one.labels].some((label) => label.contains(hit))));
      return JSON.stringify({x, y, is_free});
    },
    enter(number) {
      const one = still(number);
      if (!one) return 'null';
      one.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
      one.focus();
      if (one.select) one.select();
      else getSelection().selectAllChildren(one);
      return JSON.stringify({has_focus: root().contains(one) && one.matches(':focus')});
    },
    choose(number, label) {
      const one = still(number);
      if (!one) return 'null';
      const option = [...one.options].find((each) => line(each.label, 60) === label);
      if (!option) return JSON.stringify({is_chosen: false});
      one.value = option.value;
      for (const name of ['input', 'change']) one.dispatchEvent(new Event(name, {bubbles: true}));
      return JSON.stringify({is_chosen: true});
    },
  };
})();
""".replace("MAX_NAME", str(MAX_NAME_CHARS))
    .replace("MAX_ELEMENTS", str(MAX_ELEMENTS))
    .replace("MAX_TITLE", str(MAX_TITLE_CHARS))
    .replace("MAX_TEXT", str(MAX_TEXT_CHARS))
)
