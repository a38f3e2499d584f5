/** What a space is set to, its copies, its receipts of erasures, and its end. */
import { at, patch, remove } from '../core/api.js';
import { useAction, useLive } from '../core/live.js';
import { usePages } from '../core/pages.js';
import { go, href } from '../core/router.js';
import { may } from '../core/session.js';
import { has, number, t } from '../core/texts.js';
import { Answer, Badge, Copy, Empty, Facts, Heading, Panel, ProblemNote, Time, Words } from '../parts/basic.js';
import { Download, ForkForm } from '../parts/copies.js';
import { confirm } from '../parts/dialog.js';
import { placeName } from '../parts/erasing.js';
import { Field, Tick } from '../parts/field.js';
import { PagedList } from '../parts/list.js';
import { toast } from '../parts/toast.js';
import { html, useState } from '../vendor/preact.js';

/** An empty language or zone is taken away by null; a description may be empty. */
const sentAs = (name, value) => (value === '' && name !== 'description' ? null : value);
const changedFields = (before, now) => Object.fromEntries(Object.entries(now).flatMap(([name, value]) => ((before[name] ?? '') === value ? [] : [[name, sentAs(name, value)]])));

function Form({ space, refresh }) {
  const admin = may('admin');
  const [form, setForm] = useState({
    description: space.description, consolidation_threshold: space.consolidation_threshold, bank_chars: space.bank_chars, timezone: space.timezone ?? '', language: space.language ?? '',
    consolidation_mode: space.consolidation_mode ?? 'auto', corrections: space.corrections, capture_allowed: space.capture_allowed ?? true, agent_folds: space.agent_folds ?? false, auto_paused: space.auto_paused, tidy_paused: space.tidy_paused ?? false,
  });
  const set = (name) => (value) => setForm({ ...form, [name]: value });
  const [save, saving] = useAction(async () => {
    const changes = changedFields(space, { ...form, consolidation_threshold: Number(form.consolidation_threshold), bank_chars: Number(form.bank_chars) });
    if (!Object.keys(changes).length) return;
    const answer = await patch(at('spaces', space.space_id), changes);
    toast({ text: t('settings.saved'), tone: 'good', link: answer.started_run && { href: href('run', { space: space.space_id, run: answer.started_run }), label: t('run.one') } });
    refresh();
  });
  const error = (field) => saving.problem?.fieldError?.(field);
  const submit = (event) => {
    event.preventDefault();
    save();
  };
  return html`<form class="form" onSubmit=${submit}>
    <${Field} label=${t('new.description')} value=${form.description} onChange=${set('description')} error=${error('description')} />
    <${Field} label=${t('settings.threshold')} type="number" min="0" value=${String(form.consolidation_threshold)} onChange=${set('consolidation_threshold')} error=${error('consolidation_threshold')} hint=${t('settings.threshold.hint')} />
    <${Field} label=${t('settings.length')} type="number" min="0" max="500000" value=${String(form.bank_chars)} onChange=${set('bank_chars')} error=${error('bank_chars')} hint=${t('settings.length.hint')} />
    <${Field} label=${t('settings.timezone')} value=${form.timezone} onChange=${set('timezone')} error=${error('timezone')} placeholder="Europe/Paris" hint=${t('settings.timezone.hint')} />
    <${Field} label=${t('settings.language')} value=${form.language} onChange=${set('language')} error=${error('language')} placeholder="fr" hint=${t('settings.language.hint')} />
    <${Tick} label=${t('settings.paused')} checked=${form.auto_paused} onChange=${set('auto_paused')} />
    <${Tick} label=${t('settings.paused.tidy')} checked=${form.tidy_paused} onChange=${set('tidy_paused')} />
    ${admin && html`<${Field} label=${t('new.mode')} value=${form.consolidation_mode} onChange=${set('consolidation_mode')} options=${[['auto', t('mode.auto')], ['review', t('mode.review')]]} />
      <${Field} label=${t('settings.corrections')} value=${form.corrections} onChange=${set('corrections')} options=${[['admin', t('settings.corrections.admin')], ['write', t('settings.corrections.write')]]} />
      <${Tick} label=${t('settings.capture')} checked=${form.capture_allowed} onChange=${set('capture_allowed')} />
      <${Tick} label=${t('settings.agents')} checked=${form.agent_folds} onChange=${set('agent_folds')} />`}
    <${ProblemNote} problem=${saving.problem} />
    <div class="actions"><button class="main" disabled=${saving.busy}>${saving.busy ? t('working') : t('settings.save')}</button></div>
  </form>`;
}

function Receipts({ space }) {
  const list = usePages('/v1/jobs', { idOf: (job) => job.job, query: { space_id: space, kind: 'erasure' }, every: 10_000 });
  return html`<${Panel} title=${t('erasures.title')}><${PagedList} list=${list} idOf=${(job) => job.job} empty=${html`<${Empty} title=${t('erasures.none')} />`}
    row=${(job) => html`<div class="row"><a class="grow" href=${href('erasure', { space, job: job.job })}><${Time} at=${job.started_at} exact=${true} /></a><span class="quiet">${job.result.requested_by}</span><${Badge} tone=${job.status === 'done' ? 'good' : 'accent'}>${t(`erasure.${job.status}`)}</${Badge}></div>`} /></${Panel}>`;
}

