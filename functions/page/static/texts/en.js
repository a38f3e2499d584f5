/** All English texts. Each view's texts are in a file of their own, so that two people can add views at the same time. */
import frame from './en/frame.js';
import start from './en/start.js';
import problems from './en/problems.js';
import space from './en/space.js';
import history from './en/history.js';
import told from './en/told.js';
import operate from './en/operate.js';
import search from './en/search.js';

export default { ...frame, ...start, ...problems, ...space, ...history, ...told, ...operate, ...search };
