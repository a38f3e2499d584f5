/** Begins the page. */
import { App } from './app.js';
import { takeCode } from './core/session.js';
import { followAddress, parse, route } from './core/router.js';
import { speak } from './core/texts.js';
import { useColours } from './core/colours.js';
import { h, render } from './vendor/preact.js';

takeCode();
// Also in an open tab, before the router reads the address.
addEventListener('hashchange', takeCode);
useColours();
route.set(parse(location.hash));
followAddress();
await speak();
render(h(App), document.getElementById('page'));
