import type { Condition } from '../filter/filter.ts';

/** Imports and bulk actions: jobs on contacts. */

export type BulkOperation = 'subscribe' | 'unsubscribe' | 'delete';

/** An import, as the API shows it. `totalRows` is null until the file has been read. */
export interface ImportData {
  projectId: string;
  filename: string;
  totalRows: number | null;
}

/** The error of a row that was not imported. The header is row 1. `email` is as in the file. */
export interface RowError {
  row: number;
  email: string;
  error: string;
}

export interface ImportResult {
  /** Number of rows below the header, without empty lines. */
  totalRows: number;
  successCount: number;
  createdCount: number;
  updatedCount: number;
  failureCount: number;
  /** The errors of the first failed rows, at most `limits.jobErrors`. */
  errors: RowError[];
}

/** A bulk action, as the API shows it. `totalRequested` is null until its contacts are fixed. */
export interface BulkData {
  projectId: string;
  operation: BulkOperation;
  mode: 'ids' | 'query';
  totalRequested: number | null;
}

/** A query for the contacts of a bulk action: all that match when the action starts. */
export interface BulkQuery {
  filter: {
    search?: string | undefined;
    subscribed?: boolean | undefined;
    condition?: Condition | undefined;
  };
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
  /**
   * Number of contacts that are now in the requested state, including those that already were
   * before the action (`unchanged`).
   */
  successCount: number;
  unchanged: number;
  failureCount: number;
  errors: ContactError[];
}
