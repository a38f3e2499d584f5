/** The three commands that connect an agent to this service. */
import { t } from '../core/texts.js';
import { html } from '../vendor/preact.js';
import { Copy } from './basic.js';

export function Connect({ space }) {
  return html`<ol class="connect">
    <li><p>${t('connect.install')}</p><${Copy} text="pipx install live-memory" /></li>
    <li><p>${t('connect.login')}</p><${Copy} text=${`livemem login --url ${location.origin} --space ${space}`} /></li>
    <li><p>${t('connect.init')}</p><${Copy} text="livemem init claude-code" /><p class="quiet">${t('connect.others')}</p></li>
  </ol>`;
}
