/** Begins the page. */
import { App } from './app.js';
import { takeCode } from './core/session.js';
import { followAddress, parse, route } from './core/router.js';
import { speak } from './core/texts.js';
import { useColours } from './core/colours.js';
import { h, render } from './vendor/preact.js';

const code = takeCode();
useColours();
route.set(parse(location.hash));
followAddress();
await speak();
render(h(App, { code }), document.getElementById('page'));
