import { useState } from 'react';
import type { Email } from '../../api/api.ts';
import { Button } from '../../design/button.tsx';
import { MailFrame } from '../../mail/mail-frame.tsx';

/**
 * The mail as it was sent. Pictures from other servers are shown only when the user asks for them.
 */
export function EmailBody({ email: { body, status } }: { email: Email }) {
  const [hasImages, setImages] = useState(false);
  if (body === null) {
    return (
      <p className="second">
        {status === 'PENDING'
          ? 'It is rendered when it is sent.'
          : 'Its body is not stored, or was deleted after its retention time.'}
      </p>
    );
  }
  return (
    <>
      {!hasImages && (
        <div className="actions">
          <Button isSmall onClick={() => setImages(true)}>
            Show images
          </Button>
        </div>
      )}
      <MailFrame title="Preview" html={body} hasImages={hasImages} />
    </>
  );
}
