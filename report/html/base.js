// What the other parts use: the data with its tables, and elements.

const data = JSON.parse(document.getElementById('data').textContent);

// rows turns a table, which has a list for each field, into a list of objects.
function rows(columns) {
  const names = Object.keys(columns), out = [];
  for (let i = 0; i < columns[names[0]].length; i++) {
    const row = {};
    for (const name of names) row[name] = columns[name][i];
    out.push(row);
  }
  return out;
}

// unpack puts the tables, and what belongs to a finding, in their places.
function unpack() {
  for (const name of ['frames', 'syncs', 'findings', 'sides', 'sought', 'fixes']) data[name] = rows(data[name]);
  const at = { sides: 0, sought: 0, fixes: 0 };
  data.findings.forEach((f, i) => {
    for (const name of Object.keys(at)) {
      const n = f[name];
      f[name] = data[name].slice(at[name], at[name] + n);
      at[name] += n;
    }
    f.events = data.events && data.events[i];
    f.problem = [i]; // an accepted finding belongs to none
  });
  for (const problem of data.problems) for (const i of problem) data.findings[i].problem = problem;
}
unpack();

// text returns the text that a reference names: the index of its form in the
// table, or that and the numbers that stand for each "#" in it.
function text(ref) {
  if (typeof ref === 'number') return data.texts[ref];
  let n = 0;
  return data.texts[ref[0]].replace(/#/g, () => String(ref[++n]));
}

// syncOf returns the call that a reference names, or null.
const syncOf = (ref) => (ref ? data.syncs[ref[0]] : null);

function plural(n, noun) {
  return n.toLocaleString('en') + ' ' + (n === 1 ? noun : noun + 's');
}

// fill sets the attributes of an element and appends its children, elements or
// texts. An attribute that is false or undefined is left out.
function fill(el, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) el.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) el.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false && child !== '') el.append(child);
  }
  return el;
}

const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
const byId = (id) => document.getElementById(id);

let ids = 0;
const newId = (prefix) => prefix + '-' + ++ids;

// drawing is an SVG element that a screen reader reads as a title and a text.
function drawing(width, height, title, description, ...children) {
  const t = newId('t'), d = newId('d');
  return svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-labelledby': t + ' ' + d, class: 'drawing' },
    svg('title', { id: t }, title), svg('desc', { id: d }, description), children);
}

// ranksIn reads "0,4-7".
function ranksIn(list) {
  return list.split(',').filter((s) => s.trim() !== '').map((part) => {
    const [lo, hi] = part.split('-').map((s) => (s.trim() === '' ? NaN : Number(s)));
    return [lo, hi === undefined ? lo : hi];
  });
}

// bytesText says which bytes: half-open ranges inside, as people count outside.
function bytesText(lo, hi) {
  return hi - lo === 1 ? `byte ${lo}` : `bytes ${lo}–${hi - 1}`;
}
