/** Number of steps for the numerical integration of a density. */
const steps = 2_000;

/** Number of standard deviations from the mean beyond which the density is negligible. */
const deviations = 10;

/**
 * The distribution of a rate. `values` are ascending; `below` has, for each value, the probability
 * of a smaller rate.
 */
interface Distribution {
  values: number[];
  below: number[];
}

/**
 * Returns for each arm the probability, from 0 to 1, that its rate is the highest. Rates are
 * distributed as Beta(1 + hits, 1 + sent − hits). The integration has a fixed number of steps, so
 * equal counts give equal results, and large counts take no longer.
 */
export function probabilitiesBest(arms: readonly { sent: number; hits: number }[]): number[] {
  const distributions = arms.map(distributionOf);
  const chances = distributions.map((own) => {
    const others = distributions.filter((other) => other !== own);
    let chance = 0;
    for (let step = 1; step <= steps; step++) {
      const value = (own.values[step - 1]! + own.values[step]!) / 2;
      const density = own.below[step]! - own.below[step - 1]!;
      chance += others.reduce((product, other) => product * chanceBelow(other, value), density);
    }
    return chance;
  });
  const total = chances.reduce((sum, chance) => sum + chance, 0);
  return chances.map((chance) => chance / total);
}

function distributionOf({ sent, hits }: { sent: number; hits: number }): Distribution {
  const [a, b] = [1 + hits, 1 + Math.max(sent - hits, 0)];
  const mean = a / (a + b);
  const width = deviations * Math.sqrt((a * b) / ((a + b) ** 2 * (a + b + 1)));
  const [low, high] = [Math.max(mean - width, 0), Math.min(mean + width, 1)];
  const values = Array.from(
    { length: steps + 1 },
    (_, step) => low + ((high - low) * step) / steps,
  );
  // The logarithm at the mean is subtracted, because the density itself is too small for a
  // floating-point number.
  const logOf = (x: number) => (a - 1) * Math.log(x) + (b - 1) * Math.log1p(-x);
  const atMean = logOf(mean);
  const below = [0];
  for (let step = 1; step <= steps; step++) {
    const middle = (values[step - 1]! + values[step]!) / 2;
    below.push(below[step - 1]! + Math.exp(logOf(middle) - atMean));
  }
  const total = below[steps]!;
  return { values, below: below.map((sum) => sum / total) };
}

/** Returns the probability that a rate is below a value. */
function chanceBelow({ values, below }: Distribution, value: number): number {
  const [low, high] = [values[0]!, values[steps]!];
  if (value <= low) return 0;
  if (value >= high) return 1;
  const place = ((value - low) / (high - low)) * steps;
  const step = Math.min(Math.floor(place), steps - 1);
  return below[step]! + (below[step + 1]! - below[step]!) * (place - step);
}
