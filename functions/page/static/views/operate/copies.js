/** What is kept and what goes: backups, restores, imports and garbage. */
import { at, post, remove } from '../../core/api.js';
import { bytes } from '../../core/format.js';
import { useAction, useLive } from '../../core/live.js';
import { usePages } from '../../core/pages.js';
import { Problem } from '../../core/problems.js';
import { changeQuery, go, href } from '../../core/router.js';
import { has, number, t } from '../../core/texts.js';
import { Badge, Copy, Empty, Facts, Panel, ProblemNote, Time, Words } from '../../parts/basic.js';
import { copySpace, Download, Provisioned } from '../../parts/copies.js';
import { confirm } from '../../parts/dialog.js';
import { Field, Tick, useDraft } from '../../parts/field.js';
import { PagedList } from '../../parts/list.js';
import { toast } from '../../parts/toast.js';
import { html, useState } from '../../vendor/preact.js';

const pathOf = (backup) => at('spaces', backup.space_id, 'backups', backup.backup_id);

function Restore({ backup }) {
  const [target, setTarget] = useDraft(`restore.${backup.space_id}.${backup.backup_id}`, `${backup.space_id}-restored`);
  const [made, setMade] = useState(undefined);
  const [restore, restoring] = useAction(async () => {
    setMade(await copySpace(target.trim(), { space: backup.space_id, backup: backup.backup_id }, setMade));
  });
  const submit = (event) => {
    event.preventDefault();
    restore();
  };
  return html`<form class="inline-form" onSubmit=${submit}>
    <${Field} label=${t('backups.restore.into')} value=${target} onChange=${setTarget} error=${restoring.problem?.fieldError?.('space_id')} />
    <button class="main" disabled=${restoring.busy || !target.trim()}>${restoring.busy ? t('working') : t('backups.restore')}</button>
    <${Provisioned} made=${made} /><${ProblemNote} problem=${restoring.problem} /></form>`;
}

function Backup({ backup, refresh }) {
  const [open, setOpen] = useState(false);
  const removeIt = async () => {
    const done = await confirm({ title: t('backups.remove.title'), body: html`<p>${t('backups.remove.what', { space: backup.space_id })}</p><p><code>${backup.backup_id}</code></p>`, yes: t('backups.remove'), grave: true, typed: backup.space_id, act: () => remove(pathOf(backup)) });
    if (done) refresh();
  };
  return html`<div class="row"><button class="plain grow" aria-expanded=${open} onClick=${() => setOpen(!open)}>${backup.space_id} · <${Time} at=${backup.created_at} exact=${true} /></button>
      <span class="quiet"><${Words} text=${backup.description} /></span><span class="quiet">${t(`backup.by.${backup.trigger}`)}</span><span class="number-text">${bytes(backup.bytes)}</span>
      <${Badge} tone=${backup.complete ? 'good' : 'accent'}>${backup.complete ? t('backups.complete') : t('backups.going')}</${Badge}></div>
    ${open && html`<div class="backup-open">
      <p class="meta"><span>${t('backups.objects', { n: backup.objects })}</span><span>${t('backups.changes', { n: backup.changes })}</span>${Object.entries(backup.counts ?? {}).map(([name, count]) => html`<span key=${name}>${name.replace(/_/g, ' ')} ${number(count)}</span>`)}</p>
      ${backup.complete && html`<${Restore} backup=${backup} /><div class="actions"><${Download} space=${backup.space_id} backup=${backup.backup_id} label=${t('backups.download')} /><button class="plain grave-text" onClick=${removeIt}>${t('backups.remove')}</button></div>`}</div>`}`;
}

function NewBackup({ ids, refresh, space }) {
  const [chosen, setChosen] = useState(space ?? '');
  const [description, setDescription, forget] = useDraft('backup.description');
  const id = chosen || ids[0];
  const [make, making] = useAction(async () => {
    const backup = await post(at('spaces', id, 'backups'), { description });
    toast({ text: backup.unchanged_at ? t('backups.unchanged') : t('backups.made'), tone: 'good' });
    forget();
    refresh();
  });
  const submit = (event) => {
    event.preventDefault();
    make();
  };
  return html`<form class="inline-form spaced" onSubmit=${submit}>
    <${Field} label=${t('nav.choose')} value=${id ?? ''} onChange=${setChosen} options=${ids.map((one) => [one, one])} />
    <${Field} label=${t('new.description')} value=${description} onChange=${setDescription} optional=${true} error=${making.problem?.fieldError?.('description')} />
    <button class="main" disabled=${making.busy || !id}>${making.busy ? t('working') : t('backups.make')}</button><${ProblemNote} problem=${making.problem} /></form>`;
}

export function Backups({ query }) {
  const spaces = useLive('/v1/spaces', { query: { limit: 200 } });
  const ids = (spaces.data?.items ?? []).map((space) => space.space_id);
  const list = usePages('/v1/backups', { query: { space_id: query.space }, idOf: (backup) => `${backup.space_id} ${backup.backup_id}`, every: 6000 });
  return html`<${Panel} title=${t('backups.new')}><${NewBackup} ids=${ids} space=${query.space} refresh=${list.refresh} /></${Panel}>
    <${Panel} title=${query.space ? t('backups.of', { space: query.space }) : t('ops.backups')} side=${query.space && html`<button class="plain" onClick=${() => changeQuery({ space: undefined })}>${t('usage.all')}</button>`}>
      <${PagedList} list=${list} idOf=${(backup) => `${backup.space_id} ${backup.backup_id}`} row=${(backup) => html`<${Backup} backup=${backup} refresh=${list.refresh} />`} empty=${html`<${Empty} title=${t('backups.none')}><p>${t('backups.none.what')}</p></${Empty}>`} /></${Panel}>`;
}

