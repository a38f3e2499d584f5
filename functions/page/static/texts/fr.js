/** All French texts. Views that are built by themselves have a file of their own. */
import frame from './fr/frame.js';
import space from './fr/space.js';
import operate from './fr/operate.js';
import search from './fr/search.js';
import recall from './fr/recall.js';

export default { ...frame, ...space, ...operate, ...search, ...recall };
