/** Why a document was not found: its id, or the address of its view, is enough. */
import { at, get } from '../core/api.js';
import { idIn, linkOf } from '../core/found.js';
import { useAction } from '../core/live.js';
import { t } from '../core/texts.js';
import { html, useEffect, useState } from '../vendor/preact.js';
import { ProblemNote } from './basic.js';
import { Field, useDraft } from './field.js';

const Link = ({ space, id }) => {
  const link = linkOf(space, id);
  return link ? html`<a href=${link}><code>${id}</code></a>` : html`<code>${id}</code>`;
};

function Told({ space, told }) {
  return html`<div class="why-not-told" role="status">
    <p class="what">${t(`whynot.${told.reason}`)}</p>
    ${told.rank && html`<p>${t('whynot.place', { n: told.rank })}</p>`}
    ${told.copy_of && html`<p>${t('whynot.copy.of')} <${Link} space=${space} id=${told.copy_of} /></p>`}
    ${told.behind?.length > 0 && html`<p>${t('whynot.behind')}</p><ul>${told.behind.map((id) => html`<li key=${id}><${Link} space=${space} id=${id} /></li>`)}</ul>`}
    <p class="quiet">${t('whynot.do')} <${Link} space=${space} id=${told.id} /></p>
  </div>`;
}

/** `parameters`: those of the search that was just made. */
export function WhyNot({ space, parameters }) {
  const [typed, setTyped] = useDraft(`whynot.${space}`);
  const [told, setTold] = useState(undefined);
  const key = JSON.stringify(parameters);
  const [ask, asking] = useAction(async () => {
    const answer = await get(at('spaces', space, 'search'), { ...parameters, why_not: idIn(typed) });
    setTold(answer.why_not);
  });
  useEffect(() => setTold(undefined), [key]);
  const submit = (event) => {
    event.preventDefault();
    if (typed.trim()) ask();
  };
  return html`<details class="why-not"><summary>${t('whynot.title')}</summary>
    <form class="inline-form" onSubmit=${submit}>
      <${Field} label=${t('whynot.id')} hint=${t('whynot.hint')} value=${typed} onChange=${setTyped} spellcheck=${false} error=${asking.problem?.fieldError?.('why_not')} />
      <button disabled=${!typed.trim() || asking.busy}>${asking.busy ? t('working') : t('whynot.ask')}</button>
      <${ProblemNote} problem=${asking.problem} />
    </form>
    ${told && html`<${Told} space=${space} told=${told} />`}
  </details>`;
}
