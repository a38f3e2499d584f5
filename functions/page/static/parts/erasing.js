/** An erasure: first what it would reach, then the order, then its receipt. */
import { at, post } from '../core/api.js';
import { useAction } from '../core/live.js';
import { go } from '../core/router.js';
import { has, number, t } from '../core/texts.js';
import { html, useEffect, useState } from '../vendor/preact.js';
import { Badge, Loading, ProblemNote, Words } from './basic.js';
import { confirm } from './dialog.js';

export const placeName = (name) => (has(`erased.${name}`) ? t(`erased.${name}`) : name.replace(/_/g, ' '));

const counted = (counts) => Object.entries(counts).map(([name, count]) => `${placeName(name)} ${number(count)}`).join(', ');

/** Where the words are now, and what a person has to correct afterwards. Nothing is changed by looking. */
function Preview({ space, ids }) {
  const [found, setFound] = useState(undefined);
  const [look, looking] = useAction(async () => setFound(await post(at('spaces', space, 'erasures'), { ids, preview: true })));
  useEffect(() => {
    look();
  }, []);
  if (looking.problem) return html`<${ProblemNote} problem=${looking.problem} again=${look} />`;
  if (!found) return html`<${Loading} lines=${3} />`;
  const unknown = Object.values(found.preview.states).filter((state) => state === 'unknown');
  return html`<ul class="rows tight preview">
      ${found.preview.places.map((place) => html`<li key=${place.backup_id ?? ''}><b>${place.backup_id ? t('erase.backup', { id: place.backup_id }) : t('erase.space')}</b> ${counted(place.counts)}</li>`)}
      ${found.sections.length > 0 && html`<li><b>${t('erasure.sections', { n: found.sections.length })}</b> <${Words} text=${found.sections.slice(0, 6).map((one) => `${one.path} › ${one.heading.replace(/^#+ /, '')}`).join(', ')} />${found.sections.length > 6 ? ' …' : ''}</li>`}
      ${found.quoted_in.length > 0 && html`<li><b>${t('erasure.quoted')}</b> ${found.quoted_in.length}</li>`}
      ${found.not_reached.map((place) => html`<li key=${place}><b>${t('erasure.not.reached')}</b> ${place}</li>`)}
    </ul>
    ${!found.preview.complete && html`<p><${Badge} tone="warn">${t('erase.incomplete')}</${Badge}></p>`}
    ${unknown.length > 0 && html`<p><${Badge} tone="bad">${t('erase.unknown', { n: unknown.length })}</${Badge}></p>`}`;
}

/** Ask and erase notes, memories and turns (at most 100). Gives the receipt, or undefined. */
export async function erase(space, ids) {
  const receipt = await confirm({
    title: t('erase.title', { n: ids.length }),
    body: html`<p>${t('erase.what')}</p><${Preview} space=${space} ids=${ids} /><p>${t('erase.never')}</p>`,
    yes: t('erase.yes'),
    grave: true,
    typed: space,
    act: () => post(at('spaces', space, 'erasures'), { ids }),
  });
  if (receipt) go('erasure', { space, job: receipt.job });
  return receipt;
}
