/** The page around the views: who is signed in, which view is open, what is lost or ended. */
import { call, connection, forgetAnswers, get } from './core/api.js';
import { route } from './core/router.js';
import { pageCode, session, setWho, signIn } from './core/session.js';
import { useStore } from './core/store.js';
import { language, t } from './core/texts.js';
import { DialogHost } from './parts/dialog.js';
import { Empty, Heading, Loading, ProblemNote } from './parts/basic.js';
import { Navigation } from './parts/navigation.js';
import { Toasts, toastProblem } from './parts/toast.js';
import { SignIn } from './parts/sign_in.js';
import { views } from './views.js';
import { html, useEffect, useErrorBoundary, useState } from './vendor/preact.js';

/** The connection is lost: said at once, and taken away as soon as a request gets through. */
function Lost() {
  const { lost } = useStore(connection);
  return lost ? html`<div class="banner bad" role="alert">${t('lost')}</div>` : null;
}

function Broken({ error, again }) {
  return html`<div class="problem" role="alert"><p class="what">${t('broken.what')}</p><p>${t('broken.do')}</p>
    <p class="codes"><code>${String(error?.message ?? error)}</code> <button class="plain" onClick=${again}>${t('try.again')}</button></p></div>`;
}

/** The module of the open view, loaded when it is first needed. */
function View({ route: { name, params, query } }) {
  const [loaded, setLoaded] = useState({});
  const [error, clear] = useErrorBoundary();
  const [failed, setFailed] = useState(0);
  useEffect(() => {
    let open = true;
    views[name]?.().then(
      (module) => open && setLoaded({ name, View: module.default }),
      () => open && setLoaded({ name, failed: true }),
    );
    return () => {
      open = false;
    };
  }, [name, failed]);
  if (error) return error.status !== undefined ? html`<${ProblemNote} problem=${error} again=${clear} />` : html`<${Broken} error=${error} again=${clear} />`;
  if (!views[name]) return html`<${Heading} title=${t('missing.title')} /><${Empty} title=${t('missing.what')}><a href="#/">${t('missing.do')}</a></${Empty}>`;
  if (loaded.name !== name) return html`<${Loading} />`;
  if (loaded.failed) return html`<${Broken} error=${t('view.failed')} again=${() => setFailed(failed + 1)} />`;
  return html`<${loaded.View} key=${`${name} ${JSON.stringify(params)}`} params=${params} query=${query} />`;
}

/** A code of `livemem open` becomes a session; a kept token is asked who it is. */
function useBegun() {
  const { token, who, asked } = useStore(session);
  const code = useStore(pageCode);
  const exchanging = Boolean(code);
  const [problem, setProblem] = useState(undefined);
  useEffect(() => {
    if (!code) return;
    setProblem(undefined);
    call('POST', '/v1/page-codes/exchange', { body: { code }, token: '' })
      .then(async ({ token: given }) => {
        const found = await get('/v1/whoami', undefined, { token: given });
        forgetAnswers();
        signIn(given, found);
      })
      .catch((failed) => {
        setProblem(failed);
        // Whoever is signed in already stays so.
        if (session.get().token) toastProblem(failed);
      })
      .finally(() => pageCode.set((now) => (now === code ? undefined : now)));
  }, [code]);
  useEffect(() => {
    if (!token || asked || exchanging) return undefined;
    let timer;
    const ask = () =>
      get('/v1/whoami').then(setWho, (failed) => {
        if (failed.passing) timer = setTimeout(ask, 3000);
        else setProblem(failed);
      });
    ask();
    return () => clearTimeout(timer);
  }, [token, asked, exchanging]);
  return { token, who, problem, exchanging };
}

export function App() {
  useStore(language);
  const present = useStore(route);
  const { token, who, problem, exchanging } = useBegun();
  useEffect(() => scrollTo(0, 0), [present.name, JSON.stringify(present.params)]);
  if (exchanging) return html`<main class="alone"><${Loading} /></main>`;
  if (!token) return html`<${Lost} /><${SignIn} problem=${problem} /><${Toasts} />`;
  return html`
    <${Navigation} route=${present} who=${who} />
    <main id="view" tabindex="-1"><${Lost} />${who ? html`<${View} route=${present} />` : html`<${Loading} />`}</main>
    <${DialogHost} /><${Toasts} />`;
}
