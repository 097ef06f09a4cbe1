// The events around a finding: a line for each process, direct dependences, and
// a consistent cut that can be moved.

const eventLeft = 28, eventTop = 40, eventHeight = 86;

const eventLine = (n) => eventTop + n * eventHeight + 20; // where the line of a process is

// eventsElsewhere says where the events of a finding are to be had.
function eventsElsewhere(f, i) {
  if (data.missing) return h('p', {}, data.missing);
  if (i < data.drawn) return h('p', {}, 'The traces have no events of its accesses.');
  return h('p', {}, 'The report holds the events around its first findings only. Those of this one: ',
    h('code', {}, `mcchk lattice${optionsFor[data.rules[f.rule].id] || ''} ${quoted(data.directories[f.run])} --finding ${f.print} -o finding.svg`));
}

// optionsFor has the options without which rules find nothing.
const optionsFor = { MC109: ' --memory-model separate', MC110: ' --memory-model separate', MC202: ' --predict' };

// quoted writes a word as a shell reads it.
function quoted(word) {
  return /^[\w./,:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

// causesOf lists, for each event, the events that it directly depends on.
function causesOf(l) {
  const causes = l.events.map(() => []);
  const last = new Map();
  l.events.forEach((e, i) => {
    if (e.l < 0) return;
    if (last.has(e.l)) causes[i].push(last.get(e.l));
    last.set(e.l, i);
  });
  for (const e of l.edges) causes[e.t].push(e.f);
  return causes;
}

// Cut is a consistent cut: with an event it has all that this depends on.
class Cut {
  constructor(l) {
    this.l = l;
    this.causes = causesOf(l);
    this.has = l.events.map(() => false);
  }

  // include takes an event and all before it.
  include(i) {
    const todo = [i];
    while (todo.length > 0) {
      const next = todo.pop();
      if (this.has[next]) continue;
      this.has[next] = true;
      todo.push(...this.causes[next]);
    }
  }

  only(...events) {
    this.has.fill(false);
    events.forEach((i) => this.include(i));
  }

  // later and earlier move the cut by one event. Causes stand before effects in
  // the list, so that it stays consistent.
  later() {
    const i = this.has.indexOf(false);
    if (i >= 0) this.has[i] = true;
  }

  earlier() {
    const i = this.has.lastIndexOf(true);
    if (i >= 0) this.has[i] = false;
  }

  size() {
    return this.has.filter(Boolean).length;
  }

  // next tells whether an event could come next.
  next(i) {
    return !this.has[i] && this.causes[i].every((c) => this.has[c]);
  }
}

// latticeView is the drawing with its buttons.
function latticeView(f) {
  const l = f.events;
  const cut = new Cut(l);
  const meeting = l.acc.map((a) => a.e);
  cut.only(...meeting);
  const status = h('p', { role: 'status', 'aria-live': 'polite', class: 'cut-status' });
  const holder = h('div', {
    class: 'scroll lattice', tabindex: '0', role: 'group',
    'aria-label': 'Events around the finding, with a cut. Left and right arrow move the cut by one event.',
  });
  const buttons = {};
  const draw = () => {
    const at = holder.scrollLeft;
    holder.replaceChildren(latticeDrawing(f, cut, (i) => move(() => cut.only(i))));
    status.textContent = cutText(f, cut);
    const n = cut.size();
    buttons.start.disabled = buttons.earlier.disabled = n === 0;
    buttons.end.disabled = buttons.later.disabled = n === l.events.length;
    holder.scrollLeft = at;
    showCut(holder);
  };
  const move = (step) => {
    step();
    draw();
  };
  const steps = {
    start: ['To the start', () => cut.only()],
    earlier: ['One event earlier', () => cut.earlier()],
    later: ['One event later', () => cut.later()],
    end: ['To the end', () => cut.has.fill(true)],
    meet: [f.sides.length > 1 ? 'Where A and B meet' : 'Where A begins', () => cut.only(...meeting)],
  };
  for (const [name, [label, step]] of Object.entries(steps)) {
    buttons[name] = h('button', { type: 'button', 'data-step': name, onclick: () => move(step) }, label);
  }
  const keys = { ArrowLeft: 'earlier', ArrowRight: 'later', Home: 'start', End: 'end' };
  holder.addEventListener('keydown', (event) => {
    const name = keys[event.key];
    if (!name || event.ctrlKey || event.metaKey || event.altKey) return;
    move(steps[name][1]);
    event.preventDefault();
  });
  draw();
  requestAnimationFrame(() => showCut(holder)); // when it has its width
  return h('div', {}, h('div', { class: 'buttons', role: 'group', 'aria-label': 'Move the cut' }, Object.values(buttons)), status,
    h('div', { class: 'drawn' }, laneNames(l.lines.map((line, n) => [lineName(line), eventLine(n)]), eventTop + l.lines.length * eventHeight), holder),
    h('p', { class: 'legend' }, 'Filled: what has happened at the cut, the dashed line. Outlined heavily: what could come next. Arrows: direct dependences; what they imply is not drawn. ⋯: events left out. A click on an event moves the cut behind it.'));
}

// showCut scrolls a drawing until its cut is well inside.
function showCut(holder) {
  const xs = holder.querySelector('.cut').getAttribute('points').split(' ').map((p) => Number(p.split(',')[0]));
  reveal(holder, Math.min(...xs) - 160, Math.max(...xs) + 160);
}

// reveal scrolls a drawing sideways until a stretch of it is seen, the left end
// of it if it is too long.
function reveal(holder, left, right) {
  if (right > holder.scrollLeft + holder.clientWidth) holder.scrollLeft = right - holder.clientWidth;
  if (left < holder.scrollLeft) holder.scrollLeft = left;
}

// stateAt says how far an access is at a cut.
function stateAt(l, cut, a) {
  if (!cut.has[a.e]) return 'has not begun';
  const ends = a.d >= 0 ? a.d : a.e;
  if (a.d < 0 || cut.has[ends]) return a.d < 0 ? 'has happened' : 'is complete';
  return 'is pending';
}

function cutText(f, cut) {
  const l = f.events;
  const parts = [`The cut has ${cut.size()} of ${plural(l.events.length, 'event')}.`];
  l.lines.forEach((line, n) => {
    const last = l.events.findLastIndex((e, i) => e.l === n && cut.has[i]);
    parts.push(`${lineName(line)}: ${last < 0 ? 'nothing yet' : 'after ' + eventName(l.events[last])}.`);
  });
  for (const a of l.acc) parts.push(`${'AB'[a.side]} ${stateAt(l, cut, a)}.`);
  return parts.join(' ');
}

function lineName(line) {
  return `${data.process} ${line.rank}` + (line.strand ? ` thread ${line.strand}` : '');
}

function eventName(e) {
  return text(e.n) + (e.at ? ` (${text(e.at)})` : '') + (e.p ? `, ${e.p === 'begin' ? 'called' : 'returned'}` : '');
}

// latticeDrawing draws the events at a cut.
function latticeDrawing(f, cut, choose) {
  const l = f.events;
  const label = (e) => shortCall(text(e.n));
  const sub = (e) => [text(e.at), e.p ? (e.p === 'begin' ? 'call' : 'return') : '', e.to ? '→ ' + text(e.to) : ''].filter((s) => s !== '');
  const longest = Math.max(6, ...l.events.map((e) => Math.max(label(e).length, sub(e).join(' ').length * 0.92)));
  const layers = [...new Set(l.events.map((e) => e.y || 0))].sort((a, b) => a - b);
  const column = new Map(layers.map((y, i) => [y, i]));
  const step = Math.max(62, 7 * longest + 12);
  const width = eventLeft + layers.length * step + 30, height = eventTop + l.lines.length * eventHeight;
  const x = (e) => eventLeft + (column.get(e.y || 0) + 0.5) * step;
  const y = eventLine;
  const back = [], middle = [], front = [];
  const members = (i) => l.edges.filter((e) => e.f === i || e.t === i).map((e) => l.events[e.f === i ? e.t : e.f]).filter((e) => e.l >= 0).map((e) => y(e.l));
  const place = (i) => {
    const e = l.events[i];
    if (e.l >= 0) return [x(e), y(e.l)];
    const ys = members(i);
    return [x(e), ys.length > 0 ? (Math.min(...ys) + Math.max(...ys)) / 2 : y(0)];
  };

  l.lines.forEach((line, n) => {
    middle.push(svg('line', { class: 'lane', x1: eventLeft - 8, y1: y(n), x2: width - 12, y2: y(n) }));
    if (line.before) front.push(svg('text', { class: 'fold', x: eventLeft - 4, y: y(n) - 4 }, '⋯'));
    if (line.after) front.push(svg('text', { class: 'fold', x: width - 26, y: y(n) - 4 }, '⋯'));
  });
  for (const a of l.acc) {
    if (a.d < 0) continue;
    const [x1, y1] = place(a.e), [x2, y2] = place(a.d);
    middle.push(svg('line', { class: 'pending side' + a.side, x1, y1, x2, y2 }));
  }
  for (const e of l.edges) {
    const [x1, y1] = place(e.f), [x2, y2] = place(e.t);
    const way = arrow(x1, y1, x2, y2, 'sync-edge' + (cut.has[e.t] ? '' : ' ahead') + (e.v ? ' found' : ''));
    if (e.v) way.append(svg('title', {}, e.v));
    middle.push(way);
  }
  const sideOfEvent = new Map(l.acc.map((a) => [a.e, a.side]));
  l.events.forEach((e, i) => {
    const [cx, cy] = place(i);
    const state = cut.has[i] ? 'past' : cut.next(i) ? 'next' : 'future';
    const mark = svg('g', { class: `event ${state}`, 'data-event': i, onclick: () => choose(i) }, svg('title', {}, `${e.l < 0 ? 'all have called ' : lineName(l.lines[e.l]) + ': '}${eventName(e)}`));
    if (e.l < 0) {
      const ys = members(i);
      if (ys.length > 1) mark.append(svg('line', { class: 'join', x1: cx, y1: Math.min(...ys), x2: cx, y2: Math.max(...ys) }));
      mark.append(svg('rect', { class: 'dot', x: cx - 5, y: cy - 5, width: 10, height: 10, transform: `rotate(45 ${cx} ${cy})` }));
    } else if (sideOfEvent.has(i)) {
      const n = sideOfEvent.get(i);
      mark.append(svg('rect', { class: 'access side' + n, x: cx - 11, y: cy - 11, width: 22, height: 22, rx: 4 }),
        svg('text', { class: 'access-name', x: cx, y: cy + 4, 'text-anchor': 'middle' }, l.acc.filter((a) => a.e === i).map((a) => 'AB'[a.side]).join('')));
    } else mark.append(svg('circle', { class: 'dot', cx, cy, r: 6 }));
    if (e.l >= 0) {
      mark.append(svg('text', { class: 'name' + (sideOfEvent.has(i) ? ' strong' : ''), x: cx, y: cy - 16, 'text-anchor': 'middle' }, label(e)),
        svg('text', { class: 'sub', x: cx, y: cy + 24, 'text-anchor': 'middle' }, sub(e).join(' ')));
      if (e.gap) mark.append(svg('text', { class: 'fold', x: cx - step / 2, y: cy - 4, 'text-anchor': 'middle' }, '⋯'));
    }
    front.push(mark);
  });
  back.push(cutShade(l, cut, x, y, width, height));
  return svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': cutText(f, cut), class: 'drawing' }, back, middle, front);
}

// cutShade draws the cut: between the last event of each line that is in it and
// the first that is not.
function cutShade(l, cut, x, y, width, height) {
  const points = l.lines.map((_, n) => {
    const mine = l.events.map((e, i) => i).filter((i) => l.events[i].l === n);
    const inside = mine.filter((i) => cut.has[i]), outside = mine.filter((i) => !cut.has[i]);
    const left = inside.length > 0 ? x(l.events[inside[inside.length - 1]]) : eventLeft - 14;
    const right = outside.length > 0 ? x(l.events[outside[0]]) : width - 8;
    return [Math.min((left + right) / 2, left + 40), y(n)];
  });
  const first = points[0], last = points[points.length - 1];
  const line = [[first[0], 6], ...points, [last[0], height - 6]].map((p) => p.join(',')).join(' ');
  return [svg('polygon', { class: 'cut-past', points: `0,6 ${line} 0,${height - 6}` }), svg('polyline', { class: 'cut', points: line })];
}
