/** Old live notes and orphans: first what there is, then what to do with it. */
import { post } from '../../core/api.js';
import { useAction } from '../../core/live.js';
import { href } from '../../core/router.js';
import { has, number, t } from '../../core/texts.js';
import { Facts, Panel, ProblemNote, Time } from '../../parts/basic.js';
import { confirm } from '../../parts/dialog.js';
import { Field, Tick } from '../../parts/field.js';
import { html, useState } from '../../vendor/preact.js';

function Report({ report }) {
  return html`<${Facts} items=${['looked_at', 'old_notes', 'runs_started', 'moved', 'runs_removed', 'orphans', 'backups_removed', 'exports_removed'].map((name) => [t(`garbage.${name}`), report[name] !== undefined && number(report[name])])} />
    <ul class="rows tight">${report.spaces.map((space) => html`<li key=${space.space_id} class="row"><a class="grow" href=${href('space', { space: space.space_id })}>${space.space_id}</a><span>${t('start.notes', { n: space.old_notes })}</span>${space.oldest && html`<span class="quiet"><${Time} at=${space.oldest} /></span>`}<span>${has(`garbage.action.${space.action}`) ? t(`garbage.action.${space.action}`) : space.action}</span></li>`)}</ul>
    ${report.failed.length > 0 && html`<p>${t('garbage.failed', { n: report.failed.length })}</p>`}${report.more && html`<p class="quiet">${t('garbage.more')}</p>`}`;
}

export function Garbage() {
  const [days, setDays] = useState('30');
  const [only, setOnly] = useState(false);
  const [report, setReport] = useState(undefined);
  const body = { max_age_days: Number(days) || 30, delete_only: only };
  const [look, looking] = useAction(async () => setReport(await post('/v1/admin/gc', { ...body, dry_run: true })));
  const collect = async () => {
    const done = await confirm({ title: t('garbage.title'), body: html`<p>${only ? t('garbage.what.move') : t('garbage.what.run')}</p>`, yes: t('garbage.yes'), act: () => post('/v1/admin/gc', { ...body, dry_run: false }) });
    if (done) setReport(done);
  };
  return html`<${Panel} title=${t('ops.garbage')}><p class="spaced">${t('garbage.what')}</p>
    <div class="inline-form"><${Field} label=${t('garbage.days')} type="number" min="1" value=${days} onChange=${setDays} />
      <${Tick} label=${t('garbage.only')} checked=${only} onChange=${setOnly} />
      <button onClick=${look} disabled=${looking.busy}>${looking.busy ? t('working') : t('garbage.look')}</button>
      ${report?.dry_run && html`<button class="main" onClick=${collect}>${t('garbage.yes')}</button>`}</div>
    <${ProblemNote} problem=${looking.problem} />
    ${report && html`<h3 class="spaced">${report.dry_run ? t('garbage.would') : t('garbage.did')}</h3><${Report} report=${report} />`}</${Panel}>`;
}
