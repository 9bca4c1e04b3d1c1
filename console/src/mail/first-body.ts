/** The HTML of a new template or campaign: short, and without template warnings. */
export const firstBody = `<!doctype html>
<html lang="en">
  <body style="margin: 0; font-family: sans-serif; color: #1b1c1e">
    <div style="max-width: 560px; margin: 0 auto; padding: 32px 24px">
      <h1 style="font-size: 20px">Hello {{ name ?? there }}</h1>
      <p style="line-height: 1.5">Write your message here.</p>
    </div>
  </body>
</html>
`;
