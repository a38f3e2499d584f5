/** The bank: its files, and one file section by section, with the notes that each rests on and its corrections by hand. */
import { at, filePath, patch, post } from '../core/api.js';
import { bytes } from '../core/format.js';
import { addressOf, linesOf } from '../core/known.js';
import { useAction, useLive } from '../core/live.js';
import { Markdown, sectionsOf } from '../core/markdown.js';
import { nameIn } from '../core/jobs.js';
import { changeQuery, go, href } from '../core/router.js';
import { canCorrect, may } from '../core/session.js';
import { t } from '../core/texts.js';
import { Answer, Badge, Choice, Empty, Heading, Panel, ProblemNote, Time, Words } from '../parts/basic.js';
import { confirm } from '../parts/dialog.js';
import { Diff } from '../parts/diff.js';
import { Field, useDraft } from '../parts/field.js';
import { changed as changedBank, edited, Lines } from '../parts/fixing.js';
import { Note } from '../parts/notes.js';
import { toast, toastProblem } from '../parts/toast.js';
import { html, useEffect, useMemo, useState } from '../vendor/preact.js';

const EVERY = 10_000;
const same = (one, two) => one.length === two.length && one.every((part, index) => part === two[index]);
const keyOf = (path) => path.join(' > ');

function Files({ space, present, files, query }) {
  return html`<nav class="file-list" aria-label=${t('nav.bank')}>
    <a href=${href('bank', { space }, query)} aria-current=${present === undefined ? 'page' : undefined}>${t('bank.synthesis')}</a>
    ${files.map((file) => html`<a key=${file.path} href=${href('file', { space, rest: file.path }, query)} aria-current=${file.path === present ? 'page' : undefined}>${file.path}<small>${bytes(file.size)}</small></a>`)}
  </nav>`;
}

/** The headings of a file. The one that is read is not followed: links go to sections, and back works. */
const Outline = ({ sections }) => html`<nav class="outline" aria-label=${t('bank.outline')}><h2>${t('bank.outline')}</h2>
  ${sections.filter((section) => section.path.length).map((section) => html`<button key=${keyOf(section.path)} type="button" class=${`plain depth-${Math.min(section.depth, 4)}`} onClick=${() => changeQuery({ section: keyOf(section.path), n: Date.now().toString(36) })}>${section.title}</button>`)}
</nav>`;

function Section({ space, file, section, known, open, edit, canEdit, changed }) {
  const [part, setPart] = useState(edit ? 'edit' : undefined);
  const lines = useMemo(() => linesOf(section.raw), [section.raw]);
  const toggle = (name) => setPart(part === name ? undefined : name);
  const count = (known?.sources.length ?? 0) + (known?.omitted ?? 0);
  const level = Math.min(section.depth + 1, 5) || 2;
  return html`<section class=${`bank-section ${open ? 'target' : ''}`} id=${`section ${keyOf(section.path)}`}>
    ${section.path.length > 0 && html`<header><${`h${level}`}>${section.heading}</${`h${level}`}>
      <div class="section-tools">
        ${known?.verified_at && html`<span class="quiet" title=${t('bank.age.what')}><${Time} at=${known.verified_at} /></span>`}
        ${known && (section.raw || count > 0) && html`<button class="plain" aria-expanded=${part === 'sources'} onClick=${() => toggle('sources')}>${count || known.corrections.length ? t('bank.rests', { n: count }) : t('bank.rests.none')}</button>`}
        ${canEdit && html`<button class="plain" aria-expanded=${part === 'edit'} onClick=${() => toggle('edit')}>${t('bank.edit')}</button>`}
        ${may('write') && known && section.raw && html`<button class="plain" title=${t('bank.confirm.what')} onClick=${() => confirmSection(space, file.path, section, changed)}>${t('bank.confirm')}</button>`}
      </div></header>`}
    ${part === 'edit' ? html`<${SectionEdit} space=${space} file=${file} section=${section} done=${() => {
      setPart(undefined);
      changed();
    }} close=${() => setPart(undefined)} changed=${changed} />` : html`<${Lines} space=${space} path=${file.path} section=${keyOf(section.path)} lines=${lines} canEdit=${canEdit} done=${changed} />`}
    ${part === 'sources' && html`<${SourceNotes} space=${space} known=${known} />`}
  </section>`;
}

