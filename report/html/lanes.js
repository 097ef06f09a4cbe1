// The drawing of a finding: a lane for each process with what it did around the
// two accesses, made of the finding itself. Time goes to the right; distances
// mean nothing.

const laneHeight = 104, laneTop = 46, laneLeft = 92;

// opens fits the calls that open an epoch.
const opens = /_(fence|lock|lock_all|start)$/;

// alone fits the calls that wait for nobody.
const alone = /_(lock|lock_all|unlock|unlock_all|flush|flush_all|flush_local|flush_local_all|sync)$/;

// Where a moment lies among those of its process that have no number.
const roles = { heard: 0, before: 1, access: 2, after: 3, done: 4 };

// momentsOf lists the moments of the processes of a finding: calls and accesses,
// each at the number of its event in its process.
function momentsOf(f) {
  const all = [];
  const moment = (rank, event, role, key, value) => {
    const name = event > 0 && role !== 'access' ? 'event ' + event : role + key;
    const old = all.find((m) => m.rank === rank && m.name === name);
    if (old) return old;
    const m = { rank, t: event > 0 ? event : roles[role], name, ...value };
    all.push(m);
    return m;
  };
  const call = (ref, role) => {
    const s = syncOf(ref);
    return s && moment(s.rank, ref[1], role, ref[0], { label: text(s.call), sub: lineOf(s) });
  };
  const sides = f.sides.map((s, n) => ({
    ...s, access: moment(s.rank, s.event || 0, 'access', n, { label: text(s.short), sub: s.line ? 'line ' + s.line : text(s.at), side: n }),
  }));
  for (const s of sides) {
    s.begin = call(s.started, 'before');
    s.after = call(s.next, 'after');
    s.end = call(s.done, s.p ? 'done' : 'after');
  }
  const edges = [];
  sides.forEach((s, n) => {
    const other = sides[1 - n];
    if (!other || !s.heard || other.rank === s.rank) return;
    const from = call(s.heard, 'heard');
    // What a process has heard it heard in its last call that waits for others.
    const to = s.begin && s.begin.rank === s.rank && !alone.test(s.begin.label) ? s.begin : s.access;
    if (from.rank !== s.rank) edges.push({ from, to });
  });
  return { all, sides, edges };
}

function lineOf(s) {
  return s.line ? 'line ' + s.line : shortPlace(text(s.at));
}

// columnsOf gives each moment a column, so that what comes before something
// stands further left.
function columnsOf(all, edges) {
  const lanes = new Map();
  for (const m of all) {
    if (!lanes.has(m.rank)) lanes.set(m.rank, []);
    lanes.get(m.rank).push(m);
    m.column = 0;
  }
  for (const lane of lanes.values()) lane.sort((a, b) => a.t - b.t);
  for (let round = 0, moved = true; moved && round < all.length + 2; round++) {
    moved = false;
    const push = (a, b, d) => {
      if (b.column < a.column + d) {
        b.column = a.column + d;
        moved = true;
      }
    };
    for (const lane of lanes.values()) for (let i = 1; i < lane.length; i++) push(lane[i - 1], lane[i], 1);
    for (const e of edges) push(e.from, e.to, e.from.label === e.to.label ? 0 : 1);
  }
  return lanes;
}

