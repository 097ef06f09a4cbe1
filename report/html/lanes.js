// The drawing of a finding: a lane for each process with what it did around the
// two accesses, made of the finding itself. Time goes to the right; distances
// mean nothing.

const laneHeight = 116, laneTop = 46, laneLeft = 24;

// opens fits the calls that open an epoch.
const opens = /^Win_(fence|lock|lock_all|start)$/;

// alone fits the calls that wait for nobody.
const alone = /^Win_(lock|lock_all|unlock|unlock_all|flush|flush_all|flush_local|flush_local_all|sync)$/;

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
    return s && moment(s.rank, ref[1], role, ref[0], { label: shortCall(text(s.call)), sub: shortPlace(text(s.at)) + (s.in ? ', in ' + text(s.in) : '') });
  };
  const sides = f.sides.map((s, n) => ({
    ...s, access: moment(s.rank, s.event, 'access', n, { label: shortCall(text(s.short)), sub: shortPlace(text(s.at)), side: n }),
  }));
  for (const s of sides) {
    s.begin = call(s.started, 'before');
    s.after = call(s.next, 'after');
    s.end = call(s.done, s.pending ? 'done' : 'after');
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

function shortCall(name) {
  return name.replace(/^MPI_/, '');
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
  if (f.hi && !lanes.has(f.owner)) lanes.set(f.owner, []);
  const ranks = [...lanes.keys()].sort((a, b) => a - b);
  const longest = Math.max(...all.map((m) => Math.max(m.label.length, m.sub.length)));
  const step = Math.max(84, 7.3 * longest + 16);
  const last = Math.max(...all.map((m) => m.column));
  const open = sides.some((s) => s.pending && !(s.end && s.end.rank === s.rank)); // a bar that goes on to the right
  const width = laneLeft + (last + 1) * step + (open ? 170 : 40), height = laneTop + (ranks.length - 1) * laneHeight + 84;
  const y = (rank) => laneTop + ranks.indexOf(rank) * laneHeight + 28;
  const x = (m) => laneLeft + (m.column + 0.5) * step;
  const right = width - 16;

  const back = [], middle = [], front = [];
  for (const rank of ranks) {
    middle.push(svg('line', { class: 'lane', x1: laneLeft - 8, y1: y(rank), x2: right, y2: y(rank) }));
  }
  sides.forEach((s, n) => {
    let from = laneLeft - 8;
    if (s.begin && s.begin.rank === s.rank) from = opens.test(s.begin.label) ? x(s.begin) : (x(s.begin) + x(s.access)) / 2;
    const endsHere = s.end && s.end.rank === s.rank;
    const to = endsHere ? x(s.end) : right;
    if (s.epoch) {
      const other = sides.slice(0, n).find((o) => o.rank === s.rank && o.begin === s.begin && text(o.epoch) === text(s.epoch));
      if (!other) {
        back.push(svg('rect', { class: 'epoch', x: from, y: y(s.rank) - 40, width: to - from, height: 82, rx: 6 }),
          svg('text', { class: 'epoch-name', x: from + 8, y: y(s.rank) + 37 }, text(s.epoch) + ' epoch'));
      }
    }
    if (s.pending) {
      middle.push(svg('line', { class: 'pending side' + n, x1: x(s.access), y1: y(s.rank), x2: to, y2: y(s.rank) }));
      if (!endsHere) front.push(svg('text', { class: 'sub', x: right, y: y(s.rank) - 8, 'text-anchor': 'end' }, s.end ? 'completes at rank ' + s.end.rank : 'never completes'));
    }
    if (f.hi && s.rank !== f.owner) {
      middle.push(svg('line', { class: 'touches', x1: x(s.access), y1: y(s.rank), x2: x(s.access), y2: y(f.owner) }),
        svg('rect', { class: 'memory', x: x(s.access) - 6, y: y(f.owner) - 6, width: 12, height: 12 }));
    }
  });
  // Between lanes a line goes from label to label.
  const ends = (from, to) => {
    const down = Math.sign(y(to.rank) - y(from.rank));
    return [x(from), y(from.rank) + down * 28, x(to), y(to.rank) - down * 28];
  };
  for (const e of edges) middle.push(arrow(...ends(e.from, e.to), 'sync-edge', 2));
  const missing = missingEdge(f, sides);
  if (missing) {
    const [x1, y1, x2, y2] = ends(missing.from, missing.to);
    middle.push(svg('line', { class: 'missing', x1, y1, x2, y2 }));
    front.push(svg('text', { class: 'missing-name', x: (x1 + x2) / 2, y: (y1 + y2) / 2 + 5, 'text-anchor': 'middle' }, '✕ no order'));
  }
  for (const m of all) front.push(momentMark(m, x(m), y(m.rank)));
  const holder = h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Drawing of the processes; scrolls sideways' },
    drawing(width, height, 'The processes around the accesses', laneDescription(sides, lanes), back, middle, front));
  const shown = sides.map((s) => x(s.access));
  requestAnimationFrame(() => reveal(holder, Math.min(...shown) - step, Math.max(...shown) + step)); // when it has its width
  return h('figure', {}, h('div', { class: 'drawn' }, laneNames(ranks.map((rank) => [`${data.process} ${rank}`, y(rank)]), height), holder),
    h('figcaption', {}, laneLegend(sides, edges, missing)));
}

