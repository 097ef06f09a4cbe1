// The maps of the windows: which process touched which bytes.

const kindNames = ['read', 'write', 'atomic read', 'atomic write'];
const mapWidth = 900, mapLabel = 190, rowHeight = 22, foldWidth = 26;
const mostMarks = 40; // findings that a table names

function setUpWindows() {
  const at = byId('window-maps');
  if (data.missing) at.append(h('p', { class: 'caveat' }, data.missing));
  if (data.windows.length === 0 && !data.missing) at.append(h('p', {}, 'No window was touched.'));
  if (data.windows.length > 0 && !data.missing) at.append(h('p', {}, 'What each process touched in the whole run, whenever it did. Bytes that findings are about are marked with ✖; where many lie close together, one mark with their number stands for all. A fold, ⋯, stands for bytes that nobody touched.'));
  const inOrder = data.windows.map((w, i) => i).sort((i, k) => (data.windows[i].run || 0) - (data.windows[k].run || 0) || data.windows[i].number - data.windows[k].number || i - k);
  for (const i of inOrder) at.append(windowSection(data.windows[i], i));
}

// windowId is the address of a window: "window-2" is that which is called window 2.
function windowId(i) {
  const w = data.windows[i];
  return 'window-' + (w.number || i + 1) + (w.run > 1 ? '-of-run-' + w.run : '');
}

function windowSection(w, i) {
  const findings = data.findings.filter((f) => f.win === i + 1).length;
  const parts = h('div', { class: 'parts' });
  const box = h('details', { class: 'window', id: windowId(i) },
    h('summary', {}, h('h3', {}, text(w.name)), ` ${plural((w.parts || []).length, 'part')}, ${plural(findings, 'finding')}`),
    findings > 0 && h('p', {}, h('a', { href: '#findings', onclick: () => setFilters({ window: i + 1 }) }, 'the findings of this window')),
    parts);
  box.addEventListener('toggle', () => {
    if (box.open && parts.childElementCount === 0) parts.append(...partMaps(w, i));
  });
  return box;
}

const fewParts = 8; // maps of a window that are drawn at once

// partMaps draws the parts with findings first, and the others when asked for.
function partMaps(w, i) {
  const marks = new Map();
  data.findings.forEach((f, n) => {
    if (f.win !== i + 1 || !f.hi) return;
    if (!marks.has(f.owner)) marks.set(f.owner, []);
    marks.get(f.owner).push({ n, lo: f.lo, hi: f.hi });
  });
  const parts = [...(w.parts || [])].sort((a, b) => (marks.has(b.owner) - marks.has(a.owner)) || a.owner - b.owner);
  const out = [];
  const rest = h('div', {});
  const draw = (from, to) => parts.slice(from, to).map((p) => partMap(p, marks.get(p.owner) || []));
  out.push(...draw(0, fewParts), rest);
  if (parts.length > fewParts) {
    const button = h('button', { type: 'button', onclick: () => { rest.append(...draw(fewParts)); button.remove(); } }, `Show ${plural(parts.length - fewParts, 'more part')}`);
    out.push(button);
  }
  if (w.others) out.push(h('p', {}, `The parts of ${w.others === 1 ? '1 more process' : w.others.toLocaleString('en') + ' more processes'} are not drawn.`));
  if (parts.length === 0 && !data.missing) out.push(h('p', {}, 'Nobody touched it.'));
  return out;
}

function pairs(list) {
  const out = [];
  for (let i = 0; i < list.length; i += 2) out.push([list[i], list[i + 1]]);
  return out;
}

// scaleOf lays bytes out from left to right: what is touched by length, and what
// nobody touched, where that is long, as a fold.
function scaleOf(ranges, width) {
  const sorted = [...ranges].sort((a, b) => a[0] - b[0]);
  const touched = [];
  for (const [lo, hi] of sorted) {
    const last = touched[touched.length - 1];
    if (last && lo <= last[1]) last[1] = Math.max(last[1], hi);
    else touched.push([lo, hi]);
  }
  const total = touched.reduce((n, [lo, hi]) => n + hi - lo, 0);
  let pieces = [];
  for (let near = total / 20; ; near *= 2) {
    pieces = [];
    for (const [lo, hi] of touched) {
      const last = pieces[pieces.length - 1];
      if (last && lo - last.hi <= near) last.hi = hi;
      else pieces.push({ lo, hi });
    }
    if (pieces.length <= 12) break;
  }
  const bytes = pieces.reduce((n, p) => n + p.hi - p.lo, 0);
  const least = 14, room = width - foldWidth * (pieces.length - 1) - least * pieces.length;
  let x = 0;
  for (const p of pieces) {
    p.x = x;
    p.width = least + (room * (p.hi - p.lo)) / bytes;
    x += p.width + foldWidth;
  }
  const at = (byte) => {
    const p = pieces.find((q) => byte <= q.hi) || pieces[pieces.length - 1];
    return p.x + (p.width * (Math.max(byte, p.lo) - p.lo)) / (p.hi - p.lo);
  };
  return { pieces, at };
}

function trackName(part, t) {
  const who = t.rank < 0 ? `other ${data.process}s` : `${data.process} ${t.rank}${t.rank === part.owner ? ' (owner)' : ''}`;
  return `${who}: ${kindNames[t.kind]}`;
}

