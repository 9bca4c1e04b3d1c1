/** Reports of mail servers about mail, as messages. */

export interface ReportedMail {
  /** Envelope sender of the mail. */
  returnPath: string;
  emailId: string;
  to: string;
}

/** Returns a delivery status notification (RFC 3464) in the form of Postfix. */
export function deliveryStatus(
  { returnPath, emailId, to }: ReportedMail,
  {
    action = 'failed',
    status = '5.1.1',
    diagnostic = `550 ${status} <${to}>: Recipient address rejected`,
    recipient = to,
    sentTo = returnPath,
  }: {
    action?: string;
    status?: string;
    diagnostic?: string;
    /** The field `Final-Recipient`. */
    recipient?: string;
    /** The `To` header. */
    sentTo?: string;
  } = {},
): string {
  return `Return-Path: <>
From: MAILER-DAEMON@mx.mail.example (Mail Delivery System)
To: ${sentTo}
Subject: Undelivered Mail Returned to Sender
Message-Id: <${Math.random()}@mx.mail.example>
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b1"

--b1
Content-Type: text/plain

This is the mail system at host mx.mail.example.

--b1
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.mail.example

Final-Recipient: rfc822; ${recipient}
Action: ${action}
Status: ${status}
Diagnostic-Code: smtp; ${diagnostic}

--b1
Content-Type: text/rfc822-headers

Subject: Hi
X-Everpost-Email: ${emailId}
Message-ID: <${emailId}@shop.test>

--b1--
`.replaceAll('\n', '\r\n');
}

/** Returns a complaint (RFC 5965). */
export function complaint({ returnPath, to }: ReportedMail, type = 'abuse'): string {
  return `From: <feedback@mail.example>
To: fbl@bounces.everpost.test
Subject: FW: Hi
Message-Id: <${Math.random()}@mail.example>
MIME-Version: 1.0
Content-Type: multipart/report; report-type=feedback-report; boundary="b1"

--b1
Content-Type: text/plain

This is an email abuse report.

--b1
Content-Type: message/feedback-report

Feedback-Type: ${type}
Version: 1
Original-Mail-From: <${returnPath}>
Original-Rcpt-To: <${to}>

--b1
Content-Type: text/rfc822-headers

Subject: Hi

--b1--
`.replaceAll('\n', '\r\n');
}

/** Returns a bounce in the form of qmail, which is a text for people. */
export function plainBounce({ returnPath, to }: ReportedMail, reason: string): string {
  return `From: MAILER-DAEMON@mx.mail.example
To: ${returnPath}
Subject: failure notice
Message-Id: <${Math.random()}@mx.mail.example>

Hi. This is the qmail-send program at mx.mail.example.

<${to}>:
${reason}

--- Below this line is a copy of the message.

Return-Path: <${returnPath}>
`.replaceAll('\n', '\r\n');
}
