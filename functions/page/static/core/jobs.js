/** Long work: where a job is, and its answer with the result beside the rest. */
import { at } from './api.js';

export const jobAt = (space, kind, name) => at('jobs', `${space}.${kind}.${name}`);

/** The id of a job within its kind. */
export const nameIn = (job) => job.split('.').slice(2).join('.');

export const flat = (job) => ({ ...job.result, ...job, id: nameIn(job.job) });

export const goes = (job) => job.status === 'queued' || job.status === 'running';
