/** The token is asked for once. It is not kept beyond the tab, and it is in no address. */
import { forgetAnswers, get } from '../core/api.js';
import { useAction } from '../core/live.js';
import { session, signIn } from '../core/session.js';
import { useStore } from '../core/store.js';
import { t } from '../core/texts.js';
import { html, useState } from '../vendor/preact.js';
import { Copy, ProblemNote } from './basic.js';
import { Connect } from './service.js';
import { Field } from './field.js';
import { Choices, Mark } from './navigation.js';

export function SignIn({ problem }) {
  const { ended } = useStore(session);
  const [token, setToken] = useState('');
  const [enter, entering] = useAction(async () => {
    const secret = token.trim();
    const who = await get('/v1/whoami', undefined, { token: secret });
    forgetAnswers();
    signIn(secret, who);
  });
  const submit = (event) => {
    event.preventDefault();
    if (token.trim()) enter();
  };
  const failed = entering.problem ?? problem;
  return html`<main class="alone sign-in">
    <div class="sign-in-box">
      <${Mark} />
      <h1>${t('sign.title')}</h1>
      <p class="lead">${t('sign.lead')}</p>
      ${ended === 'refused' && !failed && html`<div class="problem" role="alert"><p class="what">${t('sign.ended.what')}</p><p>${t('sign.ended.do')}</p></div>`}
      <form onSubmit=${submit}>
        <${Field} label=${t('sign.token')} type="password" value=${token} onChange=${setToken} autocomplete="off" spellcheck=${false} autofocus=${true} hint=${t('sign.kept')} />
        <${ProblemNote} problem=${failed} />
        <button class="main" type="submit" disabled=${!token.trim() || entering.busy}>${entering.busy ? t('working') : t('sign.enter')}</button>
      </form>
      <div class="sign-in-help">
        <p>${t('sign.open')}</p>
        <${Copy} text="livemem open" />
        <details open><summary>${t('start.connect')}</summary><${Connect} space="demo" /></details>
      </div>
    </div>
    <${Choices} />
  </main>`;
}