function partMap(part, marks) {
  const scale = scaleOf([...part.tracks.flatMap((t) => pairs(t.bytes)), ...marks.map((m) => [m.lo, m.hi])], mapWidth - mapLabel - 10);
  const top = 24, bottom = top + part.tracks.length * rowHeight, height = bottom + 26;
  const x = (byte) => mapLabel + scale.at(byte);
  const back = [], front = [];
  for (const c of clusters(marks, x)) {
    back.push(svg('rect', { class: 'conflict', x: c.left, y: top - 4, width: c.right - c.left, height: bottom - top + 8 }));
    const name = c.marks.length === 1 ? `finding ${c.marks[0].n + 1}: ${bytesText(c.marks[0].lo, c.marks[0].hi)}`
      : `${plural(c.marks.length, 'finding')} about ${bytesText(c.lo, c.hi)}, the first of them ${c.marks[0].n + 1}`;
    front.push(svg('a', { href: '#finding-' + (c.marks[0].n + 1), 'aria-label': name }, svg('title', {}, name),
      svg('text', { class: 'missing-name', x: (c.left + c.right) / 2, y: top - 8, 'text-anchor': 'middle' }, c.marks.length === 1 ? '✖' : '✖' + c.marks.length)));
  }
  part.tracks.forEach((t, row) => {
    const y = top + row * rowHeight;
    back.push(svg('text', { class: 'sub', x: mapLabel - 10, y: y + 14, 'text-anchor': 'end' }, trackName(part, t)),
      svg('line', { class: 'lane', x1: mapLabel, y1: y + 10, x2: mapWidth - 10, y2: y + 10 }));
    for (const [lo, hi] of pairs(t.bytes)) {
      front.push(svg('rect', { class: 'touched kind' + t.kind, x: x(lo), y: y + 3, width: Math.max(2, x(hi) - x(lo)), height: 14 }, svg('title', {}, `${trackName(part, t)} ${bytesText(lo, hi)}`)));
    }
  });
  scale.pieces.forEach((p, i) => {
    if (i > 0) front.push(svg('text', { class: 'fold', x: mapLabel + p.x - foldWidth / 2, y: bottom + 4, 'text-anchor': 'middle' }, '⋯'));
    front.push(svg('text', { class: 'sub', x: mapLabel + p.x, y: bottom + 18 }, p.width > 24 + 7 * String(p.lo).length ? String(p.lo) : ''));
    const end = String(p.hi - 1);
    if (p.width > 30 + 7 * (String(p.lo).length + end.length)) front.push(svg('text', { class: 'sub', x: mapLabel + p.x + p.width, y: bottom + 18, 'text-anchor': 'end' }, end));
  });
  const title = `${data.process} ${part.owner}'s part of the window`;
  const picture = svg('svg', { viewBox: `0 0 ${mapWidth} ${height}`, width: mapWidth, height, role: 'group', 'aria-label': title + '. The table below says the same.', class: 'drawing map' }, back, front);
  return h('figure', { class: 'part' },
    h('h4', {}, title),
    h('div', { class: 'scroll' }, picture),
    part.cell > 1 && h('figcaption', {}, `Bytes are told apart in blocks of ${part.cell.toLocaleString('en')}.`),
    mapTable(part, marks));
}

// clusters joins marks that would stand too close together.
function clusters(marks, x) {
  const out = [];
  for (const m of [...marks].sort((a, b) => a.lo - b.lo || a.n - b.n)) {
    const left = x(m.lo), right = Math.max(left + 3, x(m.hi)), last = out[out.length - 1];
    const middle = last && (last.left + last.right) / 2;
    if (last && (left < last.right + 4 || (left + right) / 2 < middle + 34)) {
      last.right = Math.max(last.right, right);
      last.hi = Math.max(last.hi, m.hi);
      last.marks.push(m);
    } else out.push({ left, right, lo: m.lo, hi: m.hi, marks: [m] });
  }
  return out;
}

const mostRanges = 24; // of bytes that a line of the table names

function mapTable(part, marks) {
  const listed = (ranges) => ranges.slice(0, mostRanges).map(([lo, hi]) => (hi - lo === 1 ? `${lo}` : `${lo}–${hi - 1}`)).join(', ') + (ranges.length > mostRanges ? ` and ${plural(ranges.length - mostRanges, 'more range')}` : '');
  return h('details', {}, h('summary', {}, 'As a table'),
    h('table', {},
      h('thead', {}, h('tr', {}, ['process', 'access', 'bytes'].map((name) => h('th', { scope: 'col' }, name)))),
      h('tbody', {}, part.tracks.map((t) => h('tr', {}, h('td', {}, t.rank < 0 ? 'others' : `${data.process} ${t.rank}`), h('td', {}, kindNames[t.kind]), h('td', {}, listed(pairs(t.bytes))))),
        marks.length > 0 && h('tr', {}, h('td', {}, 'findings'), h('td', {}, '✖'), h('td', {}, marks.slice(0, mostMarks).map((m) => [h('a', { href: '#finding-' + (m.n + 1) }, `#${m.n + 1}`), ` ${bytesText(m.lo, m.hi)} `]), marks.length > mostMarks && `and ${(marks.length - mostMarks).toLocaleString('en')} more`)))));
}
