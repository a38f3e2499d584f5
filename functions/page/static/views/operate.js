/** The work of whoever runs the service, in parts. */
import { href } from '../core/router.js';
import { may } from '../core/session.js';
import { t } from '../core/texts.js';
import { Heading, Tabs } from '../parts/basic.js';
import { Backups, Garbage, ImportSpace } from './operate/copies.js';
import { Connections, Tokens } from './operate/access.js';
import { Jobs } from './operate/jobs.js';
import { Costs, Health, Usage } from './operate/work.js';
import { html } from '../vendor/preact.js';

/** Name of a part: [what draws it, whether it takes an admin]. */
const PARTS = {
  health: [Health, false],
  jobs: [Jobs, false],
  usage: [Usage, false],
  costs: [Costs, false],
  tokens: [Tokens, true],
  connections: [Connections, false],
  backups: [Backups, true],
  import: [ImportSpace, true],
  garbage: [Garbage, true],
};

export default function Operate({ params, query }) {
  const seen = Object.entries(PARTS).filter(([, [, admin]]) => !admin || may('admin'));
  const part = seen.some(([name]) => name === params.part) ? params.part : 'health';
  const [Part] = PARTS[part];
  return html`<${Heading} title=${t('nav.operate')} />
    <${Tabs} label=${t('nav.operate')} items=${seen.map(([name]) => ({ href: href('operatePart', { part: name }), label: t(`ops.${name}`), current: name === part }))} />
    <${Part} query=${query} />`;
}
