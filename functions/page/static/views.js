/** The views: which module draws which, loaded when it is first opened. */

export const views = {
  start: () => import('./views/start.js'),
  space: () => import('./views/space.js'),
  bank: () => import('./views/bank.js'),
  file: () => import('./views/bank.js'),
  note: () => import('./views/note.js'),
  review: () => import('./views/review.js'),
  run: () => import('./views/run.js'),
  history: () => import('./views/history.js'),
  change: () => import('./views/change.js'),
  then: () => import('./views/then.js'),
  rules: () => import('./views/rules.js'),
  told: () => import('./views/told.js'),
  settings: () => import('./views/settings.js'),
  operate: () => import('./views/operate.js'),
  operatePart: () => import('./views/operate.js'),
  erasure: () => import('./views/erasure.js'),
  search: () => import('./views/search.js'),
};

/** The links of a space, in their order; `views` are those under which the link is marked. A link without a module is left out. */
export const spaceLinks = [
  { name: 'space', text: 'nav.space', views: ['space', 'note', 'review', 'run'] },
  { name: 'bank', text: 'nav.bank', views: ['bank', 'file'] },
  { name: 'history', text: 'nav.history', views: ['history', 'change', 'then'] },
  { name: 'search', text: 'nav.search', views: ['search'] },
  { name: 'memories', text: 'nav.memories', views: ['memories', 'memory'] },
  { name: 'conversations', text: 'nav.conversations', views: ['conversations', 'conversation'] },
  { name: 'rooms', text: 'nav.rooms', views: ['rooms', 'room', 'digest'] },
  { name: 'ask', text: 'nav.ask', views: ['ask'] },
  { name: 'told', text: 'nav.told', views: ['told'] },
  { name: 'rules', text: 'nav.rules', views: ['rules'] },
  { name: 'settings', text: 'nav.settings', views: ['settings', 'erasure'] },
];
