import type { Routing } from '../../../api/api.ts';
import { useRead } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { SelectField, TextArea } from '../../../design/fields.tsx';
import { Form, useForm } from '../../../design/form.tsx';
import { useProject } from '../../../shell/project.ts';
import { messageTypes } from '../../../words/templates.ts';
import { Choices } from './choices.tsx';
import { RouteProviders } from './route-providers.tsx';
import {
  type MessageClass,
  newRoute,
  type RouteInput,
  routeOf,
  type RouteValues,
  valuesOf,
} from './route-values.ts';

const classes = Object.entries(messageTypes).map(([id, name]) => ({
  id: id as MessageClass,
  name,
}));
const whenDown = [
  { value: 'hold', text: 'Mail waits for it' },
  { value: 'next', text: 'The next one gets the mail' },
];

/** Changes the route at index `at`, or adds a route at the end. */
export function RouteDialog({
  routes,
  at,
  put,
  onClose,
}: {
  routes: Routing['routes'];
  at: number;
  put: (routes: readonly RouteInput[]) => Promise<void>;
  onClose: () => void;
}) {
  const { api, project } = useProject();
  const topics = useRead([project.id, 'topics'], () => api.get('/topics'));
  const existing = routes[at];
  const form = useForm<RouteValues>(existing ? valuesOf(existing) : newRoute, async (values) => {
    const all: readonly RouteInput[] = routes;
    await put(all.toSpliced(at, 1, routeOf(values)));
    onClose();
  });
  const { values, set } = form;
  const errorOf = (field: string) => form.errorOf(`routes.${at}.${field}`);
  return (
    <Dialog title={existing ? `Edit route ${at + 1}` : 'Add route'} onClose={onClose}>
      <Form form={form}>
        <Choices
          legend="Mail of the kinds"
          options={classes}
          chosen={values.messageClass}
          onChange={(messageClass) => set({ messageClass })}
        />
        <TextArea
          label="From the domains"
          rows={2}
          {...form.field('domains')}
          error={errorOf('match.domains')}
          hint="One a line. Empty: all."
        />
        <TextArea
          label="To the domains"
          rows={2}
          {...form.field('receivers')}
          error={errorOf('match.receivers')}
          hint="One a line; *.edu is each name below edu. Empty: all."
        />
        {topics.data && topics.data.length > 0 && (
          <Choices
            legend="Of the topics"
            options={topics.data}
            chosen={values.topicIds}
            onChange={(topicIds) => set({ topicIds })}
          />
        )}
        <RouteProviders
          value={values.providers}
          onChange={(providers) => set({ providers })}
          errorOf={(part) => errorOf(`providers${part}`)}
        />
        <SelectField
          label="While the chosen one is down"
          options={whenDown}
          {...form.field('onDown')}
          onChange={(next) => set({ onDown: next as RouteValues['onDown'] })}
        />
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Save
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