async function end(space) {
  const done = await confirm({
    title: t('space.delete.title', { space }),
    body: html`<p>${t('space.delete.what')}</p>`,
    yes: t('space.delete.yes'),
    grave: true,
    typed: space,
    act: () => remove(at('spaces', space), { confirm: space }),
  });
  if (done) go('start');
}

export function Settings({ params: { space } }) {
  const live = useLive(at('spaces', space));
  return html`<${Heading} title=${t('nav.settings')} above=${space} />
    <${Answer} live=${live} lines=${6}>${(info) => html`<div class="columns half"><div>
      <${Panel} title=${t('nav.settings')}>${may('write') ? html`<${Form} key=${info.version} space=${info} refresh=${live.refresh} />` : html`<p class="quiet">${t('settings.read.only')}</p>`}</${Panel}></div>
      <div><${Panel} title=${t('settings.about')}><${Facts} items=${[
        [t('fact.made'), html`<${Time} at=${info.created_at} exact=${true} />`],
        [t('fact.owner'), info.owner],
        [t('fact.changes'), String(info.changes)],
        [t('fact.notes.all'), String(info.total_notes_processed)],
        [t('fact.uid'), html`<code>${info.uid}</code>`],
      ]} /></${Panel}>
      ${may('admin') && html`<${Panel} title=${t('copies.title')}><p class="spaced">${t('copies.what')} <a href=${href('operatePart', { part: 'backups' }, { space })}>${t('ops.backups')}</a></p><${Download} space=${space} label=${t('copies.export')} /><${ForkForm} space=${info} /></${Panel}>
        <${Receipts} space=${space} />
        <${Panel} title=${t('space.end')}><p class="spaced">${t('space.delete.what')}</p><button class="grave" onClick=${() => end(space)}>${t('space.delete.button')}</button></${Panel}>`}</div></div>`}</${Answer}>`;
}

export function Erasure({ params: { space, job } }) {
  const live = useLive(at('jobs', job), { every: (erasure) => erasure?.status !== 'done' && 1500 });
  return html`<${Heading} title=${t('erasure.title')} above=${html`<a href=${href('settings', { space })}>${space}</a>`} />
    <${Answer} live=${live} lines=${5}>${({ result: receipt, started_at: started, ended_at: ended }) => html`
      <${Panel} title=${t(`erasure.what.${receipt.status}`)} side=${html`<${Badge} tone=${receipt.status === 'done' ? 'good' : 'accent'}>${t(`erasure.${receipt.status}`)}</${Badge}>`}>
        <${Facts} items=${[
          [t('fact.by'), receipt.requested_by],
          [t('erasure.started'), html`<${Time} at=${started} exact=${true} />`],
          [t('fact.ended'), ended && html`<${Time} at=${ended} exact=${true} />`],
          [t('filter.agent'), receipt.agent],
          [t('erasure.ids'), receipt.ids.map((id) => html`<div key=${id}><code>${id}</code></div>`)],
          [t('erasure.versions'), receipt.versions && (has(`versions.${receipt.versions}`) ? t(`versions.${receipt.versions}`) : receipt.versions)],
          [t('erasure.receipt'), html`<${Copy} text=${job} />`],
        ]} /></${Panel}>
      <${Panel} title=${t('erasure.removed')}><table class="data"><tbody>${Object.entries(receipt.counts).map(([name, count]) => html`<tr key=${name}><td>${placeName(name)}</td><td class="right">${number(count)}</td></tr>`)}</tbody></table></${Panel}>
      ${receipt.sections.length > 0 && html`<${Panel} title=${t('erasure.sections', { n: receipt.sections.length })}><p class="spaced">${t('erasure.sections.what')}</p>
        <ul class="rows tight">${receipt.sections.map((one) => html`<li key=${`${one.path} ${one.heading}`}><a href=${href('file', { space, rest: one.path }, { section: one.section.map((line) => line.replace(/^#+ /, '')).join(' > ') })}>${one.path} › <${Words} text=${one.heading.replace(/^#+ /, '')} /></a></li>`)}</ul></${Panel}>`}
      ${receipt.quoted_in.length > 0 && html`<${Panel} title=${t('erasure.quoted')}><ul class="rows tight">${receipt.quoted_in.map((one) => html`<li key=${one}><code>${one}</code></li>`)}</ul></${Panel}>`}
      ${receipt.not_reached.length > 0 && html`<${Panel} title=${t('erasure.not.reached')}><p class="spaced">${t('erasure.not.reached.what')}</p><ul class="rows tight">${receipt.not_reached.map((one) => html`<li key=${one}>${one}</li>`)}</ul></${Panel}>`}`}</${Answer}>`;
}