// laneDrawing draws a finding.
function laneDrawing(f) {
  const { all, sides, edges } = momentsOf(f);
  const lanes = columnsOf(all, edges);
  if (f.bytes && !lanes.has(f.owner)) lanes.set(f.owner, []);
  const ranks = [...lanes.keys()].sort((a, b) => a - b);
  const longest = Math.max(...all.map((m) => Math.max(m.label.length, m.sub.length)));
  const step = Math.max(96, 7.3 * longest + 18);
  const last = Math.max(...all.map((m) => m.column));
  const width = laneLeft + (last + 1) * step + 40, height = laneTop + ranks.length * laneHeight;
  const y = (rank) => laneTop + ranks.indexOf(rank) * laneHeight + 28;
  const x = (m) => laneLeft + (m.column + 0.5) * step;
  const right = width - 16;

  const back = [], middle = [], front = [];
  for (const rank of ranks) {
    middle.push(svg('line', { class: 'lane', x1: laneLeft - 8, y1: y(rank), x2: right, y2: y(rank) }),
      svg('text', { class: 'lane-name', x: 8, y: y(rank) + 4 }, 'rank ' + rank));
  }
  sides.forEach((s, n) => {
    let from = laneLeft - 8;
    if (s.begin && s.begin.rank === s.rank) from = opens.test(s.begin.label) ? x(s.begin) : (x(s.begin) + x(s.access)) / 2;
    const endsHere = s.end && s.end.rank === s.rank;
    const to = endsHere ? x(s.end) : right;
    if (s.epoch !== undefined) {
      const other = sides.slice(0, n).find((o) => o.rank === s.rank && o.begin === s.begin && o.epoch !== undefined && text(o.epoch) === text(s.epoch));
      if (!other) {
        back.push(svg('rect', { class: 'epoch', x: from, y: y(s.rank) - 40, width: to - from, height: 82, rx: 6 }),
          svg('text', { class: 'epoch-name', x: from + 8, y: y(s.rank) + 37 }, text(s.epoch) + ' epoch'));
      }
    }
    if (s.p) {
      middle.push(svg('line', { class: 'pending side' + n, x1: x(s.access), y1: y(s.rank), x2: to, y2: y(s.rank) }));
      if (!endsHere) front.push(svg('text', { class: 'sub', x: right, y: y(s.rank) - 8, 'text-anchor': 'end' }, s.end ? 'completes at rank ' + s.end.rank : 'never completes'));
    }
    if (f.bytes && s.rank !== f.owner) {
      middle.push(svg('line', { class: 'touches', x1: x(s.access), y1: y(s.rank), x2: x(s.access), y2: y(f.owner) }),
        svg('rect', { class: 'memory', x: x(s.access) - 6, y: y(f.owner) - 6, width: 12, height: 12 }));
    }
  });
  for (const e of edges) middle.push(arrow(x(e.from), y(e.from.rank), x(e.to), y(e.to.rank), 'sync-edge'));
  const missing = missingEdge(f, sides);
  if (missing) {
    const a = [x(missing.from), y(missing.from.rank)], b = [x(missing.to), y(missing.to.rank)];
    middle.push(svg('line', { class: 'missing', x1: a[0], y1: a[1], x2: b[0], y2: b[1] }));
    front.push(svg('text', { class: 'missing-name', x: (a[0] + b[0]) / 2, y: (a[1] + b[1]) / 2 + 5, 'text-anchor': 'middle' }, '✕ no order'));
  }
  for (const m of all) front.push(momentMark(m, x(m), y(m.rank)));
  return h('figure', {},
    h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Drawing of the processes; scrolls sideways' },
      drawing(width, height, 'The processes around the two accesses', laneDescription(sides, lanes), back, middle, front)),
    h('figcaption', {}, laneLegend(sides, edges, missing)));
}

// missingEdge is the order that was looked for between two processes: from the
// end of one access to the other.
function missingEdge(f, sides) {
  if (sides.length < 2 || sides[0].rank === sides[1].rank || !(f.sought || []).some((q) => q.kind === 'path')) return null;
  const [a, b] = f.began === 2 ? [sides[1], sides[0]] : [sides[0], sides[1]];
  const from = a.end || a.after;
  return from ? { from, to: b.access } : null;
}

function momentMark(m, x, y) {
  const parts = [];
  if (m.side === undefined) parts.push(svg('circle', { class: 'sync', cx: x, cy: y, r: 6 }));
  else {
    parts.push(svg('rect', { class: 'access side' + m.side, x: x - 11, y: y - 11, width: 22, height: 22, rx: 4 }),
      svg('text', { class: 'access-name', x, y: y + 4, 'text-anchor': 'middle' }, 'AB'[m.side]));
  }
  parts.push(svg('text', { class: 'name' + (m.side === undefined ? '' : ' strong'), x, y: y - 17, 'text-anchor': 'middle' }, m.label),
    svg('text', { class: 'sub', x, y: y + 24, 'text-anchor': 'middle' }, m.sub));
  return parts;
}

// arrow is a line with a head, from the edge of one mark to that of another.
function arrow(x1, y1, x2, y2, kind) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1, dx = (x2 - x1) / length, dy = (y2 - y1) / length;
  const tx = x2 - dx * 13, ty = y2 - dy * 13;
  const head = `${tx},${ty} ${tx - dx * 9 - dy * 4.5},${ty - dy * 9 + dx * 4.5} ${tx - dx * 9 + dy * 4.5},${ty - dy * 9 - dx * 4.5}`;
  return svg('g', { class: kind }, svg('line', { x1: x1 + dx * 8, y1: y1 + dy * 8, x2: tx - dx * 5, y2: ty - dy * 5 }), svg('polygon', { points: head }));
}

// laneDescription says in words what the drawing shows.
function laneDescription(sides, lanes) {
  const parts = [];
  for (const [rank, moments] of lanes) {
    if (moments.length > 0) parts.push(`Rank ${rank}: ` + moments.map((m) => `${m.label} (${m.sub})${m.side === undefined ? '' : ', access ' + 'AB'[m.side]}`).join(', then ') + '.');
  }
  for (const s of sides) if (s.p) parts.push(`Access ${'AB'[sides.indexOf(s)]} lasts until ${s.end ? s.end.label + ' of rank ' + s.end.rank : 'the end of the run'}.`);
  return parts.join(' ');
}

function laneLegend(sides, edges, missing) {
  const parts = ['A', 'B'].slice(0, sides.length).map((name, n) => `${name}: ${text(sides[n].what)}`);
  if (sides.some((s) => s.p)) parts.push('thick bar: from the call until what completes it');
  if (edges.length > 0) parts.push('arrow: as far as the one process had heard of the other');
  if (missing) parts.push('dashed line with ✕: the order that is missing');
  return parts.join(' · ');
}
