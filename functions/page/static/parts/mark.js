/** The sign of the product: notes that become one line. */
import { html } from '../vendor/preact.js';

export const Mark = () => html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
  <path class="thread" d="M5 7h9c5 0 5 9 9 9h4M5 16h18M5 25h9c5 0 5-9 9-9" /><circle cx="5" cy="7" r="2.6" /><circle cx="5" cy="16" r="2.6" /><circle cx="5" cy="25" r="2.6" /><circle class="whole" cx="26" cy="16" r="3.6" />
</svg>`;
