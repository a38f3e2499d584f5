// A provider of OpenID Connect (oidc-provider, certified) on loopback, for the sign-in of people.
//
//   node provider.mjs FOLDER_OF_NODE_MODULES CALLBACK
//
// Whoever signs in at its form as NAME has the verified address NAME@example.org. Prints its issuer when it listens.
import http from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, callback] = process.argv.slice(2);
const { default: Provider } = await import(pathToFileURL(path.join(modules, 'oidc-provider', 'lib', 'index.js')));

const server = http.createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'live-memory', client_secret: 'a-secret-of-the-test', redirect_uris: [callback] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: ['openid', 'email', 'groups'],
    cookies: { keys: ['of the test'] },
    features: { devInteractions: { enabled: true } },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.org`, email_verified: true, groups: [`team-${id}`] }),
    }),
    pkce: { required: () => true },
  });
  server.on('request', provider.callback());
  console.log(issuer);
});
