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

/** The links of a space, in their order; `views` are those under which the link is marked. Those behind `more` stand under *More*. */
export const spaceLinks = [
  { name: 'space', views: ['space', 'note', 'review', 'run'] },
  { name: 'search', views: ['search'] },
  { name: 'conversations', views: ['conversations', 'conversation'] },
  { name: 'ask', views: ['ask'] },
];
export const more = [
  { name: 'told', views: ['told'] },
  { name: 'history', views: ['history', 'change', 'then'] },
  { name: 'bank', views: ['bank', 'file'] },
  { name: 'memories', views: ['memories', 'memory'] },
  { name: 'rooms', views: ['rooms', 'room', 'digest'] },
  { name: 'rules', views: ['rules'] },
  { name: 'settings', views: ['settings', 'erasure'] },
];
