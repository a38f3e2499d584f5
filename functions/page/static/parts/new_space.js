/** The form that makes a space. */
import { post } from '../core/api.js';
import { useAction, useLive } from '../core/live.js';
import { go } from '../core/router.js';
import { t } from '../core/texts.js';
import { html } from '../vendor/preact.js';
import { ProblemNote } from './basic.js';
import { Field, useDraft } from './field.js';

export function NewSpace({ close }) {
  const about = useLive('/v1/about');
  const [id, setId, forgetId] = useDraft('space.id');
  const [description, setDescription, forgetDescription] = useDraft('space.description');
  const [template, setTemplate] = useDraft('space.template', 'standard');
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
  const templates = about.data?.rules_templates ?? ['standard'];
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
