/** Copies of a space: an archive to download, a fork, and the work of making one as it goes on. */
import { at, get, post } from '../core/api.js';
import { bytes } from '../core/format.js';
import { useAction } from '../core/live.js';
import { Problem } from '../core/problems.js';
import { go } from '../core/router.js';
import { t } from '../core/texts.js';
import { html, useState } from '../vendor/preact.js';
import { Badge, ProblemNote, Time } from './basic.js';
import { Field, useDraft } from './field.js';

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

/** A job until it has ended. Gives it as it is then. */
export async function followJob(begun, tell) {
  let job = begun;
  while (job.status === 'queued' || job.status === 'running') {
    tell?.(job);
    await wait(1000);
    job = await get(at('jobs', job.job));
  }
  return job;
}

/** A new space that comes from something; the ended job. */
export const copySpace = async (space, from, tell, more = {}) => followJob(await post('/v1/spaces', { space_id: space, from, ...more }), tell);

export function Download({ space, backup, label }) {
  const [progress, setProgress] = useState(undefined);
  const [made, setMade] = useState(undefined);
  const [ask, asking] = useAction(async () => {
    setMade(undefined);
    const job = await followJob(await post(at('spaces', space, 'exports'), { backup_id: backup }), (going) => setProgress(going.progress));
    if (job.status !== 'done') throw new Problem({ status: 200, code: job.error?.code ?? job.status, detail: job.error?.detail ?? t('copies.failed') });
    setMade(job.result);
    setProgress(undefined);
  });
  return html`<div class="download">
    ${made ? made.archives.map((one) => html`<a key=${one.url} class="button" href=${one.url} download rel="noopener noreferrer">${t('copies.download')} (${bytes(one.bytes)})</a>`) : html`<button onClick=${ask} disabled=${asking.busy}>${asking.busy ? t('working') : label}</button>`}
    ${asking.busy && progress?.total > 0 && html`<progress value=${progress.done} max=${progress.total} aria-label=${label}></progress>`}
    ${made && html`<small>${t('copies.until')} <${Time} at=${made.expires_at} /></small>`}
    <${ProblemNote} problem=${asking.problem} />
  </div>`;
}

/** What the making of another space came to. */
export const Provisioned = ({ made }) => made && html`<p><${Badge} tone=${made.status === 'done' ? 'good' : made.status === 'failed' ? 'bad' : 'accent'}>${t(`job.${made.status}`)}</${Badge}> ${made.space_id} ${made.error && made.error.detail}</p>`;

export function ForkForm({ space }) {
  const [target, setTarget, forget] = useDraft(`fork.${space.space_id}`, `${space.space_id}-fork`);
  const [moment, setMoment] = useState('');
  const [made, setMade] = useState(undefined);
  const [fork, forking] = useAction(async () => {
    const done = await copySpace(target.trim(), { space: space.space_id, at: moment ? Number(moment) : undefined }, setMade);
    setMade(done);
    if (done.status !== 'done') return;
    forget();
    go('space', { space: done.space_id });
  });
  const submit = (event) => {
    event.preventDefault();
    fork();
  };
  return html`<form class="inline-form" onSubmit=${submit}>
    <${Field} label=${t('copies.fork.name')} value=${target} onChange=${setTarget} error=${forking.problem?.fieldError?.('space_id')} />
    <${Field} label=${t('copies.fork.at')} type="number" min="1" max=${space.changes} value=${moment} onChange=${setMoment} optional=${true} />
    <button disabled=${forking.busy || !target.trim()}>${forking.busy ? t('working') : t('copies.fork')}</button>
    <${Provisioned} made=${made} /><${ProblemNote} problem=${forking.problem} />
  </form>`;
}
