/** Imports and bulk actions: work on many contacts that goes on after the answer. */
export type JobKind = 'import' | 'bulk';

export type JobState = 'waiting' | 'active' | 'completed' | 'failed' | 'cancelled';

export type BulkOperation = 'subscribe' | 'unsubscribe' | 'delete';

/** What an import shows of itself; `totalRows` is known once the file was read. */
export interface ImportData {
  projectId: string;
  filename: string;
  totalRows: number | null;
}

/** A row that was not imported. The header is row 1. `email` is what the row had there. */
export interface RowError {
  row: number;
  email: string;
  error: string;
}

export interface ImportResult {
  /** Rows below the header, without empty lines. */
  totalRows: number;
  successCount: number;
  createdCount: number;
  updatedCount: number;
  failureCount: number;
  /** The first of them: at most `limits.jobErrors`. */
  errors: RowError[];
}

/** What a bulk action shows of itself; `totalRequested` is known once its contacts are fixed. */
export interface BulkData {
  projectId: string;
  operation: BulkOperation;
  mode: 'ids' | 'query';
  totalRequested: number | null;
}

/** Which contacts a bulk action by query is about: all that match when it starts. */
export interface BulkQuery {
  filter: { search?: string | undefined; subscribed?: boolean | undefined };
  excludeIds: string[];
}

export interface ContactError {
  contactId: string;
  email: string | null;
  error: string;
}

export interface BulkResult {
  operation: BulkOperation;
  totalRequested: number;
  /** All that are now as was asked for, `unchanged` of them before. */
  successCount: number;
  unchanged: number;
  failureCount: number;
  errors: ContactError[];
}

/** What one time slice of work on a job has left. */
export interface JobProgress {
  state: JobState;
  done: number;
  total: number;
  failedReason: string | null;
}
