// What is shown, by the address, and the keys.

const title = document.title;
const views = ['overview', 'findings', 'windows'];

function showView(name) {
  for (const view of views) byId('view-' + view).hidden = view !== name;
  for (const a of document.querySelectorAll('nav a')) {
    if (a.getAttribute('href') === '#' + name) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
}

let shown = null; // the address of what is shown

// go goes to an address at once: the event that tells of its change comes later.
function go(name) {
  location.hash = name;
  follow();
}

function follow() {
  if (location.hash !== shown) show(true);
}

// show shows what the address names, and takes the focus there unless the page
// has just been opened.
function show(focus) {
  shown = location.hash;
  const name = location.hash.slice(1);
  const match = /^finding-([1-9][0-9]*)$/.exec(name);
  if (match && Number(match[1]) <= data.findings.length) {
    const i = Number(match[1]) - 1;
    showView('findings');
    showFinding(i);
    document.title = `#${i + 1} ${text(data.findings[i].msg)} – ${title}`;
    markCurrent(i);
    byId('finding-title').focus({ preventScroll: true });
    byId('finding').scrollIntoView({ block: 'nearest' });
    return;
  }
  const box = /^window-[0-9]+(-of-run-[0-9]+)?$/.test(name) && byId(name);
  if (box) {
    showView('windows');
    document.title = title;
    box.open = true;
    box.firstChild.focus();
    box.scrollIntoView();
    return;
  }
  if (name === 'main') {
    byId('main').focus();
    return;
  }
  const view = views.includes(name) ? name : 'overview';
  showView(view);
  document.title = title;
  if (view === 'windows' && !document.querySelector('.window[open]')) {
    const first = document.querySelector('.window');
    if (first) first.open = true;
  }
  window.scrollTo(0, 0);
  if (focus) byId(view + '-title').focus();
}

// setUpCounts fills the overview with the number of findings by rule and window.
function setUpCounts() {
  const table = (caption, counts, name, filter) => h('table', {},
    h('caption', {}, caption),
    h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, caption.includes('rule') ? 'rule' : 'window'), h('th', { scope: 'col' }, 'findings'))),
    h('tbody', {}, [...counts].map(([key, n]) => h('tr', {},
      h('td', {}, h('a', { href: '#findings', onclick: () => setFilters(filter(key)) }, name(key))), h('td', { class: 'n' }, n.toLocaleString('en'))))));
  const sorted = (counts) => new Map([...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]));
  if (data.findings.length === 0) return;
  const ruleName = (r) => `${data.rules[r].id}: ${data.rules[r].title}`;
  byId('counts').append(
    table('Findings by rule', sorted(countBy((f) => [f.rule])), ruleName, (r) => ({ rule: data.rules[r].id })),
    table('Findings by window', sorted(countBy((f) => [f.win])), windowOf, (w) => ({ window: w })));
}

let prefix = '';

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const typing = event.target.closest('input, select, textarea');
  if (event.key === 'Escape') {
    if (leave()) event.preventDefault(); // or a search field would clear itself
    return;
  }
  if (typing) return;
  const after = prefix;
  prefix = '';
  if (after === 'g') {
    const view = views.find((v) => v[0] === event.key);
    if (view) {
      go(view);
      event.preventDefault();
    }
    return;
  }
  switch (event.key) {
    case 'g':
      prefix = 'g';
      break;
    case '/':
      go('findings');
      byId('filter-text').focus();
      event.preventDefault();
      break;
    case 'j':
    case 'k': {
      const i = neighbour(event.key === 'j' ? 1 : -1);
      if (i >= 0) go('finding-' + (i + 1));
      event.preventDefault();
    }
  }
}

// leave takes the focus from a finding, or a filter, back to the list. It tells
// whether there is one.
function leave() {
  if (byId('view-findings').hidden) return false;
  const entry = document.querySelector('#list a[aria-current]') || document.querySelector('#list a') || byId('findings-title');
  entry.focus();
  return true;
}

setUpFilters();
setUpCounts();
setUpWindows();
applyFilters();
window.addEventListener('hashchange', follow);
document.addEventListener('keydown', onKey);
show(false);
document.documentElement.dataset.ready = 'true';
