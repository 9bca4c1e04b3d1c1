import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { useFakeStripe } from '../../support/fakes/stripe.ts';
import { waitFor } from '../../support/wait-for.ts';

const stripe = await useFakeStripe();
const api = await useApi(stripe.environment);

async function createProject(subscription: string | null = null) {
  const { cookie } = await api.signUp();
  const { id } = await api.createProject(cookie);
  await api.db.updateTable('project').set({ subscription }).where('id', '=', id).execute();
  const look = async () => (await api.request('GET', '/users/@me/projects', { cookie })).body[0];
  return { id, cookie, look };
}

const send = (type: string, object: object) =>
  api.request('POST', '/webhooks/incoming/payments', stripe.sign({ type, data: { object } }));

/** The payment page of a subscription was completed. */
const checkedOut = (projectId: string, id: string, more: { server?: string } = {}) =>
  send('checkout.session.completed', {
    customer: `cus_of_${id}`,
    subscription: id,
    metadata: { projectId, ...more },
  });

describe('a subscription without a project is cancelled', () => {
  it('when its project was deleted while the page was open', async () => {
    for (const isForgotten of [false, true]) {
      const project = await createProject();
      stripe.subscriptions.set('sub_late', 'active');
      await api.request('DELETE', `/users/@me/projects/${project.id}`, { cookie: project.cookie });
      if (isForgotten) {
        await api.db.deleteFrom('project').where('id', '=', project.id).execute();
      }
      const { status } = await checkedOut(project.id, 'sub_late', { server: api.url });
      expect([status, stripe.subscriptions.get('sub_late')]).toEqual([200, 'canceled']);
    }
  });

  it('but not that of another installation with the same account', async () => {
    stripe.subscriptions.set('sub_theirs', 'active');
    await checkedOut(randomUUID(), 'sub_theirs', { server: 'https://api.other.example' });
    await checkedOut(randomUUID(), 'sub_theirs');
    expect(stripe.subscriptions.get('sub_theirs')).toBe('active');
  });

  it('when two pages were paid: the first stays', async () => {
    const project = await createProject();
    stripe.subscriptions.set('sub_tab1', 'active').set('sub_tab2', 'active');
    await checkedOut(project.id, 'sub_tab1');
    const event = { id: 'sub_tab2', customer: 'cus_of_sub_tab1', status: 'active' };
    await send('customer.subscription.updated', event);
    expect((await project.look()).subscription).toBe('sub_tab1');
    await checkedOut(project.id, 'sub_tab2');
    const first = { subscription: 'sub_tab1', customer: 'cus_of_sub_tab1' };
    expect(await project.look()).toMatchObject(first);
    const now = ['sub_tab1', 'sub_tab2'].map((id) => stripe.subscriptions.get(id));
    expect(now).toEqual(['active', 'canceled']);
  });

  it('when two pages were paid at the same time', async () => {
    const project = await createProject();
    const ids = ['sub_same1', 'sub_same2'];
    for (const id of ids) stripe.subscriptions.set(id, 'active');
    const gate = { open: () => {} };
    stripe.answersAfter = new Promise((resolve) => (gate.open = resolve));
    const asked = stripe.requests.length;
    const sent = ids.map((id) => checkedOut(project.id, id));
    await waitFor('both questions', () => stripe.requests.length === asked + 2);
    gate.open();
    for (const { status } of await Promise.all(sent)) expect(status).toBe(200);
    const { subscription: kept } = await project.look();
    expect(ids.filter((id) => stripe.subscriptions.get(id) === 'active')).toEqual([kept]);
  });

  it('and a new one takes the place of one that has ended', async () => {
    const project = await createProject('sub_before');
    stripe.subscriptions.set('sub_before', 'canceled').set('sub_after', 'active');
    await checkedOut(project.id, 'sub_after');
    expect((await project.look()).subscription).toBe('sub_after');
    expect(stripe.subscriptions.get('sub_after')).toBe('active');
  });
});

describe('a slow provider', () => {
  it('has two connections waiting for it at most, and every event its effect', async () => {
    const project = await createProject();
    const gate = { open: () => {} };
    stripe.answersAfter = new Promise((resolve) => (gate.open = resolve));
    const asked = stripe.requests.length;
    const ids = Array.from({ length: 12 }, (_, index) => `sub_slow${index}`);
    const sent = ids.map((id) => checkedOut(randomUUID(), id));
    const changes = ids.map((id) =>
      send('customer.subscription.updated', { id, customer: `cus_of_${id}` }),
    );
    await waitFor('the questions', () => stripe.requests.length >= asked + 2);
    expect((await project.look()).id).toBe(project.id);
    expect(stripe.requests.length).toBe(asked + 2);
    gate.open();
    for (const { status } of await Promise.all([...sent, ...changes])) expect(status).toBe(200);
  });

  it('gets 503 for an event while a hundred are waiting', async () => {
    const gate = { open: () => {} };
    stripe.answersAfter = new Promise((resolve) => (gate.open = resolve));
    const statuses: number[] = [];
    const sent = Array.from({ length: 110 }, async (_, index) => {
      const about = { id: `sub_many${index}`, customer: `cus_many${index}` };
      statuses.push((await send('customer.subscription.updated', about)).status);
    });
    await waitFor('the refusals', () => statuses.length >= 8);
    expect(statuses).toEqual(Array.from({ length: 8 }, () => 503));
    gate.open();
    await Promise.all(sent);
    expect(statuses.slice(8)).toEqual(Array.from({ length: 102 }, () => 200));
  });
});
