import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { claimFreePort } from '../../../dev/servers/ports.ts';
import { atEnd, useFolder } from '../use.ts';
import { waitFor } from '../wait-for.ts';

/** Real mail servers. Each runs in its own folder, and reaches only this machine. */

/**
 * The user of Exim. Exim also delivers as this user, because only root may use another
 * configuration.
 */
const eximUser = 'Debian-exim';

/** The port to which the mail of each domain is delivered. */
export interface Routes {
  [domain: string]: number;
}

/** Returns the path of a program; null: it is not installed. */
function programAt(name: string, variable?: string): string | null {
  const given = variable === undefined ? undefined : process.env[variable];
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'];
  const paths = given ? [given] : folders.map((folder) => join(folder, name));
  return paths.find((path) => isExecutable(path)) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the reason why real mail servers cannot run here; null: they can. The variable `EXIM4`
 * may contain the path of Exim.
 */
export function whyWithout(...servers: ('postfix' | 'exim4' | 'dovecot')[]): string | null {
  const missing = servers.filter(
    (name) => programAt(name, name === 'exim4' ? 'EXIM4' : undefined) === null,
  );
  if (missing.length > 0) return `It needs ${missing.join(' and ')} (Debian packages).`;
  return process.getuid?.() === 0 ? null : 'It needs root, as mail servers do.';
}

export async function usePort(): Promise<number> {
  const { port, release } = await claimFreePort();
  atEnd(release);
  return port;
}

/**
 * Starts Postfix on a port. It stores the mail of `ada@box.test`, and refuses mail of all domains
 * without a route.
 */
export async function usePostfix(port: number, routes: Routes): Promise<void> {
  const folder = await useFolder();
  const config = join(folder, 'etc');
  for (const name of ['etc', 'queue', 'data', 'boxes']) await mkdir(join(folder, name));
  await own(join(folder, 'data'), 'postfix');
  await own(join(folder, 'boxes'), 'mail');
  const transports = Object.entries(routes).map(
    ([domain, to]) => `{ ${domain} = smtp:[127.0.0.1]:${to} }`,
  );
  const settings = {
    compatibility_level: '3.6',
    queue_directory: join(folder, 'queue'),
    data_directory: join(folder, 'data'),
    maillog_file: join(folder, 'mail.log'),
    maillog_file_prefixes: folder,
    daemon_directory: '/usr/lib/postfix/sbin',
    inet_interfaces: '127.0.0.1',
    inet_protocols: 'ipv4',
    myhostname: 'postfix.everpost.test',
    mydestination: '',
    mynetworks: '127.0.0.0/8',
    relay_domains: '',
    alias_maps: '',
    smtpd_relay_restrictions: 'permit_mynetworks, reject',
    transport_maps: `inline:{ ${transports.join(', ')} }`,
    default_transport: 'error:5.4.4 This host does not exist',
    virtual_mailbox_domains: 'box.test',
    virtual_mailbox_base: join(folder, 'boxes'),
    virtual_mailbox_maps: 'inline:{ { ada@box.test = ada/ } }',
    virtual_minimum_uid: '1',
    virtual_uid_maps: `static:${idOf('mail')}`,
    virtual_gid_maps: `static:${idOf('mail')}`,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  await writeFile(join(config, 'main.cf'), `${lines.join('\n')}\n`);
  await writeFile(join(config, 'master.cf'), masterOf(port));
  const postfix = programAt('postfix') ?? '';
  const started = spawnSync(postfix, ['-c', config, 'start'], { encoding: 'utf8' });
  if (started.status !== 0) throw new Error(`Postfix does not start:\n${started.stderr}`);
  atEnd(() => spawnSync(postfix, ['-c', config, 'stop']));
  await listening(port);
}

/** Returns the services of Postfix (master(5)), none of them in a chroot. */
function masterOf(port: number): string {
  // Type, private, unprivileged, chroot, wake-up time, limit of processes, program.
  const services = `
127.0.0.1:${port} inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
error unix - - n - - error
retry unix - - n - - error
anvil unix - - n - 1 anvil
virtual unix - n n - - virtual
postlog unix-dgram n - n - 1 postlogd
`;
  return services.trimStart();
}

/**
 * Starts Exim on a port. It stores the mail of `mailbox.domain` in `mailbox.folder`, and bounces
 * mail of all domains without a route.
 */
export async function useExim(
  port: number,
  routes: Routes,
  mailbox: { domain: string; folder: string },
): Promise<void> {
  const folder = await useFolder();
  for (const name of ['spool', 'log']) {
    await mkdir(join(folder, name));
    await own(join(folder, name), eximUser);
  }
  const config = join(folder, 'exim.conf');
  await writeFile(config, eximConfig(folder, port, routes, mailbox));
  const exim = spawn(programAt('exim4', 'EXIM4') ?? '', ['-bdf', '-q5s', '-C', config], {
    stdio: 'inherit',
  });
  atEnd(() => ended(exim));
  await listening(port);
}

function eximConfig(
  folder: string,
  port: number,
  routes: Routes,
  mailbox: { domain: string; folder: string },
): string {
  const named = Object.entries(routes).map(([domain, to], index) => ({ domain, to, index }));
  return `exim_path = ${programAt('exim4', 'EXIM4')}
spool_directory = ${folder}/spool
log_file_path = ${folder}/log/%slog
pid_file_path = ${folder}/exim.pid
primary_hostname = exim.everpost.test
daemon_smtp_ports = ${port}
local_interfaces = 127.0.0.1
tls_advertise_hosts =
acl_smtp_rcpt = takes_all
keep_environment =
deliver_drop_privilege
begin acl
takes_all:
  accept hosts = 127.0.0.1
begin routers
mailbox:
  driver = accept
  domains = ${mailbox.domain}
  transport = mailbox
${named
  .map(
    ({ domain, index }) => `route${index}:
  driver = manualroute
  domains = ${domain}
  route_list = * 127.0.0.1 byname
  self = send
  transport = route${index}`,
  )
  .join('\n')}
begin transports
mailbox:
  driver = appendfile
  directory = ${mailbox.folder}
  maildir_format
  return_path_add
  delivery_date_add
  envelope_to_add
${named
  .map(
    ({ to, index }) => `route${index}:
  driver = smtp
  port = ${to}
  allow_localhost`,
  )
  .join('\n')}
begin retry
* * F,1h,5s
`;
}

/** Starts Dovecot on a port: an IMAP server with one mailbox, for any user with this password. */
export async function useDovecot(port: number, mailbox: string, password: string): Promise<void> {
  const folder = await useFolder();
  const config = join(folder, 'dovecot.conf');
  await writeFile(
    config,
    `base_dir = ${folder}/run
log_path = ${folder}/dovecot.log
protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
first_valid_uid = 1
mail_location = maildir:${mailbox}
passdb {
  driver = static
  args = password=${password}
}
userdb {
  driver = static
  args = uid=${eximUser} gid=${eximUser} home=${folder}
}
namespace inbox {
  inbox = yes
}
service imap-login {
  inet_listener imap {
    port = ${port}
  }
  inet_listener imaps {
    port = 0
  }
}
`,
  );
  const dovecot = spawn(programAt('dovecot') ?? '', ['-F', '-c', config], { stdio: 'inherit' });
  atEnd(() => ended(dovecot));
  await listening(port);
}

/** Creates the folder of a Maildir to which Exim delivers and which Dovecot serves. */
export async function useMaildir(): Promise<string> {
  const folder = await useFolder();
  await own(folder, eximUser);
  return join(folder, 'Maildir');
}

function idOf(user: string): string {
  return spawnSync('id', ['-u', user], { encoding: 'utf8' }).stdout.trim();
}

async function own(path: string, user: string): Promise<void> {
  spawnSync('chown', [`${user}:`, path]);
  await chmod(path, 0o755);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
}

async function listening(port: number): Promise<void> {
  const answers = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
  await waitFor(`a server on port ${port}`, answers, 20_000);
}
