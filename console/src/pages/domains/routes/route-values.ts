import type { Route, SetRoutingRequest } from '../../../api/api.ts';

export type RouteInput = SetRoutingRequest['routes'][number];
export type MessageClass = NonNullable<Route['match']['messageClass']>[number];

/** The values of the form of a route. An empty list means all mail. */
export interface RouteValues {
  messageClass: readonly MessageClass[];
  domains: string;
  receivers: string;
  topicIds: readonly string[];
  providers: readonly { id: string; weight: string }[];
  onDown: Route['onDown'];
}

export const newRoute: RouteValues = {
  messageClass: [],
  domains: '',
  receivers: '',
  topicIds: [],
  providers: [{ id: 'default', weight: '1' }],
  onDown: 'hold',
};

export const valuesOf = ({ match, providers, onDown }: Route): RouteValues => ({
  messageClass: match.messageClass ?? [],
  domains: match.domains?.join('\n') ?? '',
  receivers: match.receivers?.join('\n') ?? '',
  topicIds: match.topicIds ?? [],
  providers: providers.map(({ id, weight }) => ({ id, weight: String(weight) })),
  onDown,
});

const namesIn = (text: string) => text.split(/[\s,]+/).filter((name) => name !== '');
const part = <T>(name: string, list: readonly T[]) => (list.length === 0 ? {} : { [name]: list });

export const routeOf = (values: RouteValues): RouteInput => ({
  match: {
    ...part('messageClass', values.messageClass),
    ...part('domains', namesIn(values.domains)),
    ...part('receivers', namesIn(values.receivers)),
    ...part('topicIds', values.topicIds),
  },
  providers: values.providers.map(({ id, weight }) => ({ id, weight: Number(weight) })),
  onDown: values.onDown,
});
