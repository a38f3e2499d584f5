/** Each check of the health with its value and what to do; the spaces that need a look. */
import { useLive } from '../../core/live.js';
import { t } from '../../core/texts.js';
import { Answer, Panel } from '../../parts/basic.js';
import { Checks, HealthBadge, SpaceProblems } from '../../parts/health.js';
import { html } from '../../vendor/preact.js';

const EVERY = 20_000;

export function Health() {
  const live = useLive('/v1/health', { every: EVERY });
  return html`<${Answer} live=${live} lines=${6}>${(health) => html`<div class="columns half">
    <${Panel} title=${t('ops.health')} side=${html`<${HealthBadge} status=${health.status} /> ${health.version}`}><${Checks} health=${health} /></${Panel}>
    <${Panel} title=${t('health.named')}>${health.spaces?.length ? html`<${SpaceProblems} problems=${health.spaces} />` : html`<p class="quiet">${t('health.none')}</p>`}</${Panel}>
  </div>`}</${Answer}>`;
}
