/** How a state is meant: its colour and sign follow from it. */
export type Tone = 'good' | 'warning' | 'bad' | 'neutral';
