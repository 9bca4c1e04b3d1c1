import { accountApi } from '../../../api/api.ts';
import { Button } from '../../../design/button.tsx';
import { useNotify } from '../../../design/notices.tsx';
import { useAction } from '../../../design/use-action.ts';
import { useUser } from '../../../shell/user.ts';

/** A button that sends the mail with the verification link again. */
export function SendAgain() {
  const { say } = useNotify();
  const again = useAction(async () => {
    const { data } = await accountApi.post('/auth/request-verification');
    say(data.message);
  });
  return (
    <Button isBusy={again.isBusy} onClick={() => void again.run()}>
      Send again
    </Button>
  );
}

/** Shown until the user's address is verified, which is required to use projects. */
export function Unverified() {
  const { email, emailVerified } = useUser();
  if (emailVerified) return null;
  return (
    <div className="alert warning" role="status">
      <strong>Your address is not verified yet.</strong>
      <span>Follow the link in the mail to {email}. Then you can use projects.</span>
      <div className="actions">
        <SendAgain />
      </div>
    </div>
  );
}
