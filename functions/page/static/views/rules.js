/** The rules: what they say, what new ones would do to the bank, and the change itself. */
import { at, post, put } from '../core/api.js';
import { flat, goes, jobAt, nameIn } from '../core/jobs.js';
import { useAction, useLive } from '../core/live.js';
import { Markdown } from '../core/markdown.js';
import { may } from '../core/session.js';
import { number, t } from '../core/texts.js';
import { Answer, Choice, Facts, Heading, Panel, ProblemNote } from '../parts/basic.js';
import { Diff } from '../parts/diff.js';
import { Field, useDraft } from '../parts/field.js';
import { PlanBody, RunBadge, RunProblem, Steps } from '../parts/records.js';
import { toast } from '../parts/toast.js';
import { html, useState } from '../vendor/preact.js';

function Tried({ space, id }) {
  const live = useLive(jobAt(space, 'consolidation', id), { every: 800 });
  return html`<${Panel} title=${t('rules.by.new')} class="open"><${Answer} live=${live}>${(job) => {
    const run = flat(job);
    return html`<p class="row"><${RunBadge} run=${run} /></p>${goes(run) && html`<${Steps} run=${run} />`}<${RunProblem} run=${run} />
    <${Facts} items=${[[t('fact.tokens'), run.metrics?.llm_tokens_used && number(run.metrics.llm_tokens_used)], [t('fact.notes'), run.metrics?.notes_processed], [t('fact.seconds'), run.metrics?.duration_seconds && t('seconds', { n: number(run.metrics.duration_seconds, { maximumFractionDigits: 1 }) })]]} />
    ${run.plan && html`<${PlanBody} plan=${run.plan} />`}`;
  }}</${Answer}></${Panel}>`;
}

/** What the rules of then made of the same notes. */
function Made({ space, number: n }) {
  const live = useLive(at('spaces', space, 'consolidations', n));
  return html`<${Panel} title=${t('rules.by.then', { n })} class="open"><${Answer} live=${live}>${(change) => html`<${PlanBody} plan=${change} />`}</${Answer}></${Panel}>`;
}

function Edit({ space, rules, refresh }) {
  const changes = useLive(at('spaces', space, 'consolidations'), { query: { limit: 20 } });
  const last = changes.data?.items.find((change) => change.kind === 'consolidation' && !change.undone)?.number;
  const [notes, setNotes] = useState(undefined);
  const chosen = notes ?? (last ? 'last' : 'live');
  const [text, setText, forget] = useDraft(`rules.${space}`, rules);
  const [reason, setReason, forgetReason] = useDraft(`rules.${space}.reason`);
  const [tried, setTried] = useState(undefined);
  const [attempt, trying] = useAction(async () => {
    const of = chosen === 'last' ? last : undefined;
    const { job } = await post(at('spaces', space, 'consolidations'), { dry_run: true, rules: text, notes_of: of });
    setTried({ id: nameIn(job), of });
  });
  const [save, saving] = useAction(async () => {
    const { consolidation: number } = await put(at('spaces', space, 'rules'), { rules: text, reason: reason || undefined });
    forget();
    forgetReason();
    toast({ text: t('rules.saved'), tone: 'good', undo: () => post(at('spaces', space, 'consolidations', number, 'undo')).then(refresh) });
    refresh();
  });
  const changed = text !== rules;
  return html`<${Panel}>
    <${Field} label=${t('rules.text')} rows="22" value=${text} onChange=${setText} class="code" spellcheck=${false} error=${saving.problem?.fieldError?.('rules')} />
    ${changed && html`<${Diff} before=${rules} after=${text} title=${t('rules.difference')} />`}
    <${Field} label=${t('reason')} optional=${true} value=${reason} onChange=${setReason} maxlength="500" />
    <${ProblemNote} problem=${saving.problem ?? trying.problem} />
    <div class="actions"><button class="main" onClick=${save} disabled=${!changed || saving.busy}>${saving.busy ? t('working') : t('rules.save')}</button>
      <button onClick=${attempt} disabled=${trying.busy}>${trying.busy ? t('working') : t('rules.try')}</button>
      ${changed && html`<button class="plain" onClick=${forget}>${t('rules.back')}</button>`}</div>
    ${last && html`<p><${Choice} label=${t('rules.try.notes')} value=${chosen} onChange=${setNotes} options=${[{ value: 'last', label: t('rules.try.last', { n: last }) }, { value: 'live', label: t('rules.try.live') }]} /></p>`}
    <p class="hint">${t('rules.try.what')}</p>
  </${Panel}>
  ${tried && html`<div class=${tried.of ? 'columns half' : ''}>${tried.of && html`<${Made} space=${space} number=${tried.of} />`}<${Tried} key=${tried.id} space=${space} id=${tried.id} /></div>`}`;
}

export default function Rules({ params: { space } }) {
  const live = useLive(at('spaces', space, 'rules'), { every: 30_000 });
  const [show, setShow] = useState('read');
  return html`<${Heading} title=${t('nav.rules')} above=${space}>
      ${may('admin') && html`<${Choice} label=${t('rules.show')} value=${show} onChange=${setShow} options=${[{ value: 'read', label: t('rules.read') }, { value: 'edit', label: t('rules.edit') }]} />`}</${Heading}>
    <p class="lead">${t('rules.lead')}</p>
    <${Answer} live=${live} lines=${8}>${({ rules }) => (show === 'edit' ? html`<${Edit} key=${rules} space=${space} rules=${rules} refresh=${live.refresh} />` : html`<${Panel}><${Markdown} text=${rules} /></${Panel}>`)}</${Answer}>`;
}