function FileText({ space, path, query, info }) {
  const live = useLive(filePath(space, path), { query: query.at ? { at: query.at } : { sources: true }, every: query.at ? 0 : EVERY });
  const sections = useMemo(() => (live.data ? sectionsOf(live.data.content ?? '') : []), [live.data]);
  useEffect(() => {
    if (!query.section || !sections.length) return;
    document.getElementById(`section ${query.section}`)?.scrollIntoView({ block: 'start' });
  }, [query.section, query.n, sections.length > 0]);
  const canEdit = !query.at && canCorrect(info);
  return html`<${Answer} live=${live} lines=${10}>${(file) => html`<div class="file-body">
    <article>
      <div class="file-head"><h2><code>${path}</code></h2><div class="meta"><span>${bytes(file.size)}</span><span><${Time} at=${file.last_modified} /></span>
        ${file.consolidation && html`<a href=${href('change', { space, number: file.consolidation })}>${t('start.change', { n: file.consolidation })}</a>`}
        ${query.at && html`<${Badge} tone="warn">${t('then.badge', { at: query.at })}</${Badge}> <a href=${href('file', { space, rest: path })}>${t('then.now')}</a>`}</div></div>
      ${sections.map((section) => html`<${Section} key=${keyOf(section.path)} space=${space} file=${file} section=${section} open=${query.section === keyOf(section.path)} edit=${canEdit && query.edit && query.section === keyOf(section.path)}
        known=${file.sections?.find((one) => same(one.path, [...(section.above ?? []), section.line]))} canEdit=${canEdit} changed=${live.refresh} />`)}
      ${!sections.length && html`<p class="quiet">${t('bank.file.empty')}</p>`}
    </article>
    ${sections.length > 2 && html`<${Outline} sections=${sections} />`}
  </div>`}</${Answer}>`;
}

function Synthesis({ space }) {
  const live = useLive(at('spaces', space, 'synthesis'), { every: EVERY });
  if (live.problem?.status === 404) return html`<${Empty} title=${t('bank.synthesis.none')}><p>${t('bank.none')}</p></${Empty}>`;
  return html`<${Answer} live=${live}>${(synthesis) => html`<div class="file-head"><h2>${t('bank.synthesis')}</h2>
    <div class="meta">${synthesis.consolidated_at && html`<${Time} at=${synthesis.consolidated_at} />`}
    ${synthesis.consolidation_number && html`<a href=${href('change', { space, number: synthesis.consolidation_number })}>${t('start.change', { n: synthesis.consolidation_number })}</a>`}</div></div>
    <${Markdown} text=${synthesis.content} />`}</${Answer}>`;
}

/** The length of the bank beside the one that it should have, and the runs that shorten it. */
function Length({ space, refresh }) {
  const { bank_chars: wanted, bank_length: length, tidied, tidy_paused: paused } = space;
  const [start, starting] = useAction(async (body) => {
    const { job } = await post(at('spaces', space.space_id, 'consolidations'), { tidy: true, ...body });
    go('run', { space: space.space_id, run: nameIn(job) });
  });
  const [resume, resuming] = useAction(async () => {
    await patch(at('spaces', space.space_id), { tidy_paused: false });
    refresh();
  });
  return html`<p class="quiet">${length === undefined ? t('length.unknown', { wanted }) : t('length.of', { n: length, wanted })} ${tidied && html`${t('length.tidied')} <${Time} at=${tidied.at} />`}</p>
    ${paused && html`<p class="quiet">${t('length.paused')}</p>`}
    <${ProblemNote} problem=${starting.problem ?? resuming.problem} />
    ${may('write') && html`<div class="actions">
      ${paused && html`<button onClick=${resume} disabled=${resuming.busy}>${t('due.resume')}</button>`}
      ${!space.pending_plan && !(length <= wanted) && html`<button onClick=${() => start({})} disabled=${starting.busy}>${t('length.shorten')}</button>`}
      ${!(length <= wanted) && html`<button onClick=${() => start({ dry_run: true })} disabled=${starting.busy}>${t('due.dry')}</button>`}
    </div>`}`;
}

