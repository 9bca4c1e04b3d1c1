import { Link } from '@tanstack/react-router';
import { accountApi, EverpostError } from '../../api/api.ts';
import { Button } from '../../design/button.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { useAddress } from '../../shell/address.ts';
import { enter } from './log-in.tsx';

/**
 * Logs in by a link of the operator. The page asks first, because programs that scan mail also open
 * links.
 */
export function Page() {
  const [{ token }] = useAddress({ token: '' });
  const form = useForm({}, async () => {
    await accountApi.post('/auth/break-glass', { body: { token } });
    enter('/account');
  });
  const { code = '', status = 0 } = form.error instanceof EverpostError ? form.error : {};
  const isOver = token === '' || code === 'INVALID_TOKEN' || status === 422;
  return (
    <>
      <PageHead title={isOver ? 'This link is no longer valid' : 'Log in by a link'} />
      {isOver ? (
        <p>It works once, for 15 minutes. Ask the operator of the server for a new one.</p>
      ) : (
        <Form form={form}>
          <p>The operator of this server has made the link. It works once.</p>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Log in
          </Button>
        </Form>
      )}
      <p>
        <Link to="/auth/login">Log in in another way</Link>
      </p>
    </>
  );
}
