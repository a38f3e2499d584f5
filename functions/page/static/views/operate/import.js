/** A space made of an archive, or of a folder of Markdown files: by the command line, since the store has another address. */
import { t } from '../../core/texts.js';
import { Copy, Panel } from '../../parts/basic.js';
import { html } from '../../vendor/preact.js';

const WAYS = [
  ['import.archive', 'livemem import demo.tar.gz -s demo-imported'],
  ['import.folder', 'livemem import memory-bank/ -s demo-imported'],
];

export function ImportSpace() {
  return html`<${Panel} title=${t('import.title')}><p class="spaced">${t('import.what')}</p>
    <ul class="rows">${WAYS.map(([key, command]) => html`<li key=${key}><p>${t(key)}</p><${Copy} text=${command} /></li>`)}</ul>
    <p class="hint">${t('import.why')}</p></${Panel}>`;
}