function Stale({ space }) {
  const [days, setDays] = useState(30);
  const live = useLive(at('spaces', space, 'stale'), { query: { days, limit: 50 } });
  return html`<${Panel} title=${t('stale.title')} side=${html`<${Choice} label=${t('stale.days')} value=${days} onChange=${setDays} options=${[7, 30, 90].map((n) => ({ value: n, label: t('days', { n }) }))} />`}>
    <${Answer} live=${live}>${({ items }) => items.length === 0 ? html`<p class="quiet">${t('stale.none', { n: days })}</p>` : html`<ul class="rows tight">${items.map((item) => {
      const [path, section] = item.id.replace(/^bank\//, '').split('#');
      const link = item.kind === 'section' ? href('file', { space, rest: path }, { section }) : href('memory', { space, memory: item.id.replace(/^memories\//, '') });
      return html`<li key=${item.id}><div class="row"><a class="grow" href=${link}><${Words} text=${item.kind === 'section' ? `${path} › ${section ?? ''}` : t('memory')} /></a><span class="quiet"><${Time} at=${item.verified_at} /></span></div><p class="quiet"><${Words} text=${item.excerpt} /></p></li>`;
    })}</ul>`}</${Answer}>
  </${Panel}>`;
}

export default function Bank({ params: { space, rest: path }, query }) {
  const info = useLive(at('spaces', space));
  const list = useLive(at('spaces', space, 'bank'), { query: query.at ? { at: query.at } : {}, every: query.at ? 0 : EVERY });
  return html`<${Heading} title=${t('nav.bank')} above=${space}>
      <a class="button" href=${href('then', { space }, { file: path })}>${t('then.title')}</a></${Heading}>
    <${ProblemNote} problem=${list.problem} again=${list.refresh} />
    <div class="bank">
      <${Files} space=${space} present=${path} files=${list.data?.items ?? []} query=${query.at ? { at: query.at } : {}} />
      <div>${path === undefined ? html`${info.data?.bank_chars > 0 && list.data?.items.length > 0 && html`<div class="length"><${Length} space=${info.data} refresh=${info.refresh} /></div>`}<${Panel}><${Synthesis} space=${space} /></${Panel}><${Stale} space=${space} />` : html`<${FileText} space=${space} path=${path} query=${query} info=${info.data} />`}</div>
    </div>`;
}

const STEP = 8;

/** `known`: what the file says of the section: {sources: [{note_id, consolidation}], corrections, omitted}. */
function SourceNotes({ space, known }) {
  const [shown, setShown] = useState(STEP);
  const newest = [...known.sources].reverse();
  const ids = newest.slice(0, shown).map((source) => source.note_id);
  const live = useLive(ids.length ? at('spaces', space, 'notes') : undefined, { query: { ids: ids.join() } });
  return html`<div class="source-notes">
    ${ids.length > 0 && html`<${Answer} live=${live}>${({ items }) => items.map((note) => html`<${Note} key=${note.note_id} note=${note} />`)}</${Answer}>`}
    ${newest.length > shown && html`<button class="plain" onClick=${() => setShown(shown + STEP)}>${t('sources.more', { n: newest.length - shown })}</button>`}
    ${known.omitted > 0 && html`<p class="quiet">${t('sources.omitted', { n: known.omitted })}</p>`}
    ${known.corrections.length > 0 && html`<p class="quiet">${t('sources.corrections')} ${known.corrections.map((number) => html`<a key=${number} href=${href('change', { space, number })}>${number}</a> `)}</p>`}
    ${!newest.length && !known.corrections.length && html`<p class="quiet">${t('sources.none')}</p>`}
  </div>`;
}

async function confirmSection(space, file, section, changed) {
  try {
    await patch(filePath(space, file), { edits: [{ op: 'confirm_section', heading: addressOf(section) }], reason: t('bank.confirm.reason') });
    toast({ text: t('bank.confirmed'), tone: 'good' });
    changed();
  } catch (problem) {
    toastProblem(problem);
  }
}

function SectionEdit({ space, file, section, done, close, changed }) {
  const key = `section.${space}.${file.path}.${section.path.join('>')}`;
  const [text, setText, forgetText] = useDraft(key, section.below);
  // What the draft was begun with. A text that came since is not replaced unseen.
  const [was, setWas, forgetWas] = useDraft(`${key}.was`, null);
  const [reason, setReason, forgetReason] = useDraft(`${key}.reason`);
  const overtaken = was !== null && was !== section.below;
  const type = (next) => {
    if (was === null) setWas(section.below);
    setText(next);
  };
  const forget = () => {
    forgetText();
    forgetWas();
  };
  const [save, saving] = useAction(async () => {
    const number = await edited(space, file, { op: 'replace_section', heading: addressOf(section), content: text }, reason);
    forget();
    forgetReason();
    changedBank(space, number, t('bank.corrected'), changed);
    done();
  });
  const removeIt = async () => {
    const change = await confirm({
      title: t('bank.delete.title', { section: section.title }),
      body: html`<p>${t('bank.delete.what')}</p>`,
      yes: t('bank.delete.yes'),
      reason: 'required',
      act: (why) => edited(space, file, { op: 'delete_section', heading: addressOf(section) }, why),
    });
    if (!change) return;
    forget();
    changedBank(space, change, t('bank.deleted'), changed);
    done();
  };
  const submit = async (event) => {
    event.preventDefault();
    if (!(await save())) changed();
  };
  const error = (field) => saving.problem?.fieldError?.(field);
  return html`<form class="section-edit" onSubmit=${submit}>
    ${overtaken && html`<div class="problem passing" role="alert"><p class="what">${t('bank.overtaken')}</p><${Diff} before=${was} after=${section.below} title=${section.title} />
      <button type="button" onClick=${() => setWas(section.below)}>${t('bank.overtaken.mine')}</button> <button type="button" onClick=${forget}>${t('bank.overtaken.theirs')}</button></div>`}
    <${Field} label=${t('bank.text')} rows=${Math.min(24, Math.max(4, text.split('\n').length + 1))} value=${text} onChange=${type} spellcheck=${true} />
    <${Field} label=${t('reason')} value=${reason} onChange=${setReason} required=${true} maxlength="500" error=${error('reason')} />
    <${ProblemNote} problem=${saving.problem} />
    <div class="actions"><button class="main" disabled=${saving.busy || overtaken || !reason.trim() || text === section.below}>${saving.busy ? t('working') : t('fix.save')}</button>
      <button type="button" onClick=${close}>${t('close')}</button>
      <button type="button" class="plain grave-text" onClick=${removeIt}>${t('bank.delete')}</button></div>
  </form>`;
}
