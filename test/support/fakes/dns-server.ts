import { createSocket } from 'node:dgram';
import packet, { type Answer, type Packet, type RecordType } from 'dns-packet';
import { atEnd } from '../use.ts';

/** A failure of queries for a name, instead of a response with records. */
export type DnsFault = 'SERVFAIL' | 'REFUSED' | 'silence';

export interface DnsServer {
  /** `ip:port`, as in the setting DNS_SERVERS. */
  address: string;
  /** Publishes records of a name, in place of its earlier records of this type. */
  publish(name: string, type: 'A' | 'AAAA' | 'CNAME' | 'NS', ...values: string[]): void;
  publish(name: string, type: 'TXT', ...values: (string | string[])[]): void;
  publish(name: string, type: 'MX', ...values: { exchange: string; preference: number }[]): void;
  /** Removes all records of a name, so that it does not exist any more. */
  remove(name: string): void;
  /** Faults by name; '' stands for every name. */
  faults: Map<string, DnsFault>;
  /** The questions that have arrived, as `TYPE name`. */
  questions: string[];
  /** Called with each question. The response waits until the promise resolves. */
  onQuestion: ((question: string) => Promise<void>) | null;
}

/** Response codes in the flags of a response (RFC 1035, section 4.1.1). */
const codes = { SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 };

/**
 * Starts a name server on loopback with the records that a test publishes. It replies NXDOMAIN for
 * all other names.
 */
export async function useDnsServer(): Promise<DnsServer> {
  const zone = new Map<string, Answer[]>();
  const socket = createSocket('udp4');
  const server: DnsServer = {
    address: '',
    publish(name: string, type: RecordType, ...values: unknown[]) {
      const others = (zone.get(name) ?? []).filter((record) => record.type !== type);
      const made = values.map((data) => ({ name, type, ttl: 300, data }) as Answer);
      zone.set(name, [...others, ...made]);
    },
    remove: (name) => void zone.delete(name),
    faults: new Map(),
    questions: [],
    onQuestion: null,
  };
  socket.on('message', async (message, from) => {
    const query = packet.decode(message);
    const [question] = query.questions ?? [];
    if (!question) return;
    const name = question.name.toLowerCase();
    server.questions.push(`${question.type} ${name}`);
    await server.onQuestion?.(`${question.type} ${name}`);
    const fault = server.faults.get(name) ?? server.faults.get('');
    if (fault === 'silence') return;
    const answer = fault ? { flags: codes[fault] } : find(zone, name, question.type);
    socket.send(
      packet.encode({ type: 'response', id: query.id ?? 0, questions: [question], ...answer }),
      from.port,
      from.address,
    );
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  atEnd(() => socket.close());
  server.address = `127.0.0.1:${socket.address().port}`;
  return server;
}

function find(zone: Map<string, Answer[]>, name: string, type: string): Packet {
  const known = zone.get(name);
  if (!known) return { flags: codes.NXDOMAIN };
  const answers = known.filter((record) => record.type === type || record.type === 'CNAME');
  // A resolver follows CNAME records.
  const alias = type === 'CNAME' ? undefined : answers.find((record) => record.type === 'CNAME');
  const target = (alias as { data: string } | undefined)?.data ?? '';
  return { answers: [...answers, ...(find(zone, target, type).answers ?? [])] };
}
