/** The meaning of a state, which decides its colour and symbol. */
export type Tone = 'good' | 'warning' | 'bad' | 'neutral';
