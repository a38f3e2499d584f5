/** Where one can go: the open space in four views, all else under *More*; and how the page looks and speaks. */
import { forgetAnswers } from '../core/api.js';
import { choices, colours, useColours } from '../core/colours.js';
import { useLive } from '../core/live.js';
import { go, href } from '../core/router.js';
import { may, signOut } from '../core/session.js';
import { tabStorage } from '../core/storage.js';
import { useStore } from '../core/store.js';
import { chooseLanguage, language, languages, t } from '../core/texts.js';
import { html, useEffect, useState } from '../vendor/preact.js';
import { more, spaceLinks } from '../views.js';

export const Mark = () => html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
  <path class="thread" d="M5 7h9c5 0 5 9 9 9h4M5 16h18M5 25h9c5 0 5-9 9-9" /><circle cx="5" cy="7" r="2.6" /><circle cx="5" cy="16" r="2.6" /><circle cx="5" cy="25" r="2.6" /><circle class="whole" cx="26" cy="16" r="3.6" />
</svg>`;

/** Language and colours. */
export function Choices() {
  const spoken = useStore(language);
  const looks = useStore(colours);
  return html`<div class="choices">
    <div class="choice small" role="group" aria-label=${t('language')}>${languages.map((one) => html`<button key=${one} type="button" lang=${one} aria-pressed=${one === spoken} onClick=${() => chooseLanguage(one)}>${one.toUpperCase()}</button>`)}</div>
    <div class="choice small" role="group" aria-label=${t('colours')}>${choices.map((one) => html`<button key=${one} type="button" aria-pressed=${one === looks} onClick=${() => useColours(one)}>${t(`colours.${one}`)}</button>`)}</div>
  </div>`;
}

function SpaceChoice({ space }) {
  const spaces = useLive('/v1/spaces', { query: { limit: 200 }, every: 60_000 });
  const ids = (spaces.data?.items ?? []).map((one) => one.space_id);
  if (space && !ids.includes(space)) ids.unshift(space);
  return html`<label class="space-choice"><span class="unseen">${t('nav.choose')}</span>
    <select value=${space} onChange=${(event) => (event.target.value ? go('space', { space: event.target.value }) : go('start'))}><option value="">${t('nav.start')}</option>${ids.map((id) => html`<option key=${id} value=${id} selected=${id === space}>${id}</option>`)}</select></label>`;
}

const LAST = 'livemem.space';

/** The space that was open last stays in the navigation of views without one. */
function useLastSpace(space) {
  useEffect(() => {
    if (space) tabStorage.set(LAST, space);
  }, [space]);
  return space ?? tabStorage.get(LAST);
}

export function Navigation({ route, who }) {
  const [open, setOpen] = useState(false);
  const space = useLastSpace(route.params.space);
  useEffect(() => setOpen(false), [route]);
  useEffect(() => {
    if (!open) return undefined;
    const close = (event) => event.key === 'Escape' && setOpen(false);
    addEventListener('keydown', close);
    return () => removeEventListener('keydown', close);
  }, [open]);
  const leave = () => {
    forgetAnswers();
    tabStorage.forget('livemem.');
    signOut();
  };
  const link = ({ name, views }) => html`<a key=${name} href=${href(name, { space })} aria-current=${views.includes(route.name) ? 'page' : undefined}>${t(`nav.${name}`)}</a>`;
  const rest = [...(space ? more : []), { name: 'operate', views: ['operate', 'operatePart'] }];
  const within = rest.some((one) => one.views.includes(route.name));
  return html`<header class=${`frame ${open ? 'open' : ''}`}>
    <a class="skip" href=${location.hash || '#/'} onClick=${(event) => {
      event.preventDefault();
      document.getElementById('view').focus();
    }}>${t('skip')}</a>
    <div class="frame-top">
      <a class="brand" href="#/"><${Mark} /><span>Live Memory</span></a>
      <button class="menu" aria-expanded=${open} aria-controls="navigation" onClick=${() => setOpen(!open)}>${open ? t('close') : t('menu')}</button>
    </div>
    <nav id="navigation" aria-label=${t('nav.label')}>
      ${space && html`<${SpaceChoice} space=${route.name === 'start' ? '' : space} />${spaceLinks.map(link)}`}
      <details key=${within} open=${within || !route.params.space}><summary>${t('nav.more')}</summary>
        ${rest.map(link)}<a href="/docs">${t('nav.docs')}</a></details>
      <div class="nav-foot">
        <p class="who">${who?.name}${may('admin', who) && who.name !== 'admin' && html` <small>admin</small>`} <button class="plain" onClick=${leave}>${t('sign.out')}</button></p>
        <${Choices} />
      </div>
    </nav>
  </header>`;
}
