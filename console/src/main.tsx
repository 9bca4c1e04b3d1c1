import '@fontsource-variable/inter/wght.css';
import './design/style.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/queries.ts';
import { Confirmations } from './design/confirm.tsx';
import { shareNonce } from './design/nonce.ts';
import { Notices } from './design/notices.tsx';
import { applyLook } from './shell/look.ts';
import { ProveAgain } from './sign-in/prove-again.tsx';
import { router } from './router.tsx';

applyLook();
shareNonce();
createRoot(document.getElementById('root')!).render(
  <QueryClientProvider client={queryClient}>
    <Notices>
      <Confirmations>
        <RouterProvider router={router} />
        <ProveAgain />
      </Confirmations>
    </Notices>
  </QueryClientProvider>,
);
