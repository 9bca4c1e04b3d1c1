import { useId, useState } from 'react';

/** A field in which the user chooses a file, or drops a file from another window. */
export function FileField({
  error,
  onChoose,
}: {
  error: string | undefined;
  onChoose: (file: File) => void;
}) {
  const id = useId();
  const [isOver, setOver] = useState(false);
  return (
    <div
      className={isOver ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const [file] = event.dataTransfer.files;
        if (file) onChoose(file);
      }}
    >
      <div className="field">
        <label htmlFor={id}>CSV file</label>
        <input
          id={id}
          type="file"
          accept=".csv,text/csv"
          aria-invalid={error ? true : undefined}
          aria-describedby={`${id}-hint${error ? ` ${id}-error` : ''}`}
          onChange={({ target }) => {
            const [file] = target.files ?? [];
            if (file) onChoose(file);
            // An empty value lets the user choose the same file again after a correction.
            target.value = '';
          }}
        />
        {error && (
          <span className="fault" id={`${id}-error`} role="alert">
            {error}
          </span>
        )}
        <span className="hint" id={`${id}-hint`}>
          Choose it, or drop it here. UTF-8, commas between the cells; the first line names the
          columns.
        </span>
      </div>
    </div>
  );
}
