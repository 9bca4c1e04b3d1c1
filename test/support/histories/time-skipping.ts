import { execFile } from 'node:child_process';
import { chmod, mkdir, rename, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TestWorkflowEnvironment } from '@temporalio/testing';

const run = promisify(execFile);
const version = '1.38.0';
const folder = join(homedir(), '.cache/everpost', `temporal-test-server-${version}`);

/**
 * Returns true if Temporal's time-skipping server can run. It needs Java and access to Maven
 * Central.
 */
export async function canSkipTime(): Promise<boolean> {
  try {
    await Promise.all([run('java', ['-version']), run('mvn', ['-version'])]);
    return true;
  } catch {
    return false;
  }
}

/** Starts Temporal's test server, whose clock jumps to the next timer when all runs wait. */
export async function startTimeSkipping(): Promise<TestWorkflowEnvironment> {
  return TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path: await program() } },
  });
}

/** Returns the path of the server program, downloaded from Maven Central if missing. */
async function program(): Promise<string> {
  const script = join(folder, 'temporal-test-server');
  if (await stat(script).catch(() => null)) return script;
  await mkdir(folder, { recursive: true });
  const pom = join(folder, 'pom.xml');
  await writeFile(pom, project);
  const fetched = join(folder, `lib-${process.pid}`);
  await run('mvn', [
    '-q',
    '-f',
    pom,
    'dependency:copy-dependencies',
    `-DoutputDirectory=${fetched}`,
  ]);
  // The rename is atomic, so the folder is complete or missing, even if other processes download it
  // at the same time.
  await rename(fetched, join(folder, 'lib')).catch(() => undefined);
  const main = 'io.temporal.testserver.TestServer';
  await writeFile(script, `#!/bin/sh\nexec java -cp '${folder}/lib/*' ${main} "$@"\n`);
  await chmod(script, 0o755);
  return script;
}

const project = `<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>everpost</groupId>
  <artifactId>test-server</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>io.temporal</groupId>
      <artifactId>temporal-test-server</artifactId>
      <version>${version}</version>
    </dependency>
  </dependencies>
</project>
`;
