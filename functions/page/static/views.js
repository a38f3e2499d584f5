/** The views: which module draws which, loaded when it is first opened. */

/** One view of a module that has several. */
const named = async (module, name) => ({ default: (await module)[name] });

export const views = {
  start: () => import('./views/start.js'),
  space: () => import('./views/space.js'),
  bank: () => import('./views/bank.js'),
  file: () => import('./views/bank.js'),
  note: () => import('./views/note.js'),
  review: () => named(import('./views/runs.js'), 'Review'),
  run: () => named(import('./views/runs.js'), 'Run'),
  history: () => named(import('./views/history.js'), 'History'),
  change: () => named(import('./views/history.js'), 'Change'),
  then: () => named(import('./views/history.js'), 'Then'),
  rules: () => import('./views/rules.js'),
  told: () => import('./views/told.js'),
  settings: () => named(import('./views/settings.js'), 'Settings'),
  operate: () => import('./views/operate.js'),
  operatePart: () => import('./views/operate.js'),
  erasure: () => named(import('./views/settings.js'), 'Erasure'),
  search: () => import('./views/search.js'),
  conversations: () => named(import('./views/conversations.js'), 'Conversations'),
  conversation: () => named(import('./views/conversations.js'), 'Conversation'),
  memories: () => named(import('./views/memories.js'), 'Memories'),
  memory: () => named(import('./views/memories.js'), 'Memory'),
  rooms: () => named(import('./views/rooms.js'), 'Rooms'),
  room: () => named(import('./views/rooms.js'), 'Room'),
  digest: () => named(import('./views/rooms.js'), 'Digest'),
  ask: () => import('./views/ask.js'),
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