// laneNames is the names of lanes beside a drawing, which stay when it scrolls.
function laneNames(names, height) {
  const width = 24 + 7.5 * Math.max(...names.map(([name]) => name.length));
  return svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, class: 'drawing names', 'aria-hidden': 'true' },
    names.map(([name, y]) => svg('text', { class: 'lane-name', x: 10, y: y + 4 }, name)));
}

// missingEdge is the order that was looked for between two processes: from the
// end of one access to the other.
function missingEdge(f, sides) {
  if (sides.length < 2 || sides[0].rank === sides[1].rank || !f.sought.some((q) => text(q.kind) === 'path')) return null;
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

// arrow is a line with a head, between two marks of that radius.
function arrow(x1, y1, x2, y2, kind, radius = 8) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1, dx = (x2 - x1) / length, dy = (y2 - y1) / length;
  const tx = x2 - dx * (radius + 5), ty = y2 - dy * (radius + 5);
  const head = `${tx},${ty} ${tx - dx * 9 - dy * 4.5},${ty - dy * 9 + dx * 4.5} ${tx - dx * 9 + dy * 4.5},${ty - dy * 9 - dx * 4.5}`;
  return svg('g', { class: kind }, svg('line', { x1: x1 + dx * radius, y1: y1 + dy * radius, x2: tx - dx * 5, y2: ty - dy * 5 }), svg('polygon', { points: head }));
}

// laneDescription says in words what the drawing shows.
function laneDescription(sides, lanes) {
  const parts = [];
  for (const [rank, moments] of lanes) {
    if (moments.length > 0) parts.push(`${data.process} ${rank}: ` + moments.map((m) => `${m.label} (${m.sub})${m.side === undefined ? '' : ', access ' + 'AB'[m.side]}`).join(', then ') + '.');
  }
  for (const s of sides) if (s.pending) parts.push(`Access ${'AB'[sides.indexOf(s)]} lasts until ${s.end ? s.end.label + ` of ${data.process} ${s.end.rank}` : 'the end of the run'}.`);
  return parts.join(' ');
}

function laneLegend(sides, edges, missing) {
  const parts = ['A', 'B'].slice(0, sides.length).map((name, n) => `${name}: ${text(sides[n].what)}`);
  if (sides.some((s) => s.pending)) parts.push('thick bar: from the call until what completes it');
  if (edges.length > 0) parts.push('arrow: the last call of one process that happens before the other access');
  if (missing) parts.push('dashed line with ✕: the order that is missing');
  return parts.join(' · ');
}
