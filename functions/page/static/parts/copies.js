/** Copies of a space: an archive to download, a fork, and the work of making one as it goes on. */
import { at, call, get, post } from '../core/api.js';
import { bytes } from '../core/format.js';
import { useAction } from '../core/live.js';
import { Problem } from '../core/problems.js';
import { go } from '../core/router.js';
import { t } from '../core/texts.js';
import { html, useState } from '../vendor/preact.js';
import { Badge, ProblemNote, Time } from './basic.js';
import { Field, useDraft } from './field.js';

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

/** Ask for an archive until it is there: its making is a job, and each question says when to ask again. */
async function archive(path, tell) {
  for (;;) {
    const { data, headers } = await call('GET', path, { full: true });
    if (data.url) return data;
    if (data.status === 'failed' || data.status === 'cancelled') throw new Problem({ status: 200, code: data.status, detail: t('copies.failed') });
    tell(data);
    await wait(1000 * (Number(headers.get('Retry-After')) || 1));
  }
}

export function Download({ path, label }) {
  const [progress, setProgress] = useState(undefined);
  const [made, setMade] = useState(undefined);
  const [ask, asking] = useAction(async () => {
    setMade(undefined);
    setMade(await archive(path, setProgress));
    setProgress(undefined);
  });
  return html`<div class="download">
    ${made ? html`<a class="button" href=${made.url} download rel="noopener noreferrer">${t('copies.download')} ${made.size ? `(${bytes(made.size)})` : ''}</a>` : html`<button onClick=${ask} disabled=${asking.busy}>${asking.busy ? t('working') : label}</button>`}
    ${asking.busy && progress?.total > 0 && html`<progress value=${progress.done} max=${progress.total} aria-label=${label}></progress>`}
    ${made && html`<small>${t('copies.until')} <${Time} at=${made.expires_at} /></small>`}
    <${ProblemNote} problem=${asking.problem} />
  </div>`;
}

/** A restore, fork or import until it has ended. Gives the last answer. */
export async function followProvisioning(space, answer, tell) {
  let present = answer;
  while (present.status === 'queued' || present.status === 'running') {
    tell?.(present);
    await wait(1000);
    present = await get(at('spaces', space, 'provisioning'));
  }
  return present;
}

/** What the making of another space came to. */
export const Provisioned = ({ made }) => made && html`<p><${Badge} tone=${made.status === 'done' ? 'good' : made.status === 'failed' ? 'bad' : 'accent'}>${t(`job.${made.status}`)}</${Badge}> ${made.space_id} ${made.error && made.error.detail}</p>`;

export function ForkForm({ space }) {
  const [target, setTarget, forget] = useDraft(`fork.${space.space_id}`, `${space.space_id}-fork`);
  const [moment, setMoment] = useState('');
  const [made, setMade] = useState(undefined);
  const [fork, forking] = useAction(async () => {
    const body = { target_space_id: target.trim(), at: moment ? Number(moment) : undefined };
    const done = await followProvisioning(body.target_space_id, await post(at('spaces', space.space_id, 'fork'), body), setMade);
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
    <${Field} label=${t('copies.fork.name')} value=${target} onChange=${setTarget} error=${forking.problem?.fieldError?.('target_space_id')} />
    <${Field} label=${t('copies.fork.at')} type="number" min="1" max=${space.changes} value=${moment} onChange=${setMoment} optional=${true} />
    <button disabled=${forking.busy || !target.trim()}>${forking.busy ? t('working') : t('copies.fork')}</button>
    <${Provisioned} made=${made} /><${ProblemNote} problem=${forking.problem} />
  </form>`;
}
