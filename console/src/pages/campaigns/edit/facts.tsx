import type { ReactNode } from 'react';
import { armName, metrics } from '../../../words/experiments.ts';
import { fullTime } from '../../../words/times.ts';
import type { CampaignValues } from '../form/campaign-form.ts';
import { utmKeys } from '../form/utm-form.ts';

/** Returns in words when a campaign is sent. */
export function whenText({ time, at }: CampaignValues): string {
  if (time === 'now') return 'Now';
  if (at === '') return 'No time is chosen yet';
  if (time === 'at') return fullTime(at);
  return `${at.replace('T', ', ')}, in the zone of each contact`;
}

/** All settings of a campaign. */
export function Facts({ values }: { values: CampaignValues }) {
  const { experiment, goal, utm } = values;
  const parameters = utmKeys.flatMap((key) => {
    const { text, isLeftOut } = utm[key];
    if (isLeftOut) return [`without utm_${key}`];
    return text === '' ? [] : [`utm_${key}=${text}`];
  });
  const facts: [name: string, text: ReactNode][] = [
    ['Name', values.name],
    ['Subject', values.subject || '–'],
    ['From', [values.fromName, values.from].filter(Boolean).join(', ') || '–'],
    ['Time', whenText(values)],
  ];
  if (values.maxPerMinute) facts.push(['Emails per minute', values.maxPerMinute]);
  if (experiment) {
    const { arms, testPercent, decideAfter, decideUnit, metric, eventName } = experiment;
    const best = metric === 'event' ? `the event ${eventName}` : metrics[metric];
    facts.push(['Versions', arms.map(armName).join(', ')]);
    facts.push([
      'Experiment',
      `${testPercent} % of the recipients get them. The best by ${best} is taken ${decideAfter} ${decideUnit} later.`,
    ]);
  }
  if (goal) facts.push(['Goal', <code key="goal">{goal.eventName}</code>]);
  if (parameters.length > 0) facts.push(['Links', parameters.join(', ')]);
  return (
    <dl className="facts">
      {facts.map(([name, text]) => (
        <Fact key={name} name={name} text={text} />
      ))}
    </dl>
  );
}

function Fact({ name, text }: { name: string; text: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{text}</dd>
    </>
  );
}
