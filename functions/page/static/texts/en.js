/** All English texts. Views that are built by themselves have a file of their own. */
import frame from './en/frame.js';
import space from './en/space.js';
import operate from './en/operate.js';
import search from './en/search.js';
import recall from './en/recall.js';

export default { ...frame, ...space, ...operate, ...search, ...recall };
