// JSON with whole numbers beyond 2^53: seeds have 64 bits.

/** Reads JSON; whole numbers that a double cannot hold become BigInt where the browser gives their text. */
export function parse(source) {
  return JSON.parse(source, (_key, value, context) =>
    typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '')
      ? BigInt(context.source)
      : value);
}

/** Writes JSON; BigInt becomes a number. `indent` is a number of spaces. */
export function write(value, indent = 0, depth = 0) {
  if (typeof value === 'bigint') return value.toString();
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const list = Array.isArray(value);
  const inner = '\n' + ' '.repeat(indent * (depth + 1));
  const items = list
    ? value.map((item) => write(item, indent, depth + 1))
    : Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .map(([name, item]) => `${JSON.stringify(name)}:${indent ? ' ' : ''}${write(item, indent, depth + 1)}`);
  const [open, close] = list ? '[]' : '{}';
  if (items.length === 0) return open + close;
  const flat = open + items.join(indent ? ', ' : ',') + close;
  if (!indent || (flat.length < 72 && !flat.includes('\n'))) return flat;
  return open + inner + items.join(',' + inner) + '\n' + ' '.repeat(indent * depth) + close;
}
