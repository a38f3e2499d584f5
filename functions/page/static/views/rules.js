/** The rules: what they say, what new ones would do to the bank, and the change itself. */
import { at, get, post, put } from '../core/api.js';
import { useAction, useLive } from '../core/live.js';
import { Markdown } from '../core/markdown.js';
import { may } from '../core/session.js';
import { number, t } from '../core/texts.js';
import { Answer, Choice, Facts, Heading, Panel, ProblemNote } from '../parts/basic.js';
import { Diff } from '../parts/diff.js';
import { Field, useDraft } from '../parts/field.js';
import { goes, PlanBody, RunBadge, RunProblem, Steps } from '../parts/records.js';
import { toast } from '../parts/toast.js';
import { html, useState } from '../vendor/preact.js';

/** The change whose notes a dry run takes again where no note is live: the newest consolidation. */
async function notesToTry(space) {
  const info = await get(at('spaces', space));
  if (info.live.notes_count > 0) return undefined;
  const { items } = await get(at('spaces', space, 'consolidations'), { limit: 20 });
  return items.find((change) => change.kind === 'consolidation' && !change.undone)?.number;
}

function Tried({ space, id, title }) {
  const live = useLive(at('spaces', space, 'runs', id), { every: 800 });
  return html`<${Panel} title=${title} class="open"><${Answer} live=${live}>${(run) => html`
    <p class="row"><${RunBadge} run=${run} /></p>${goes(run) && html`<${Steps} run=${run} />`}<${RunProblem} run=${run} />
    <${Facts} items=${[[t('fact.tokens'), run.metrics?.llm_tokens_used && number(run.metrics.llm_tokens_used)], [t('fact.notes'), run.metrics?.notes_processed], [t('fact.seconds'), run.metrics?.duration_seconds && t('seconds', { n: number(run.metrics.duration_seconds, { maximumFractionDigits: 1 }) })]]} />
    ${run.plan && html`<${PlanBody} plan=${run.plan} />`}`}</${Answer}></${Panel}>`;
}

function Edit({ space, rules, refresh }) {
  const [text, setText, forget] = useDraft(`rules.${space}`, rules);
  const [reason, setReason, forgetReason] = useDraft(`rules.${space}.reason`);
  const [tried, setTried] = useState(undefined);
  const [attempt, trying] = useAction(async () => {
    const body = { dry_run: true, notes_of: await notesToTry(space) };
    const present = await post(at('spaces', space, 'consolidations'), body);
    setTried({ present: present.run_id });
    if (text === rules) return;
    const other = await post(at('spaces', space, 'consolidations'), { ...body, rules: text });
    setTried({ present: present.run_id, other: other.run_id });
  });
  const [save, saving] = useAction(async () => {
    await put(at('spaces', space, 'rules'), { rules: text, reason: reason || undefined });
    forget();
    forgetReason();
    const { items } = await get(at('spaces', space, 'consolidations'), { limit: 1 });
    toast({ text: t('rules.saved'), tone: 'good', undo: items[0] && (() => post(at('spaces', space, 'consolidations', items[0].number, 'undo')).then(refresh)) });
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
    <p class="hint">${t('rules.try.what')}</p>
  </${Panel}>
  ${tried && html`<div class=${tried.other ? 'columns half' : ''}><${Tried} key=${tried.present} space=${space} id=${tried.present} title=${t('rules.by.present')} />
    ${tried.other && html`<${Tried} key=${tried.other} space=${space} id=${tried.other} title=${t('rules.by.new')} />`}</div>`}`;
}

export default function Rules({ params: { space } }) {
  const live = useLive(at('spaces', space, 'rules'), { every: 30_000 });
  const [show, setShow] = useState('read');
  return html`<${Heading} title=${t('nav.rules')} above=${space}>
      ${may('admin') && html`<${Choice} label=${t('rules.show')} value=${show} onChange=${setShow} options=${[{ value: 'read', label: t('rules.read') }, { value: 'edit', label: t('rules.edit') }]} />`}</${Heading}>
    <p class="lead">${t('rules.lead')}</p>
    <${Answer} live=${live} lines=${8}>${({ rules }) => (show === 'edit' ? html`<${Edit} key=${rules} space=${space} rules=${rules} refresh=${live.refresh} />` : html`<${Panel}><${Markdown} text=${rules} /></${Panel}>`)}</${Answer}>`;
}