/** Bytes of an archive that a request can hold (limits.py). A larger one goes to the store, which this page never calls. */
const MOST_SENT = 750_000;

/** What the command line takes beyond that, by the text that names it. */
const WAYS = { 'import.large': 'demo.tar.gz', 'import.folder': 'memory-bank/' };

const base64 = (file) => new Promise((done, failed) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.slice(reader.result.indexOf(',') + 1));
  reader.onerror = () => failed(new Problem({ status: 422, code: 'file_unreadable', detail: t('import.unreadable') }));
  reader.readAsDataURL(file);
});

async function imported(file, space, description, tell) {
  const { upload_id } = await post('/v1/uploads', { size: file.size, content: await base64(file) });
  return copySpace(space, { archive: upload_id }, tell, { description: description || undefined });
}

function ImportForm() {
  const [file, setFile] = useState(undefined);
  const [id, setId, forgetId] = useDraft('import.space');
  const [description, setDescription, forgetDescription] = useDraft('import.description');
  const [made, setMade] = useState(undefined);
  const [send, sending] = useAction(async () => {
    setMade(undefined);
    const done = await imported(file, id.trim(), description.trim(), setMade);
    setMade(done);
    if (done.status !== 'done') return;
    forgetId();
    forgetDescription();
    go('space', { space: done.space_id });
  });
  const submit = (event) => {
    event.preventDefault();
    send();
  };
  const large = file?.size > MOST_SENT;
  return html`<form class="form" onSubmit=${submit}>
    <${Field} label=${t('import.file')} type="file" accept=".tar,.tgz,.gz" value=${undefined} onChange=${() => undefined} onInput=${(event) => setFile(event.target.files[0])}
      hint=${t('import.most', { most: bytes(MOST_SENT) })} error=${large && t('import.too.large', { size: bytes(file.size) })} />
    ${large && html`<${Copy} text=${`livemem import ${file.name} -s ${id.trim() || 'demo-imported'}`} />`}
    <${Field} label=${t('new.id')} value=${id} onChange=${setId} hint=${t('new.id.hint')} error=${sending.problem?.fieldError?.('space_id')} />
    <${Field} label=${t('new.description')} value=${description} onChange=${setDescription} optional=${true} error=${sending.problem?.fieldError?.('description')} />
    <${Provisioned} made=${made} /><${ProblemNote} problem=${sending.problem} />
    <div class="actions"><button class="main" disabled=${sending.busy || !file || large || !id.trim()}>${sending.busy ? t('working') : t('import.yes')}</button></div>
  </form>`;
}

export function ImportSpace() {
  return html`<${Panel} title=${t('import.title')}><p class="spaced">${t('import.what')}</p><${ImportForm} /></${Panel}>
    <${Panel} title=${t('import.cli')}><ul class="rows">${Object.entries(WAYS).map(([key, source]) => html`<li key=${key}><p>${t(key)}</p><${Copy} text=${`livemem import ${source} -s demo-imported`} /></li>`)}</ul></${Panel}>`;
}

function Report({ report }) {
  return html`<${Facts} items=${['looked_at', 'old_notes', 'runs_started', 'moved', 'runs_removed', 'orphans', 'backups_removed', 'exports_removed'].map((name) => [t(`garbage.${name}`), report[name] !== undefined && number(report[name])])} />
    <ul class="rows tight">${report.spaces.map((space) => html`<li key=${space.space_id} class="row"><a class="grow" href=${href('space', { space: space.space_id })}>${space.space_id}</a><span>${t('start.notes', { n: space.old_notes })}</span>${space.oldest && html`<span class="quiet"><${Time} at=${space.oldest} /></span>`}<span>${has(`garbage.action.${space.action}`) ? t(`garbage.action.${space.action}`) : space.action}</span></li>`)}</ul>
    ${report.failed.length > 0 && html`<p>${t('garbage.failed', { n: report.failed.length })}</p>`}${report.more && html`<p class="quiet">${t('garbage.more')}</p>`}`;
}

export function Garbage() {
  const [days, setDays] = useState('30');
  const [only, setOnly] = useState(false);
  const [report, setReport] = useState(undefined);
  const body = { max_age_days: Number(days) || 30, delete_only: only };
  const [look, looking] = useAction(async () => setReport(await post('/v1/admin/gc', { ...body, dry_run: true })));
  const collect = async () => {
    const done = await confirm({ title: t('garbage.title'), body: html`<p>${only ? t('garbage.what.move') : t('garbage.what.run')}</p>`, yes: t('garbage.yes'), act: () => post('/v1/admin/gc', { ...body, dry_run: false }) });
    if (done) setReport(done);
  };
  return html`<${Panel} title=${t('ops.garbage')}><p class="spaced">${t('garbage.what')}</p>
    <div class="inline-form"><${Field} label=${t('garbage.days')} type="number" min="1" value=${days} onChange=${setDays} />
      <${Tick} label=${t('garbage.only')} checked=${only} onChange=${setOnly} />
      <button onClick=${look} disabled=${looking.busy}>${looking.busy ? t('working') : t('garbage.look')}</button>
      ${report?.dry_run && html`<button class="main" onClick=${collect}>${t('garbage.yes')}</button>`}</div>
    <${ProblemNote} problem=${looking.problem} />
    ${report && html`<h3 class="spaced">${report.dry_run ? t('garbage.would') : t('garbage.did')}</h3><${Report} report=${report} />`}</${Panel}>`;
}
