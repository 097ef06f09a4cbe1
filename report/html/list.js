// The list of findings, a tree of problems, and its filters.

const pageOfList = 200; // problems that the list shows at a time

// problems are those with findings that the filters let through, each with these; shown are
// all of these findings in their order, and count is how many problems the list has so far.
const list = { problems: [], shown: [], count: 0, current: -1 };

// haystack is all the text of a finding, for the search.
function haystack(f) {
  if (f.haystack === undefined) {
    const parts = [data.rules[f.rule].id, text(f.sev), text(f.msg), text(f.why), text(f.mem), text(f.acc)];
    for (const s of f.sides) {
      parts.push(text(s.at), text(s.what), text(s.span));
      for (const i of data.stacks[s.stack]) parts.push(text(data.frames[i].fn), text(data.frames[i].at));
    }
    f.haystack = parts.join('\n').toLowerCase();
  }
  return f.haystack;
}

function severityOf(f) {
  return f.acc ? 'accepted' : text(f.sev);
}

// windowOf names a window by what findings have of it.
function windowOf(w) {
  return w ? text(data.windows[w - 1].name) : 'no window';
}

// setUpFilters fills the choices, each with the number of its findings.
function setUpFilters() {
  if (data.findings.length === 0) {
    byId('filters').hidden = true;
    byId('finding').replaceChildren(h('p', { class: 'hint' }, 'There is nothing to choose from.'));
  }
  choices('rule', 'any rule', countBy((f) => [data.rules[f.rule].id]));
  choices('severity', 'any severity', countBy((f) => [severityOf(f)]));
  const windows = countBy((f) => [f.win]);
  choices('window', 'any window', windows, windowOf);
  const files = countBy((f) => new Set(f.sides.filter((s) => s.file > 0).map((s) => s.file)));
  choices('file', 'any file', files, (i) => text(data.files[i - 1].name));
  const form = byId('filters');
  form.addEventListener('input', applyFilters);
  form.addEventListener('reset', () => setTimeout(applyFilters));
  form.addEventListener('submit', (event) => event.preventDefault());
  byId('more').addEventListener('click', () => {
    const first = list.count;
    showMore();
    byId('list').children[first].firstChild.focus();
  });
}

function countBy(keys) {
  const counts = new Map();
  for (const f of data.findings) for (const key of keys(f)) counts.set(key, (counts.get(key) || 0) + 1);
  return counts;
}

function choices(name, any, counts, label = String) {
  const select = byId('filter-' + name);
  select.append(h('option', { value: '' }, any));
  const options = [...counts].map(([key, n]) => [label(key), key, n]);
  options.sort((a, b) => a[0].localeCompare(b[0], 'en', { numeric: true }));
  for (const [title, key, n] of options) select.append(h('option', { value: String(key) }, `${title} (${n.toLocaleString('en')})`));
}

function filterValue(name) {
  return byId('filter-' + name).value.trim();
}

// setFilters sets the filters to what is given, and clears the others.
function setFilters(values) {
  for (const name of ['text', 'rule', 'severity', 'window', 'file', 'rank']) byId('filter-' + name).value = values[name] === undefined ? '' : String(values[name]);
  applyFilters();
}

// matcher returns the test that the filters stand for.
function matcher() {
  const words = filterValue('text').toLowerCase().split(/\s+/).filter((w) => w !== '');
  const rule = filterValue('rule'), severity = filterValue('severity'), file = filterValue('file'), window = filterValue('window');
  const wanted = ranksIn(filterValue('rank'));
  return (f) =>
    (rule === '' || data.rules[f.rule].id === rule) &&
    (severity === '' || severityOf(f) === severity) &&
    (window === '' || String(f.win) === window) &&
    (file === '' || f.sides.some((s) => String(s.file) === file)) &&
    (wanted.length === 0 || ranksIn(text(f.ranks)).some(([lo, hi]) => wanted.some(([a, b]) => a <= hi && lo <= b))) &&
    words.every((w) => haystack(f).includes(w));
}

function applyFilters() {
  const matches = matcher();
  const accepted = data.findings.map((f, i) => [i]).filter(([i]) => data.findings[i].acc !== 0);
  list.problems = data.problems.concat(accepted).map((p) => p.filter((i) => matches(data.findings[i]))).filter((p) => p.length > 0);
  list.shown = list.problems.flat();
  list.count = 0;
  byId('list').replaceChildren();
  showMore();
  const all = data.findings.length;
  const problems = list.problems.length < list.shown.length ? ' in ' + plural(list.problems.length, 'problem') : '';
  byId('filter-count').textContent = (list.shown.length === all
    ? plural(all, 'finding')
    : `${list.shown.length.toLocaleString('en')} of ${plural(all, 'finding')}`) + problems;
}

function showMore() {
  const next = list.problems.slice(list.count, list.count + pageOfList);
  byId('list').append(...next.map(problemEntry));
  list.count += next.length;
  const rest = list.problems.length - list.count;
  byId('more').hidden = rest === 0;
  byId('more').textContent = `Show ${plural(Math.min(rest, pageOfList), 'more problem')} of ${rest.toLocaleString('en')}`;
}

// problemEntry is a problem with its findings: the first of them, and the others below it.
function problemEntry([first, ...others]) {
  return h('li', {}, findingEntry(first), others.length > 0 && h('details', {},
    h('summary', {}, plural(others.length, 'more finding') + ' of the same problem'),
    h('ol', {}, others.map((i) => h('li', {}, findingEntry(i))))));
}

function findingEntry(i) {
  const f = data.findings[i];
  return h('a', { href: '#finding-' + (i + 1), 'aria-current': i === list.current ? 'true' : false, 'data-finding': i },
    h('span', { class: 'head' }, badge(f), h('span', { class: 'rule' }, data.rules[f.rule].id), h('span', { class: 'number' }, '#' + (i + 1))),
    h('span', { class: 'message' }, text(f.msg)),
    h('span', { class: 'places' }, f.sides.map((s) => shortPlace(text(s.at))).join(' ↔ ')));
}

// shortPlace leaves the folders out.
function shortPlace(place) {
  return place.includes(':') ? place.slice(place.lastIndexOf('/') + 1) : place;
}

const signs = { error: '✖', warning: '▲', note: '●', accepted: '✓' };

function badge(f) {
  const s = severityOf(f);
  return h('span', { class: 'badge ' + s }, h('span', { 'aria-hidden': 'true' }, signs[s] + ' '), s);
}

// markCurrent marks the finding that is open in the list.
function markCurrent(i) {
  list.current = i;
  for (const a of document.querySelectorAll('#list a')) {
    if (Number(a.dataset.finding) === i) {
      a.setAttribute('aria-current', 'true');
      const others = a.closest('#list details');
      if (others) others.open = true;
      a.scrollIntoView({ block: 'nearest' });
    } else a.removeAttribute('aria-current');
  }
}

// neighbour returns the finding that many places further in the list.
function neighbour(step) {
  const at = list.shown.indexOf(list.current);
  if (at < 0) return list.shown.length > 0 ? list.shown[step > 0 ? 0 : list.shown.length - 1] : -1;
  const i = at + step;
  return i >= 0 && i < list.shown.length ? list.shown[i] : -1;
}
