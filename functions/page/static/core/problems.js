/** A failed request, as people read it: what happened, and what to do. */

export class Problem extends Error {
  constructor({ status = 0, code = 'unreachable', detail = '', errors = [], requestId, retryAfter, key, path } = {}) {
    super(detail || code);
    Object.assign(this, { status, code, detail, errors, requestId, retryAfter, key, path });
  }

  /** Another try may help without a change. */
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }

  fieldError(field) {
    return this.errors.find((error) => error.field === field)?.message;
  }
}

function seconds(header) {
  if (!header) return undefined;
  const number = Number(header);
  if (Number.isFinite(number)) return number;
  const until = Date.parse(header);
  return Number.isNaN(until) ? undefined : Math.max(0, Math.ceil((until - Date.now()) / 1000));
}

/** A gateway in front of the service may answer with something else than a problem document. */
export async function problemOf(response, path) {
  let body = {};
  try {
    body = await response.json();
  } catch {
    body = {};
  }
  return new Problem({
    status: response.status,
    code: typeof body.code === 'string' ? body.code : `status_${response.status}`,
    detail: body.detail ?? body.message ?? '',
    errors: Array.isArray(body.errors) ? body.errors : [],
    requestId: body.request_id,
    key: body.key,
    retryAfter: seconds(response.headers.get('Retry-After')),
    path,
  });
}

const BY_CODE = new Set([
  'busy', 'conflict', 'cooldown', 'plan_outdated', 'precondition_lost', 'answer_too_large', 'too_large', 'search_not_ready',
  'store_full', 'store_unavailable', 'space_not_found', 'invalid_request', 'user_not_allowed', 'object_unreadable',
  'not_configured', 'commit_unfinished', 'space_broken', 'backup_damaged', 'embedding_unavailable', 'unreachable',
]);
const BY_STATUS = new Set([400, 401, 403, 404, 409, 413, 422, 429, 500, 503]);

/** Which texts say it: the part of the keys `problem.{..}.what` and `problem.{..}.do`. */
export function wordsOf(problem) {
  if (BY_CODE.has(problem.code)) return problem.code;
  // The code of a cap is the name of its setting.
  if (/_per_(day|space|token)$/.test(problem.code)) return 'cap';
  return BY_STATUS.has(problem.status) ? `s${problem.status}` : 'other';
}
