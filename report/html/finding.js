// The page of one finding.

function showFinding(i) {
  const f = data.findings[i];
  const rule = data.rules[f.rule];
  const article = byId('finding');
  article.setAttribute('aria-labelledby', 'finding-title');
  article.replaceChildren(...[
    h('p', { class: 'head' }, badge(f), h('span', { class: 'rule' }, rule.id), h('span', { class: 'number' }, `finding ${i + 1} of ${data.findings.length.toLocaleString('en')}`)),
    h('h3', { id: 'finding-title', tabindex: '-1' }, text(f.msg)),
    f.acc !== 0 && h('p', { class: 'accepted' }, text(f.acc)),
    h('p', { class: 'why' }, text(f.why)),
    factsOf(f),
    othersOf(f, i),
    h('div', { class: 'both' }, f.sides.map((s, n) => sideOf(f, s, n))),
    h('div', { class: 'columns' },
      f.sought.length > 0 && section('What would have ordered them, and what there was', h('ul', { class: 'sought' }, f.sought.map((q) => h('li', {}, text(q.text))))),
      f.fixes.length > 0 && section('What fixes it', h('ol', { class: 'fixes' }, f.fixes.map((m) => h('li', {}, text(m.text)))),
        f.fixes.length > 1 && h('p', {}, 'Each of these fixes the finding on its own. Where they differ in which value remains, they say so.'))),
    section('The processes', laneDrawing(f)),
    section('The events around it', f.events ? latticeView(f) : eventsElsewhere(f, i)),
    ruleText(rule),
  ].filter(Boolean));
}

const mostOthers = 20; // findings of a problem that the page of one of them names

// othersOf names the other findings of the same problem.
function othersOf(f, i) {
  const others = f.problem.filter((k) => k !== i);
  if (others.length === 0) return null;
  return section('Of the same problem', h('ul', {},
    others.slice(0, mostOthers).map((k) => h('li', {}, h('a', { href: '#finding-' + (k + 1) }, '#' + (k + 1)), ' ', text(data.findings[k].msg), ', ',
      h('span', { class: 'place' }, data.findings[k].sides.map((s) => shortPlace(text(s.at))).join(' ↔ ')))),
    others.length > mostOthers && h('li', {}, `and ${(others.length - mostOthers).toLocaleString('en')} more, in the list`)));
}

function section(title, ...content) {
  return h('section', {}, h('h4', {}, title), content);
}

function factsOf(f) {
  const facts = [];
  const map = f.win && !data.missing ? [' (', h('a', { href: '#' + windowId(f.win - 1) }, 'map'), ')'] : [];
  if (f.mem) facts.push(['memory', [text(f.mem), map]]);
  else if (f.win) facts.push(['window', [windowOf(f.win), map]]);
  if (f.seen) facts.push(['seen', text(f.seen)]);
  facts.push(['concurrent region', String(f.region)], ['fingerprint', f.print]);
  return h('dl', { class: 'facts' }, facts.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));
}

function sideOf(f, s, n) {
  return h('section', { class: 'side side' + n, 'aria-label': `Access ${'AB'[n]}` },
    h('h4', {}, h('span', { class: 'letter side' + n }, 'AB'[n]), ' ', text(s.what)),
    h('p', { class: 'place' }, text(s.at)),
    sourceOf(s),
    h('p', {}, text(s.span)),
    h('h5', {}, 'Call stack'),
    data.stacks[s.stack].length === 0 ? h('p', {}, 'not known') : h('ol', { class: 'stack' }, data.stacks[s.stack].map((i) => frameOf(data.frames[i]))));
}

function frameOf(frame) {
  const fn = text(frame.fn), at = text(frame.at);
  return h('li', {}, fn !== '' && !at.startsWith(fn + ' (') && [h('span', { class: 'fn' }, fn), ' '], h('span', { class: 'place' }, at),
    frame.inl === 1 && ' (inlined)', frame.why !== 0 && ` – no line: ${text(frame.why)}`);
}

// sourceOf shows the line of an access with some around it, and a caret.
function sourceOf(s) {
  const lines = s.file ? data.files[s.file - 1].lines || {} : {};
  if (lines[s.line] === undefined) return h('p', { class: 'nosource' }, 'The source is not available.');
  const numbers = Object.keys(lines).map(Number).filter((n) => Math.abs(n - s.line) <= 2).sort((a, b) => a - b);
  const width = String(numbers[numbers.length - 1]).length;
  const rows = [];
  for (const n of numbers) {
    const row = String(n).padStart(width) + ' │ ' + lines[n];
    rows.push(n === s.line ? h('strong', {}, row) : row, '\n');
    if (n === s.line && s.caret) rows.push(h('span', { class: 'caret', 'aria-hidden': 'true' }, ' '.repeat(width) + ' │ ' + ' '.repeat(s.caret - 1) + '^'), '\n');
  }
  return h('pre', { class: 'source', tabindex: '0', 'aria-label': `Source around line ${s.line}` }, h('code', {}, rows));
}

function ruleText(rule) {
  return h('details', { class: 'rule-text' }, h('summary', {}, `${rule.id}: ${rule.title}`),
    rule.text.split('\n\n').map((p) => h('p', {}, p)), rule.fix && h('p', {}, rule.fix),
    h('p', {}, 'More, with an example: ', h('code', {}, 'mcchk explain ' + rule.id)));
}
