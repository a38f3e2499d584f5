/** All French texts. Each view's texts are in a file of their own, so that two people can add views at the same time. */
import frame from './fr/frame.js';
import start from './fr/start.js';
import problems from './fr/problems.js';
import space from './fr/space.js';
import history from './fr/history.js';
import told from './fr/told.js';
import operate from './fr/operate.js';
import search from './fr/search.js';

export default { ...frame, ...start, ...problems, ...space, ...history, ...told, ...operate, ...search };
