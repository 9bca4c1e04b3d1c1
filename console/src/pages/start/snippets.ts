/** The first request in several languages. Each snippet runs unchanged, without any package. */

interface Given {
  url: string;
  key: string;
  email: string;
}

const event = 'first_request';

/** Quotes a text for a shell. */
const shell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
/** Quotes a text for JavaScript and Python, which both read JSON strings. */
const quoted = (text: string) => JSON.stringify(text);

const curl = ({ url, key, email }: Given) => `curl ${shell(`${url}/v1/track`)} \\
  -H ${shell(`Authorization: Bearer ${key}`)} \\
  -H 'Content-Type: application/json' \\
  -d ${shell(JSON.stringify({ email, event }))}`;

const node = ({ url, key, email }: Given) => `fetch(${quoted(`${url}/v1/track`)}, {
  method: 'POST',
  headers: {
    Authorization: ${quoted(`Bearer ${key}`)},
    'Content-Type': 'application/json',
  },
  body: JSON.stringify({ email: ${quoted(email)}, event: '${event}' }),
})
  .then((response) => response.json())
  .then((answer) => console.log(answer));`;

const python = ({ url, key, email }: Given) => `import json
import urllib.request

request = urllib.request.Request(
    ${quoted(`${url}/v1/track`)},
    data=json.dumps({"email": ${quoted(email)}, "event": "${event}"}).encode(),
    headers={
        "Authorization": ${quoted(`Bearer ${key}`)},
        "Content-Type": "application/json",
    },
)
print(urllib.request.urlopen(request).read().decode())`;

export function snippetsOf(given: Given): { name: string; code: string }[] {
  return [
    { name: 'curl', code: curl(given) },
    { name: 'Node.js', code: node(given) },
    { name: 'Python', code: python(given) },
  ];
}
