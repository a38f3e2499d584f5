/** Whether the service is well: one line, or each check with what to do. */
import { href } from '../core/router.js';
import { has, t } from '../core/texts.js';
import { html } from '../vendor/preact.js';
import { Badge, Words } from './basic.js';

const TONES = { ok: 'good', degraded: 'warn', error: 'bad' };
const GOOD = new Set(['ok', 'offline', 'none', 'configured', 'supported', 'reachable']);

export const HealthBadge = ({ status }) => html`<${Badge} tone=${TONES[status] ?? ''}>${t(`health.${status}`)}</${Badge}>`;

export function HealthLine({ health }) {
  const spaces = health.spaces ?? [];
  return html`<p class="health-line"><${HealthBadge} status=${health.status} />
    ${spaces.length > 0 && html`<span>${t('health.spaces', { n: spaces.length })}</span>`}
    <a href=${href('operate')}>${t('health.more')}</a></p>`;
}

/** What to do about a value of a check. Texts are by check and value, else by check. */
export function remedy(check, value) {
  if (GOOD.has(String(value))) return undefined;
  return [`remedy.${check}.${value}`, `remedy.${check}`, `remedy.${value}`].find(has);
}

export function Checks({ health }) {
  const checks = Object.entries(health.checks).filter(([name]) => !name.endsWith('_detail'));
  return html`<table class="data"><tbody>${checks.map(([name, value]) => {
    const bad = remedy(name, value);
    const detail = health.checks[`${name}_detail`];
    return html`<tr key=${name}><th scope="row">${has(`check.${name}`) ? t(`check.${name}`) : name}</th>
      <td><${Badge} tone=${GOOD.has(String(value)) ? 'good' : bad ? 'warn' : ''}>${String(value)}</${Badge}>
        ${detail && html`<p class="quiet"><${Words} text=${String(detail)} /></p>`}${bad && html`<p>${t(bad)}</p>`}</td></tr>`;
  })}</tbody></table>`;
}

export function SpaceProblems({ problems }) {
  return html`<ul class="rows">${problems.map((one, index) => html`<li key=${index}>
    <div class="row"><a href=${href('space', { space: one.space_id })}>${one.space_id}</a> <${Badge} tone="warn">${one.code}</${Badge}></div>
    <p><${Words} text=${one.detail} /></p>${has(`remedy.${one.code}`) && html`<p class="quiet">${t(`remedy.${one.code}`)}</p>`}
  </li>`)}</ul>`;
}
