// Makes elements. Text is always text: nothing here parses markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== undefined && child !== null && child !== false) element.append(child);
  }
  return element;
}

/** An HTML element. Attributes that are null, undefined or false are left out; `onclick` and the like listen. */
export const h = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);

/** An SVG element. */
export const s = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

/** Puts `children` in the place of what is in `element`. */
export function put(element, ...children) {
  element.replaceChildren(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** Sets the text only if it differs, so that nothing is announced or laid out twice. */
export function text(element, value) {
  if (element.textContent !== value) element.textContent = value;
}

/** Tells a screen reader. */
export function announce(message) {
  text(document.getElementById('announcer'), message);
}

/** Waits, unless the view is left before. */
export function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const left = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', left);
      resolve();
    }, ms);
    if (signal.aborted) left();
    else signal.addEventListener('abort', left, { once: true });
  });
}
