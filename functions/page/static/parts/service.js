/** What the service itself says and needs: its health, how agents connect, and a new space. */
import { get, post } from '../core/api.js';
import { duration } from '../core/format.js';
import { useAction, useLive } from '../core/live.js';
import { go, href } from '../core/router.js';
import { tabStorage } from '../core/storage.js';
import { makeStore, useStore } from '../core/store.js';
import { has, t } from '../core/texts.js';
import { Badge, Copy, ProblemNote, Words } from './basic.js';
import { Field, useDraft } from './field.js';
import { html, useEffect } from '../vendor/preact.js';

export function Connect({ space }) {
  return html`<ol class="connect">
    <li><p>${t('connect.install')}</p><${Copy} text="pipx install ." /></li>
    <li><p>${t('connect.login')}</p><${Copy} text=${`livemem login --url ${location.origin} --space ${space}`} /></li>
    <li><p>${t('connect.init')}</p><${Copy} text="livemem init claude-code" /><p class="quiet">${t('connect.others')}</p></li>
  </ol>`;
}

const TONES = { ok: 'good', degraded: 'warn', error: 'bad' };
const GOOD = new Set(['ok', 'none', 'configured', 'embeddings offline']);

export const HealthBadge = ({ status }) => html`<${Badge} tone=${TONES[status] ?? ''}>${t(`health.${status}`)}</${Badge}>`;

export function HealthLine({ health }) {
  const spaces = health.spaces ?? [];
  return html`<p class="health-line"><${HealthBadge} status=${health.status} />
    ${spaces.length > 0 && html`<span>${t('health.spaces', { n: spaces.length })}</span>`}
    <a href=${href('operate')}>${t('health.more')}</a></p>`;
}

const WITHOUT_MODEL = 'livemem.without_model';
/** Whether fixed rules take the place of a language model. A tab asks the health once: it looks at all spaces. */
const withoutModel = makeStore(tabStorage.get(WITHOUT_MODEL));

/** Says that there is no language model, with the one command that changes it. `health`: where it was asked for anyway. */
export function NoModel({ health }) {
  const without = useStore(withoutModel);
  useEffect(() => {
    const take = (told) => {
      withoutModel.set(told.checks.llm === 'offline');
      tabStorage.set(WITHOUT_MODEL, withoutModel.get());
    };
    if (health) take(health);
    else if (without === undefined) get('/v1/health').then(take, () => undefined);
  }, [health]);
  return without ? html`<div class="no-model"><p><b>${t('model.none')}</b> ${t('model.none.what')}</p><${Copy} text="livemem serve --llm claude" /></div>` : null;
}

const isGood = (check, value) => GOOD.has(String(value)) || GOOD.has(`${check} ${value}`);

/** What to do about a value of a check. Texts are by check and value, else by check. */
export function remedy(check, value) {
  if (isGood(check, value)) return undefined;
  return [`remedy.${check}.${value}`, `remedy.${check}`, `remedy.${value}`].find(has);
}

/** A value of a check in words. Names of models, and codes that the page does not know, are shown as they are. */
function valueOf(check, value) {
  if (check.endsWith('_seconds')) return value ? duration(value) : t('value.none');
  const known = [`value.${check}.${value}`, `value.${value}`, `run.error.${value}`].find(has);
  return known ? t(known) : String(value);
}

export function Checks({ health }) {
  const checks = Object.entries(health.checks).filter(([name]) => !name.endsWith('_detail'));
  return html`<table class="data"><tbody>${checks.map(([name, value]) => {
    const bad = remedy(name, value);
    const detail = health.checks[`${name}_detail`];
    return html`<tr key=${name}><th scope="row">${has(`check.${name}`) ? t(`check.${name}`) : name}</th>
      <td><${Badge} tone=${isGood(name, value) ? 'good' : bad ? 'warn' : ''}>${valueOf(name, value)}</${Badge}>
        ${detail && value !== 'offline' && html`<p class="quiet" lang="en"><${Words} text=${String(detail)} /></p>`}${bad && html`<p>${t(bad)}</p>`}</td></tr>`;
  })}</tbody></table>`;
}

export function SpaceProblems({ problems }) {
  return html`<ul class="rows">${problems.map((one, index) => html`<li key=${index}>
    <div class="row"><a href=${href('space', { space: one.space_id })}>${one.space_id}</a> <${Badge} tone="warn" title=${one.code}>${has(`trouble.${one.code}`) ? t(`trouble.${one.code}`) : one.code}</${Badge}></div>
    <p lang="en"><${Words} text=${one.detail} /></p>${has(`remedy.${one.code}`) && html`<p class="quiet">${t(`remedy.${one.code}`)}</p>`}
  </li>`)}</ul>`;
}

export function NewSpace({ close }) {
  const about = useLive('/v1/about');
  const [id, setId, forgetId] = useDraft('space.id');
  const [description, setDescription, forgetDescription] = useDraft('space.description');
  const [template, setTemplate] = useDraft('space.template', t('new.template.name'));
  const [mode, setMode] = useDraft('space.mode', 'auto');
  const [make, making] = useAction(async () => {
    const space = await post('/v1/spaces', { space_id: id.trim(), description, rules_template: template, consolidation_mode: mode });
    forgetId();
    forgetDescription();
    go('space', { space: space.space_id });
  });
  const error = (field) => making.problem?.fieldError?.(field);
  const submit = (event) => {
    event.preventDefault();
    make();
  };
  const templates = about.data?.rules_templates ?? [template];
  return html`<form class="form" onSubmit=${submit}>
    <${Field} label=${t('new.id')} value=${id} onChange=${setId} hint=${t('new.id.hint')} error=${error('space_id')} required=${true} />
    <${Field} label=${t('new.description')} value=${description} onChange=${setDescription} optional=${true} error=${error('description')} />
    <${Field} label=${t('new.template')} value=${template} onChange=${setTemplate} options=${templates.map((name) => [name, name])} />
    <${Field} label=${t('new.mode')} value=${mode} onChange=${setMode} options=${[['auto', t('mode.auto')], ['review', t('mode.review')]]} />
    <${ProblemNote} problem=${making.problem} />
    <div class="actions"><button class="main" disabled=${making.busy || !id.trim()}>${making.busy ? t('working') : t('new.make')}</button>
      <button type="button" onClick=${close}>${t('cancel')}</button></div>
  </form>`;
}
